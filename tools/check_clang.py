#!/usr/bin/python3
"""Compiles every C++ source on its own, with clang-tidy and clang's thread-safety analysis.

  tools/check_clang.py BUILD [FILTER]    BUILD: a build directory of the preset debug, which has a compile_commands.json without
                                         unity sources; FILTER: a regular expression that the paths must match
  tools/check_clang.py --unity BUILD     a fifth of the time: the unity sources of a release build. Sources with libtorch, and
                                         missing includes, are not checked

Sources pass through clang-tidy with the checks of .clang-tidy; tests are only compiled. clang does not accept the headers
of libtorch 1.13 in C++20, so sources that include them are compiled by the compiler of the build. Any warning is an error.
"""

import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CLANG, CLANG_TIDY = "clang++-19", "clang-tidy-19"
WARNINGS = ("-Werror", "-Wthread-safety", "-Wno-deprecated-declarations")  # libstdc++ 12 deprecates what it uses itself


def arguments_of(entry):
    """The compiler's arguments without launcher, output and dependency files."""
    words = shlex.split(entry["command"])
    while not re.search(r"(c\+\+|g\+\+|clang\+\+)(-\d+)?$", words[0]):
        words.pop(0)  # ccache
    kept, skip = [], False
    for word in words:
        if skip:
            skip = False
        elif word in ("-o", "-MF", "-MT"):
            skip = True
        elif word not in ("-c", "-MD"):
            kept.append(word)
    return kept


def command_for(entry):
    words = arguments_of(entry)
    source = entry["file"]
    if "torch" in entry["command"]:
        words = [word for word in words if not word.startswith("-O")]  # the precompiled header is not optimized
        return [*words, "-fsyntax-only", "-Werror"]
    if source.endswith("_test.cc") or "/tests/" in source or "_test.dir/" in source:
        return [CLANG, *words[1:], "-fsyntax-only", *WARNINGS]
    return [CLANG_TIDY, "--quiet", "--warnings-as-errors=*", source, "--", *words[1:], *WARNINGS]


def check(entry):
    done = subprocess.run(command_for(entry), cwd=entry["directory"], capture_output=True, text=True, check=False)
    return entry["file"], done.returncode, done.stdout or done.stderr  # clang-tidy counts suppressed warnings on stderr


def sources_of(database, pattern):
    """The sources that are compiled on their own, without generated ones."""
    return [entry for entry in database
            if entry["file"].startswith(f"{ROOT}/") and entry["file"].endswith(".cc") and "/build" not in entry["file"]
            and pattern.search(entry["file"])]


def unity_sources_of(database):
    return [entry for entry in database
            if "/Unity/" in entry["file"] and not entry["file"].endswith(".c") and "torch" not in entry["command"]]


def main():
    is_unity = sys.argv[1:2] == ["--unity"]
    arguments = sys.argv[1 + is_unity:]
    if not arguments:
        sys.exit(__doc__)
    database = json.loads((Path(arguments[0]) / "compile_commands.json").read_text())
    pattern = re.compile(arguments[1] if len(arguments) > 1 else "")
    entries = unity_sources_of(database) if is_unity else sources_of(database, pattern)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        for number, (source, code, output) in enumerate(threads.map(check, entries), 1):
            print(f"[{number}/{len(entries)}] {Path(source).relative_to(ROOT)}", flush=True)
            if code:
                failed += 1
                print(f"FAILED: {source}\n{output}", flush=True)
    print(f"check_clang: {len(entries)} sources, {failed} with findings")
    return 1 if failed or not entries else 0


if __name__ == "__main__":
    sys.exit(main())
