#!/usr/bin/python3
"""Use of the installation: with find_package, with pkg-config, and all headers together.

  package_test.py BUILD COMPILER
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CONSUMER = Path(__file__).resolve().parent / "consumer"
EXPECTED = "1 3 rising\n"
BUILD, COMPILER = (Path(sys.argv.pop(1)), sys.argv.pop(1)) if len(sys.argv) > 2 else (Path("build"), "g++")


def run(*command, **settings):
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **settings})
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.scratch = Path(folder.name)
        cls.prefix = cls.scratch / "prefix"
        cls.output = run(CONSUMER.parents[2] / "scripts/install.sh", cls.prefix, BUILD)
        cls.pkgconfig = {"PKG_CONFIG_PATH": str(next(cls.prefix.rglob("tutti.pc")).parent)}

    def flags(self, *what):
        return run("pkg-config", *what, "tutti", **self.pkgconfig).split()

    def test_find_package(self):
        build = self.scratch / "consumer"
        run("cmake", "-S", CONSUMER, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={self.prefix}",
            f"-DCMAKE_CXX_COMPILER={COMPILER}")
        run("cmake", "--build", build)
        self.assertEqual(run(build / "consumer"), EXPECTED)

    def test_pkg_config(self):
        program = self.scratch / "by_pkg_config"
        run(COMPILER, "-std=c++20", CONSUMER / "main.cc", "-o", program, *self.flags("--cflags", "--libs"))
        self.assertEqual(run(program), EXPECTED)

    def test_every_header_finds_its_includes(self):
        include = self.prefix / "include"
        headers = sorted(path.relative_to(include) for path in include.rglob("*.h"))
        self.assertGreater(len(headers), 10)
        self.assertLess(len(headers), 60)  # the rest is internal
        source = self.scratch / "headers.cc"
        source.write_text("".join(f'#include "{header}"\n' for header in headers))
        run(COMPILER, "-std=c++20", "-fsyntax-only", "-Wall", source, *self.flags("--cflags"))

    def test_c_program_needs_one_line(self):
        """The command that the installation prints works without LD_LIBRARY_PATH."""
        example = CONSUMER.parents[2] / "examples/01_all_reduce/all_reduce.c"
        line = next(line for line in self.output.splitlines() if line.startswith("C programs: "))
        command = line.removeprefix("C programs: ").replace("my_program.c", str(example)).split()
        program = self.scratch / "by_hand"
        run(*command, "-std=c11", "-Wall", "-Werror", "-o", program)
        self.assertEqual(run(program, LD_LIBRARY_PATH=""), "ranks: 1, average: 0\n")

    def test_man_pages_and_completions_are_installed(self):
        for name in ("man1/ddlrun.1", "man1/tutti.1", "completions/ddlrun", "completions/tutti"):
            self.assertTrue(any(self.prefix.rglob(name)), name)

    def test_internal_headers_are_private(self):
        names = [path.as_posix() for path in self.prefix.rglob("*")]
        self.assertEqual([name for name in names if "internal" in name or "_test" in name or "/test_" in name], [])
        libraries = {path.name for path in self.prefix.rglob("*.a")}
        self.assertEqual({name for name in libraries if "bench" in name or "app_" in name}, set())
        self.assertIn("libtutti_comm.a", libraries)


if __name__ == "__main__":
    unittest.main()
