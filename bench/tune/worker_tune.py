#!/usr/bin/python3
"""Measures one library of hyper-parameter search with Optuna's interface, for `tutti bench tune`.

  worker_tune.py MODULE FILE SEEDS TRIALS QUICK    MODULE is tutti.tune or optuna; rows are appended to FILE as JSON lines
"""

import importlib
import json
import random
import statistics
import sys
import time
import warnings

import tune_functions

MODULE, FILE, SEEDS, TRIALS, QUICK = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5] == "1"
try:
    optuna = importlib.import_module(MODULE)
except ImportError as missing:
    with open(FILE, "a", encoding="utf-8") as lines:
        lines.write(json.dumps({"system": sys.executable, "metric": "note", "text": f"not measured: {missing}"}) + "\n")
    sys.exit(0)
OURS = MODULE == "tutti.tune"
SYSTEM = "tutti" if OURS else f"optuna {optuna.__version__}"
warnings.simplefilter("ignore")
optuna.logging.set_verbosity(optuna.logging.ERROR)


def write(**row):
    with open(FILE, "a", encoding="utf-8") as file:
        file.write(json.dumps({"system": SYSTEM, **row}) + "\n")


def eight_parameters():
    space = {f"x{i}": optuna.distributions.FloatDistribution(0, 1) for i in range(5)}
    space.update({f"n{i}": optuna.distributions.IntDistribution(1, 16) for i in range(2)})
    space["c"] = optuna.distributions.CategoricalDistribution(("a", "b", "c"))
    return space


def suggestion(name, sampler, trials, repetitions):
    """Writes the CPU time of one ask() after ``trials`` finished trials of 8 parameters."""
    generator = random.Random(1)
    space = eight_parameters()
    study = optuna.create_study(sampler=sampler)

    def draw(distribution):
        if hasattr(distribution, "choices"):
            return generator.choice(distribution.choices)
        low, high = distribution.low, distribution.high
        return generator.randint(low, high) if isinstance(low, int) else generator.uniform(low, high)

    def loss(params):
        return sum((value - 0.3) ** 2 for key, value in params.items() if key != "c")

    for _ in range(trials):
        params = {key: draw(distribution) for key, distribution in space.items()}
        study.add_trial(optuna.trial.create_trial(params=params, distributions=space, value=loss(params)))
    times = []
    for _ in range(repetitions + 1):
        start = time.process_time()
        trial = study.ask(space)
        times.append(time.process_time() - start)
        study.tell(trial, loss(trial.params))
    times = times[1:]
    write(metric="suggestion", algorithm=name, trials=trials, seconds=statistics.median(times), samples=len(times))


def best_value(objective, sampler):
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=TRIALS)
    return study.best_value


def quality(samplers):
    for problem, make in tune_functions.problems():
        for name, sampler in samplers.items():
            start = time.process_time()
            values = [best_value(make(seed), sampler(seed)) for seed in range(SEEDS)]
            write(metric="regret", problem=problem, algorithm=name, values=values, seconds=time.process_time() - start)


def main():
    samplers = optuna.samplers
    suggestion("tpe", samplers.TPESampler(seed=1), 1000, 3 if QUICK else 11)
    if OURS or not QUICK:
        suggestion("tpe", samplers.TPESampler(seed=1), 10000, 3)
    if hasattr(samplers, "GPSampler"):
        try:
            suggestion("gp", samplers.GPSampler(seed=1), 200, 3 if QUICK else 11)
        except ImportError as missing:  # of torch
            write(metric="note", text=f"gp was not measured: {missing}")
    tried = {"random": lambda seed: samplers.RandomSampler(seed=seed), "tpe": lambda seed: samplers.TPESampler(seed=seed)}
    if OURS:
        tried["auto"] = lambda seed: samplers.AutoSampler(seed=seed)
        tried["gp"] = lambda seed: samplers.GPSampler(seed=seed)
    quality(tried)


main()
