"""Differentially private SGD for linear models.

Rows are shuffled once and divided into fixed batches; every epoch processes all of them. The gradient of each row is
clipped to norm `grad_clip`, and Gaussian noise of standard deviation sigma * grad_clip is added to the sum of a batch.

Privacy accounting uses zero-concentrated differential privacy (zCDP). The batches of an epoch are disjoint, so an epoch
costs 1 / (2 sigma^2); epochs add up to rho, which gives (epsilon, delta) with
epsilon = rho + 2 sqrt(rho ln(1 / delta)). Neighbouring data sets differ by the presence of one row. Sigma is
chosen to reach `epsilon` exactly. Amplification by subsampling is not claimed.
"""

import numpy as np
from sklearn.utils import check_random_state

DELTA = 0.01


def noise_deviation(epsilon, epochs, delta=DELTA):
    """Return the noise multiplier sigma for which `epochs` epochs are (epsilon, delta)-private."""
    if not epsilon > 0 or epochs < 1:
        raise ValueError(f"privacy_epsilon={epsilon!r} must be above 0, and max_iter={epochs!r} at least 1")
    log = np.log(1 / delta)
    rho = (np.sqrt(log + epsilon) - np.sqrt(log)) ** 2
    return np.sqrt(epochs / (2 * rho))


def _derivative(loss, margins, labels):
    if loss == "logistic":
        return -labels * 0.5 * (1 - np.tanh(0.5 * labels * margins))
    return margins - labels


def fit_private(X, y, loss, l2, *, eta, batch_size, epsilon, grad_clip, epochs, random_state=None):
    """Return the coefficients without intercept, minimising sum of losses + l2 / 2 |w|^2.

    `loss`: "logistic" (labels -1 and 1) or "squared".
    """
    random = check_random_state(random_state)
    sigma = noise_deviation(epsilon, epochs)
    rows, columns = X.shape
    order = random.permutation(rows)
    batches = [order[begin:begin + batch_size] for begin in range(0, rows, batch_size)]
    data = [(X[batch], y[batch]) for batch in batches]
    weights = np.zeros(columns)
    for epoch in range(epochs):
        rate = eta / np.sqrt(1 + epoch)
        for part, labels in data:
            derivative = _derivative(loss, part @ weights, labels)
            squares = part.multiply(part).sum(axis=1).A1 if hasattr(part, "multiply") else np.einsum("ij,ij->i", part, part)
            lengths = np.abs(derivative) * np.sqrt(squares)
            derivative = derivative * np.minimum(1, grad_clip / np.maximum(lengths, 1e-30))
            gradient = part.T @ derivative + random.normal(0, sigma * grad_clip, columns)
            weights = weights - rate * (gradient / len(labels) + l2 / rows * weights)
    return weights
