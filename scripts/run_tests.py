#!/usr/bin/python3
"""Runs the tests in parts, each with its own build, and prints the counts of each part at the end.

  scripts/run_tests.py                 the parts of `make test`
  scripts/run_tests.py --deep          the parts of `make test-deep`
  scripts/run_tests.py --ci            all parts, with a short form of clang
  scripts/run_tests.py PART ...        only these parts; --list names them
  scripts/run_tests.py --repeat N ...  every test up to N times until it fails, with more tests at once than cores

A part fails when a test fails, when its build fails, or when no test of it ran. A failed test is not run again.
The output of builds and tests is written to logs in the build directories; failures are shown with their last lines.
"""

import argparse
import dataclasses
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from pathlib import Path

import progress

ROOT = Path(__file__).resolve().parent.parent


@dataclasses.dataclass(frozen=True)
class Part:
    name: str
    preset: str
    targets: tuple  # of ninja
    selection: tuple = ()  # arguments of ctest
    groups: tuple = ("test", "ci")  # `make test`, `make test-deep` ("deep"), continuous integration ("ci")
    checker: tuple = ()  # instead of ctest: a command that takes the build directory and prints "[3/40] name", "FAILED: name"


# Tests whose results depend on vector instructions, without slow cases and launchers.
VECTORIZED = ("-L", "^(comm|conformance|kernels|learn|learn_tree|models_.*|torch_backend)$", "-LE", "^(checks|hosts|python)$")
VECTORIZED_TARGETS = ("tests-unit", "tests-conformance")

DEEP = ("deep", "ci")
PARTS = (
    Part("release", "release", ("all", "tests"), ("-LE", "^checks$")),
    Part("checks", "release", ("build.ninja",), ("-L", "^checks$")),
    Part("asan", "asan", ("tests-asan",), ("-L", "^asan$"), groups=DEEP),
    Part("tsan", "tsan", ("tests-tsan",), ("-L", "^tsan$"), groups=DEEP),
    Part("sse4", "release", VECTORIZED_TARGETS, VECTORIZED, groups=DEEP),
    Part("avx2", "release", VECTORIZED_TARGETS, VECTORIZED, groups=DEEP),
    Part("avx512", "release", VECTORIZED_TARGETS, VECTORIZED, groups=DEEP),
    Part("sklearn", "release", ("python_modules",), groups=DEEP, checker=("python/tests/run_sklearn_suite.py",)),
    Part("clang", "debug", ("tutti_torch_header",), groups=("deep",), checker=("tools/check_clang.py",)),
    Part("clang-unity", "release", ("build.ninja",), groups=("ci",), checker=("tools/check_clang.py", "--unity")),
)
MOST_LINES = 40  # of a failed test that are shown

