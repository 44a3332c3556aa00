"""Linear models by stochastic gradients with differential privacy.

Rows are shuffled once and cut into batches that stay as they are; every epoch goes through all of them. A row's gradient is cut to length
`grad_clip`, and to the sum of a batch comes normal noise of deviation sigma * grad_clip. The accountant is that of zero-concentrated
privacy: batches of an epoch do not share rows, so an epoch costs 1 / (2 sigma^2), epochs add up to rho, and rho gives
(epsilon, delta) with epsilon = rho + 2 sqrt(rho ln(1 / delta)), where neighbouring data sets differ by one row being there or not.
Sigma is chosen so that this is `epsilon`. Amplification by sampling is not claimed.
"""

import numpy as np
from sklearn.utils import check_random_state

DELTA = 0.01


def noise_deviation(epsilon, epochs, delta=DELTA):
    """The sigma with which `epochs` epochs are (epsilon, delta)-private."""
    if not epsilon > 0 or epochs < 1:
        raise ValueError(f"privacy_epsilon={epsilon!r} must be above 0, and there must be an epoch")
    log = np.log(1 / delta)
    rho = (np.sqrt(log + epsilon) - np.sqrt(log)) ** 2
    return np.sqrt(epochs / (2 * rho))


def _derivative(loss, margins, labels):
    if loss == "logistic":
        return -labels * 0.5 * (1 - np.tanh(0.5 * labels * margins))
    return margins - labels


def fit_private(X, y, loss, l2, *, eta, batch_size, epsilon, grad_clip, epochs, random_state=None):
    """Coefficients for losses logistic (labels -1 and 1) or squared, with l2 in  sum of losses + l2 / 2 * |w|^2  and no intercept."""
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
