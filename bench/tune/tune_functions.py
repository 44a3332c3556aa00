"""Test functions of `tutti bench tune`: smooth, multimodal, ill-conditioned, mixed and conditional.

Each function takes a trial and returns the value to minimise. The continuous ones are shifted versions of functions of
the BBOB suite in five dimensions, with an optimum that depends on the seed.
"""

import math
import random

DIMENSIONS = 5
HARTMANN_A = ((10, 3, 17, 3.5, 1.7, 8), (0.05, 10, 17, 0.1, 8, 14), (3, 3.5, 1.7, 10, 17, 8), (17, 8, 0.05, 10, 0.1, 14))
HARTMANN_P = ((1312, 1696, 5569, 124, 8283, 5886), (2329, 4135, 8307, 3736, 1004, 9991), (2348, 1451, 3522, 2883, 3047, 6650),
              (4047, 8828, 8732, 5743, 1091, 381))
HARTMANN_C = (1.0, 1.2, 3.0, 3.2)


def sphere(z):
    return sum(x * x for x in z)


def ellipsoid(z):
    return sum(10 ** (6 * i / (len(z) - 1)) * x * x for i, x in enumerate(z))


def rastrigin(z):
    return 10 * (len(z) - sum(math.cos(2 * math.pi * x) for x in z)) + sphere(z)


def linear_slope(z):
    return sum(10 ** (i / (len(z) - 1)) * (5 - min(x + 3, 5)) for i, x in enumerate(z))


def rosenbrock(z):
    z = [x + 1 for x in z]
    return sum(100 * (a * a - b) ** 2 + (a - 1) ** 2 for a, b in zip(z, z[1:]))


def discus(z):
    return 1e6 * z[0] ** 2 + sum(x * x for x in z[1:])


def bent_cigar(z):
    return z[0] ** 2 + 1e6 * sum(x * x for x in z[1:])


def sharp_ridge(z):
    return z[0] ** 2 + 100 * math.sqrt(sum(x * x for x in z[1:]))


def different_powers(z):
    return math.sqrt(sum(abs(x) ** (2 + 4 * i / (len(z) - 1)) for i, x in enumerate(z)))


def schaffers(z):
    pairs = [math.sqrt(a * a + b * b) for a, b in zip(z, z[1:])]
    return (sum(math.sqrt(s) * (1 + math.sin(50 * s ** 0.2) ** 2) for s in pairs) / len(pairs)) ** 2


BBOB = (sphere, ellipsoid, rastrigin, linear_slope, rosenbrock, discus, bent_cigar, sharp_ridge, different_powers, schaffers)


def shifted(function, seed):
    """Returns an objective with the optimum at a random point within [-3, 3]."""
    generator = random.Random(seed)
    optimum = [generator.uniform(-3, 3) for _ in range(DIMENSIONS)]

    def objective(trial):
        return function([trial.suggest_float(f"x{i}", -5, 5) - optimum[i] for i in range(DIMENSIONS)])

    return objective


def branin(_seed):
    def objective(trial):
        x, y = trial.suggest_float("x", -5, 10), trial.suggest_float("y", 0, 15)
        a = y - 5.1 / (4 * math.pi ** 2) * x * x + 5 / math.pi * x - 6
        return a * a + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10 - 0.397887

    return objective


def hartmann(_seed):
    def objective(trial):
        x = [trial.suggest_float(f"x{i}", 0, 1) for i in range(6)]
        total = 0
        for c, a, p in zip(HARTMANN_C, HARTMANN_A, HARTMANN_P):
            total -= c * math.exp(-sum(w * (v - q * 1e-4) ** 2 for w, v, q in zip(a, x, p)))
        return total + 3.32237

    return objective


def mixed(seed):
    """A learning curve like that of a small network: rate, width, layers, optimizer, dropout."""
    best = random.Random(seed).uniform(-4, -2)

    def objective(trial):
        rate = math.log10(trial.suggest_float("rate", 1e-6, 1, log=True))
        optimizer = trial.suggest_categorical("optimizer", ("sgd", "adam", "lamb"))
        layers = trial.suggest_int("layers", 1, 8)
        width = trial.suggest_int("width", 16, 512, step=16)
        dropout = trial.suggest_float("dropout", 0, 0.8)
        shift = {"sgd": 1.5, "adam": 0, "lamb": 0.7}[optimizer]
        return ((rate - best - shift) ** 2 / 4 + abs(layers - 4) / 8 + (math.log2(width) - 7) ** 2 / 20 + (dropout - 0.2) ** 2
                + (0 if optimizer == "adam" else 0.1))

    return objective


def conditional(seed):
    """A choice between two models, each with parameters that the other one does not have."""
    generator = random.Random(seed)
    a, b, c = (generator.uniform(-3, 3) for _ in range(3))

    def objective(trial):
        if trial.suggest_categorical("model", ("linear", "trees")) == "linear":
            x, y = trial.suggest_float("x", -5, 5), trial.suggest_float("y", -5, 5)
            return 0.3 + abs(x - a) + (y - b) ** 2 / 5
        depth = trial.suggest_int("depth", 1, 12)
        z, w = trial.suggest_float("z", -5, 5), trial.suggest_float("w", -5, 5)
        return abs(depth - 7) / 6 + (z - c) ** 2 / 5 + abs(w + z) / 5

    return objective


def problems():
    """Returns (name, function that makes the objective of a seed)."""
    smooth = [(function.__name__, lambda seed, function=function: shifted(function, seed)) for function in BBOB]
    return smooth + [("branin", branin), ("hartmann", hartmann), ("mixed", mixed), ("conditional", conditional)]