# Leaks inside Open MPI and hwloc are theirs; any error stops the test at once with a stack.
ENVIRONMENT = {
    "asan": {
        "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1",
        "LSAN_OPTIONS": f"suppressions={ROOT}/cmake/lsan.supp:print_suppressions=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    },
    "tsan": {"TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1"},
    # Limits the kernels of Tutti, libtorch and oneDNN to those of an older CPU. No effect on CPUs without the instruction set.
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
    """Turns off address space randomisation where allowed: tsan of g++ 12 does not start where the kernel uses many bits."""
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
            output = (case.findtext("system-out") or "").splitlines()
            print(f"--- {case.get('name')} failed; its last lines:", *output[-MOST_LINES:], sep="\n", flush=True)


def count_checked(log, outcome):
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    outcome.failures = [line.removeprefix("FAILED: ") for line in lines if line.startswith("FAILED: ")]
    outcome.failed = len(outcome.failures)
    last = [match for line in lines if (match := progress.COUNT.match(line))][-1:]
    outcome.passed = sum(int(match.group(1)) for match in last) - outcome.failed
    if outcome.failed:
        print(*progress.relevant_lines(log), f"--- whole log: {log.relative_to(ROOT)}", sep="\n", flush=True)


def fail(outcome, reason, log):
    outcome.trouble = f"{reason}; log: {log.relative_to(ROOT)}"
    print(*progress.relevant_lines(log), f"--- whole log: {log.relative_to(ROOT)}", sep="\n", flush=True)
    return outcome


def run_part(part, repeat):
    outcome = Outcome(part.name)
    folder = ROOT / ("build" if part.preset == "release" else f"build-{part.preset}")
    log = folder / f"log-{part.name}.txt"
    log.unlink(missing_ok=True)
    wrapper = without_address_randomisation() if part.preset == "tsan" else []
    build = [*wrapper, ROOT / "scripts/build.sh", part.preset, *part.targets]
    if progress.run(f"{part.name}: build", build, log, cwd=ROOT):
        return fail(outcome, "the build failed", log)
    if part.checker:
        program, *arguments = part.checker
        code = progress.run(f"{part.name}: sources", [ROOT / program, *arguments, folder], log, cwd=ROOT)
        count_checked(log, outcome)
        return fail(outcome, f"{program} failed", log) if code and not outcome.failed else outcome
    report = folder / f"report-{part.name}.xml"
    report.unlink(missing_ok=True)
    # Many tests wait rather than compute. Repeated tests are to run under load.
    parallel = (2 if repeat == 1 else 4) * os.cpu_count()
    progress.run(
        f"{part.name}: tests",
        [*wrapper, "ctest", "--test-dir", folder, *part.selection, "--output-on-failure", "--output-junit", report]
        + ["--no-tests=error", "--parallel", str(parallel)]
        + (["--repeat", f"until-fail:{repeat}"] if repeat > 1 else []),
        log,
        cwd=ROOT,
        env={**os.environ, **ENVIRONMENT.get(part.name, {})},
    )
    if report.exists():
        count(report, outcome)
    if outcome.passed == 0 and not outcome.failed:
        return fail(outcome, "no test ran", log)
    return outcome


def summary(outcomes):
    print("\n=== summary ===")
    for one in outcomes:
        line = f"{one.part:<11} {one.passed:5} passed {one.failed:4} failed {one.skipped:4} skipped {one.seconds:6.0f} s"
        print(line + (f"   {one.trouble}" if one.trouble else ""))
        for name in one.failures:
            print(f"           failed: {name}")
    passed, failed, skipped = (sum(getattr(one, kind) for one in outcomes) for kind in ("passed", "failed", "skipped"))
    failed += sum(1 for one in outcomes if one.trouble)
    print(f"total: {passed} passed, {failed} failed, {skipped} skipped", flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description="Runs the tests in parts.")
    parser.add_argument("parts", nargs="*", metavar="PART", help="parts to run; default: those of make test")
    parser.add_argument("--list", action="store_true", help="print the names of the parts")
    parser.add_argument("--deep", action="store_const", const="deep", dest="group", default="test", help="run the parts of make test-deep")
    parser.add_argument("--ci", action="store_const", const="ci", dest="group", help="run the parts of continuous integration")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="run each test until it fails, at most N times")
    arguments = parser.parse_args()
    known = [part.name for part in PARTS]
    if unknown := [name for name in arguments.parts if name not in known]:
        parser.error(f"unknown part {unknown[0]}; valid parts: {' '.join(known)}")
    return arguments


def main():
    arguments = parse_arguments()
    if arguments.list:
        print("\n".join(f"{part.name:<12} {' '.join(part.groups)}" for part in PARTS))
        return 0
    chosen = [part for part in PARTS if part.name in arguments.parts]
    outcomes = []
    for part in chosen or [part for part in PARTS if arguments.group in part.groups]:
        start = time.monotonic()
        outcomes.append(run_part(part, arguments.repeat))
        outcomes[-1].seconds = time.monotonic() - start
    summary(outcomes)
    return 0 if all(one.is_good for one in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
