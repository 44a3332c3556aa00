"""Worker of `tutti bench shapes`: fits every estimator on one shape of data, with Tutti and with other libraries.

  worker_shapes.py DIRECTORY SHAPE ROWS SEED ESTIMATORS SECONDS TARGET IS_QUICK SYSTEMS

ESTIMATORS: names, comma-separated. SYSTEMS: all, tutti or baselines. Every system is measured in a separate process with one thread, whose
CPU time is limited to SECONDS per fit. A linear system is run with increasing effort until its objective is within TARGET of the best
one. Then that effort is repeated, and the medians are reported. Appends one line of JSON per effort to DIRECTORY/fits.
"""

import json
import math
import os
import resource
import select
import signal
import statistics
import sys
import time
import warnings
from pathlib import Path

import shapes_data
import shapes_systems

PATIENCE = 10  # wall seconds per CPU second of the limit: other programs may use the CPUs
SCORED = ("tree", "forest", "boosting")


def limit_cpu(seconds):
    """The process is killed by SIGXCPU after this CPU time from now."""
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + seconds), resource.RLIM_INFINITY))


def repeats_for(seconds, is_quick):
    """Return the number of further samples, and of fits per sample: the clock of CPU time has a resolution of some milliseconds."""
    if is_quick:
        return 0, 1
    return (4 if seconds < 1 else 2 if seconds < 5 else 0), math.ceil(0.05 / max(seconds, 1e-4))


class Cell:
    """One estimator on one shape of data."""

    def __init__(self, out, data, estimator, settings):
        self.out, self.data, self.estimator, self.settings = out, data, estimator, settings
        self.alpha = shapes_systems.lasso_alpha(data) if estimator == "lasso" else 0
        self.best = settings["best"].get(estimator, math.inf)
        self.is_scored = estimator in SCORED
        self.y = data.targets if estimator in ("ridge", "lasso") else data.labels

    def note(self, system, **fit):
        self.out.write(json.dumps({"estimator": self.estimator, "system": system, **fit}) + "\n")
        self.out.flush()

    def measure(self, system, steps):
        """Measure a system in a child process, and forward its results."""
        receiver, sender = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(receiver)
            try:
                with os.fdopen(sender, "w") as pipe:
                    self.run(steps, pipe)
                os._exit(0)
            except Exception as error:
                print(f"{system}, {self.estimator}: {error}", file=sys.stderr, flush=True)
                os._exit(1)
        os.close(sender)
        self.forward(system, child, receiver)

    def measure_tutti(self):
        """A fit at the smallest tolerance gives the reference of the objective."""
        steps = shapes_systems.tutti(self.estimator, self.alpha)
        if not self.is_scored:
            self.measure("tutti", steps[-1:])
        self.measure("tutti", steps)

    def forward(self, system, child, receiver):
        patience = PATIENCE * self.settings["seconds"] + 60
        with os.fdopen(receiver) as pipe:
            while select.select([pipe], [], [], patience)[0]:
                line = pipe.readline()
                if not line:
                    break
                fit = json.loads(line)
                if not self.is_scored:
                    self.best = min(self.best, fit["objective"])
                self.note(system, **fit)
            else:
                os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            is_limit = os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)
            self.note(system, **({"limit": self.settings["seconds"]} if is_limit else {"error": f"signal {os.WTERMSIG(status)}"}))
        elif os.WEXITSTATUS(status) != 0:
            self.note(system, error=f"exit {os.WEXITSTATUS(status)}")

    def run(self, steps, pipe):
        """In the child: fit with increasing effort, then repeat the first one that is good enough."""
        warnings.simplefilter("ignore")
        best = self.best
        for settings, model in steps:
            fits = [self.fit(model)]
            quality = self.quality(model)
            objective = quality.get("objective", 0.0)
            best = min(best, objective)
            has_reference = self.is_scored or self.best < math.inf
            is_enough = has_reference and objective - best <= self.settings["target"] * abs(best)
            if is_enough:
                samples, count = repeats_for(fits[0][1], self.settings["is_quick"])
                fits = [self.fit(model, count) for _ in range(samples)] or fits
            more = {"solver": getattr(model, "solver_", ""), "why": getattr(model, "why_", "")}
            print(json.dumps({"settings": settings, "cpu": statistics.median(cpu for cpu, _ in fits),
                              "wall": statistics.median(wall for _, wall in fits), "samples": len(fits), **quality, **more}), file=pipe, flush=True)
            if is_enough:
                return

    def fit(self, model, count=1):
        """Return the CPU time and the time of a fit, means of `count` fits."""
        limit_cpu(count * self.settings["seconds"])
        start = time.process_time(), time.perf_counter()
        for _ in range(count):
            model.fit(self.data.X, self.y)
        wall = (time.perf_counter() - start[1]) / count
        return (time.process_time() - start[0]) / count or wall, wall

    def quality(self, model):
        limit_cpu(10 * self.settings["seconds"])
        if self.is_scored:
            return {"score": shapes_systems.score(self.data, model)}
        return {"objective": float(shapes_systems.objective(self.estimator, self.data, self.alpha, model))}


def best_objectives(path):
    """Objectives that an earlier worker reached, by estimator."""
    best = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        fit = json.loads(line)
        if "objective" in fit:
            best[fit["estimator"]] = min(best.get(fit["estimator"], math.inf), fit["objective"])
    return best


def main():
    folder, shape, rows, seed, estimators, seconds, target, is_quick, systems = sys.argv[1:]
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    data = shapes_data.load(folder, shape, int(rows), int(seed))
    path = Path(folder) / "fits"
    settings = {"seconds": float(seconds), "target": float(target), "is_quick": is_quick == "1", "best": best_objectives(path)}
    with open(path, "a", encoding="utf-8") as out:
        for estimator in estimators.split(","):
            cell = Cell(out, data, estimator, settings)
            cell.note("", columns=data.X.shape[1], entries=int(data.X.nnz if data.is_sparse else data.X.size))
            if systems != "baselines":
                cell.measure_tutti()
            for system, steps in shapes_systems.baselines(estimator, data, cell.alpha).items() if systems != "tutti" else []:
                cell.measure(system, steps)


if __name__ == "__main__":
    main()
