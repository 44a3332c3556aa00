#!/usr/bin/python3
"""Runs the tests in parts, each with its own build, and prints the counts of each part at the end.

  scripts/run_tests.py                 the default parts
  scripts/run_tests.py PART ...        only these parts; --list names them
  scripts/run_tests.py --deep          the parts that are not run by default
  scripts/run_tests.py --repeat N ...  every test up to N times until it fails, with more tests at once than cores

A part fails when a test fails, when its build fails, or when no test of it ran. A failed test is not run again.
"""

import argparse
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
    is_deep: bool = False  # not run by default


# Tests whose results depend on vector instructions. Slow cases and launchers are left out.
VECTORIZED = ("-L", "^(comm|conformance|learn|learn_tree|models_.*|torch_backend)$", "-LE", "^(checks|hosts|python)$")

PARTS = (
    Part("release", "release", ("all", "tests"), ("-LE", "^checks$")),
    Part("asan", "asan", ("tests-asan",), ("-L", "^asan$")),
    Part("tsan", "tsan", ("tests-tsan",), ("-L", "^tsan$")),
    Part("checks", "release", ("build.ninja",), ("-L", "^checks$")),
    Part("sse4", "release", ("tests-unit", "tests-conformance"), VECTORIZED, is_deep=True),
    Part("avx2", "release", ("tests-unit", "tests-conformance"), VECTORIZED, is_deep=True),
    Part("avx512", "release", ("tests-unit", "tests-conformance"), VECTORIZED, is_deep=True),
)

# Leaks inside Open MPI and hwloc are theirs; any error stops the test at once with a stack.
ENVIRONMENT = {
    "asan": {
        "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1",
        "LSAN_OPTIONS": f"suppressions={ROOT}/cmake/lsan.supp:print_suppressions=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    },
    "tsan": {"TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1"},
    # Our own kernels, libtorch's and oneDNN's as on an older CPU. A CPU without the instruction set keeps what it has.
    "sse4": {"TUTTI_MAX_CPU_ISA": "sse4", "ATEN_CPU_CAPABILITY": "default", "DNNL_MAX_CPU_ISA": "SSE41"},
    "avx2": {"TUTTI_MAX_CPU_ISA": "avx2", "ATEN_CPU_CAPABILITY": "avx2", "DNNL_MAX_CPU_ISA": "AVX2"},
    "avx512": {"TUTTI_MAX_CPU_ISA": "avx512", "DNNL_MAX_CPU_ISA": "AVX512_CORE"},
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


def run_part(part, repeat):
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
    # Many tests wait rather than compute. Repeated tests are to run under load.
    parallel = (2 if repeat == 1 else 4) * os.cpu_count()
    subprocess.run(
        [*wrapper, "ctest", "--test-dir", folder, *part.selection, "--output-on-failure", "--output-junit", report]
        + ["--no-tests=error", "--parallel", str(parallel)]
        + (["--repeat", f"until-fail:{repeat}"] if repeat > 1 else []),
        cwd=ROOT,
        env={**os.environ, **ENVIRONMENT.get(part.name, {})},
        stdin=subprocess.DEVNULL,
    )
    if report.exists():
        count(report, outcome)
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
    passed, failed, skipped = (sum(getattr(one, kind) for one in outcomes) for kind in ("passed", "failed", "skipped"))
    failed += sum(1 for one in outcomes if one.trouble)
    print(f"total: {passed} passed, {failed} failed, {skipped} skipped", flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description="Runs the tests in parts.")
    parser.add_argument("parts", nargs="*", metavar="PART", help="parts to run; default: all that are not deep")
    parser.add_argument("--list", action="store_true", help="print the names of the parts")
    parser.add_argument("--deep", action="store_true", help="run the parts that are not run by default")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="run each test until it fails, at most N times")
    arguments = parser.parse_args()
    known = [part.name for part in PARTS]
    if unknown := [name for name in arguments.parts if name not in known]:
        parser.error(f"unknown part {unknown[0]}; valid parts: {' '.join(known)}")
    return arguments


def main():
    arguments = parse_arguments()
    if arguments.list:
        print("\n".join(f"{part.name}{'  (deep)' if part.is_deep else ''}" for part in PARTS))
        return 0
    chosen = [part for part in PARTS if part.name in arguments.parts]
    outcomes = []
    for part in chosen or [part for part in PARTS if part.is_deep == arguments.deep]:
        start = time.monotonic()
        outcomes.append(run_part(part, arguments.repeat))
        outcomes[-1].seconds = time.monotonic() - start
    summary(outcomes)
    return 0 if all(one.is_good for one in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
