#!/usr/bin/python3
"""Runs scikit-learn's own tests of linear models, SVMs, trees and ensembles with its estimators patched.

  python/tests/run_sklearn_suite.py BUILD_DIRECTORY          fails on tests that fail and are not listed as exceptions
  python/tests/run_sklearn_suite.py BUILD_DIRECTORY --list   prints all failing tests

The exceptions, with their reasons, are in sklearn_exceptions.txt. An exception that passes is reported as well, so the
list stays true.
"""

import argparse
import os
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

HERE = Path(__file__).resolve().parent
MODULES = ("linear_model", "svm", "tree", "ensemble")


def read_exceptions(path):
    """Return the failing tests of the file: lines without comments, `*` at the end matches any parameters."""
    lines = (line.partition("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line]


def matches(name, exception):
    return name == exception or (exception.endswith("*") and name.startswith(exception[:-1]))


def run(folder, module, jobs):
    """Start the tests of one module; return the process and the path of its report."""
    report = folder / f"report-sklearn-{module}.xml"
    report.unlink(missing_ok=True)
    environment = {**os.environ, "PYTHONPATH": f"{folder / 'python'}{os.pathsep}{HERE}", "OMP_NUM_THREADS": str(jobs)}
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "patched_sklearn", "--pyargs", f"sklearn.{module}",
               "--junitxml", str(report), "-W", "ignore::DeprecationWarning", "--tb=line", "-o", "junit_family=xunit1"]
    log = open(folder / f"log-sklearn-{module}.txt", "w", encoding="utf-8")
    return subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=subprocess.STDOUT), report


def read_report(report, module):
    """Return the names of all tests and of the failed ones."""
    names, failed = [], []
    for case in xml.parse(report).getroot().iter("testcase"):
        name = f"{module}.{case.get('classname').removeprefix(f'sklearn.{module}.')}::{case.get('name')}"
        if case.find("skipped") is None:
            names.append(name)
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(name)
    return names, failed


def main():
    parser = argparse.ArgumentParser(description="Runs scikit-learn's own tests with patched estimators.")
    parser.add_argument("directory", type=Path, help="build directory")
    parser.add_argument("--list", action="store_true", help="print all failing tests")
    arguments = parser.parse_args()
    folder = arguments.directory.resolve()
    exceptions = read_exceptions(HERE / "sklearn_exceptions.txt")
    names, failed = [], []
    processes = [run(folder, module, max(1, os.cpu_count() // len(MODULES))) for module in MODULES]
    for (process, report), module in zip(processes, MODULES):
        process.wait()
        if not report.exists():
            print(f"FAILED: sklearn.{module} ended with {process.returncode}; log: {folder / f'log-sklearn-{module}.txt'}")
            return 1
        for total, part in zip((names, failed), read_report(report, module)):
            total += part
    if arguments.list:
        print("\n".join(sorted(failed)))
        return 0
    wrong = [name for name in failed if not any(matches(name, one) for one in exceptions)]
    unused = [one for one in exceptions if not any(matches(name, one) for name in failed)]
    for number, name in enumerate(names, 1):
        if number % 500 == 0 or number == len(names):
            print(f"[{number}/{len(names)}] {name}")
    print(f"{len(names) - len(failed)} of {len(names)} pass; {len(failed) - len(wrong)} failures are documented exceptions")
    for name in wrong:
        print(f"FAILED: {name}")
    for one in unused:
        print(f"FAILED: the exception {one} is not needed any more")
    return 1 if wrong or unused else 0


if __name__ == "__main__":
    sys.exit(main())
