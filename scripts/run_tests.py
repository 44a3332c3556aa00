#!/usr/bin/python3
"""Runs the tests in parts, each with its own build, and closes with a count of every part.

  scripts/run_tests.py            every part
  scripts/run_tests.py PART ...   only these

A part fails when a test fails, when its build fails, or when no test of it ran. Up to three tests that failed beside
others are run once more, alone: one that passes then counts as passed, and the summary names it as unsteady.
"""

import dataclasses
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclasses.dataclass(frozen=True)
class Part:
    name: str
    preset: str
    targets: tuple  # of ninja
    selection: tuple  # arguments of ctest


PARTS = (
    Part("release", "release", ("all", "tests"), ("-LE", "^checks$")),
    Part("asan", "asan", ("tests-asan",), ("-L", "^asan$")),
    Part("tsan", "tsan", ("tests-tsan",), ("-L", "^tsan$")),
    Part("checks", "release", ("build.ninja",), ("-L", "^checks$")),
)

# Leaks inside Open MPI and hwloc are theirs; any error stops the test at once with a stack.
ENVIRONMENT = {
    "asan": {
        "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1",
        "LSAN_OPTIONS": f"suppressions={ROOT}/cmake/lsan.supp:print_suppressions=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    },
    "tsan": {"TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1"},
}


@dataclasses.dataclass
class Outcome:
    part: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0
    trouble: str = ""
    failures: list = dataclasses.field(default_factory=list)  # names
    unsteady: list = dataclasses.field(default_factory=list)

    @property
    def is_good(self):
        return not self.failed and not self.trouble


def without_address_randomisation():
    """tsan of g++ 12 does not start where the kernel spreads addresses widely; so nothing is spread, where allowed."""
    allowed = subprocess.run(["setarch", "-R", "true"], capture_output=True).returncode == 0
    return ["setarch", "-R"] if allowed else []


def count(report, outcome):
    for case in xml.parse(report).getroot().iter("testcase"):
        status = case.get("status")
        if status == "run":
            outcome.passed += 1
        elif status in ("notrun", "disabled"):
            outcome.skipped += 1
        else:
            outcome.failed += 1
            outcome.failures.append(case.get("name"))


def run_again(ctest, report, outcome):
    """Runs the tests that failed once more, one after the other."""
    again = report.with_name(f"{report.stem}-again.xml")
    again.unlink(missing_ok=True)
    ctest(again, "--rerun-failed", "--parallel", "1")
    if not again.exists():
        return
    second = Outcome(outcome.part)
    count(again, second)
    outcome.unsteady = [name for name in outcome.failures if name not in second.failures]
    outcome.failures = second.failures
    outcome.passed += len(outcome.unsteady)
    outcome.failed = len(second.failures)


def run_part(part):
    outcome = Outcome(part.name)
    folder = ROOT / ("build" if part.preset == "release" else f"build-{part.preset}")
    report = folder / f"report-{part.name}.xml"
    wrapper = without_address_randomisation() if part.preset == "tsan" else []
    print(f"\n=== {part.name} ===", flush=True)
    build = [*wrapper, ROOT / "scripts/build.sh", part.preset, "--quiet", *part.targets]
    if subprocess.run(build, cwd=ROOT).returncode != 0:
        outcome.trouble = "the build failed"
        return outcome
    report.unlink(missing_ok=True)

    def ctest(file, *how):
        subprocess.run(
            [*wrapper, "ctest", "--test-dir", folder, *part.selection, "--output-on-failure", "--output-junit", file]
            + ["--no-tests=error", *how],
            cwd=ROOT,
            env={**os.environ, **ENVIRONMENT.get(part.name, {})},
            stdin=subprocess.DEVNULL,
        )

    ctest(report, "--parallel", str(2 * os.cpu_count()))  # many wait rather than compute
    if report.exists():
        count(report, outcome)
    if 0 < outcome.failed <= 3:
        run_again(ctest, report, outcome)
    if outcome.passed == 0 and not outcome.failed:
        outcome.trouble = "no test ran"
    return outcome


def summary(outcomes):
    print("\n=== summary ===")
    for one in outcomes:
        line = f"{one.part:<8} {one.passed:5} passed {one.failed:4} failed {one.skipped:4} skipped {one.seconds:6.0f} s"
        print(line + (f"   {one.trouble}" if one.trouble else ""))
        for name in one.failures:
            print(f"           failed: {name}")
        for name in one.unsteady:
            print(f"           unsteady, passed when run alone: {name}")
    passed, failed, skipped = (sum(getattr(one, kind) for one in outcomes) for kind in ("passed", "failed", "skipped"))
    failed += sum(1 for one in outcomes if one.trouble)
    print(f"total: {passed} passed, {failed} failed, {skipped} skipped", flush=True)


def main(names):
    known = {part.name: part for part in PARTS}
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"run_tests: there is no part {unknown[0]}; there are {' '.join(known)}")
    outcomes = []
    for name in names or known:
        start = time.monotonic()
        outcomes.append(run_part(known[name]))
        outcomes[-1].seconds = time.monotonic() - start
    summary(outcomes)
    return 0 if all(one.is_good for one in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
