#!/usr/bin/python3
"""Tests the man page and the bash completion of tutti.

  pages_test.py TUTTI MAN_PAGE COMPLETION
"""

import subprocess
import sys
import unittest
from pathlib import Path

COMPLETION, PAGE, TUTTI = sys.argv.pop(), sys.argv.pop(), sys.argv.pop()


def complete(*words):
    script = """source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tutti; printf '%s\\n' "${COMPREPLY[@]}" """
    command = ["bash", "-c", script, "bash", COMPLETION, TUTTI, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


class Pages(unittest.TestCase):
    def test_completion_offers_commands(self):
        self.assertIn("train", complete(""))
        self.assertEqual(complete("ev"), ["evaluate"])
        self.assertIn("convert", complete("learn", ""))

    def test_completion_offers_options(self):
        self.assertIn("--ranks", complete("train", "--"))
        self.assertIn("--resume", complete("train", "hep", "--re"))
        self.assertIn("--test", complete("learn", "train", "--te"))

    def test_completion_offers_cases(self):
        self.assertIn("hep", complete("train", "h"))

    def test_man_page_has_every_command(self):
        page = Path(PAGE).read_text(encoding="utf-8")
        for command in ("train", "learn convert", "bench allreduce", "trace merge"):
            self.assertIn(f'.SH "tutti {command}"', page)
        self.assertIn("\\-\\-resume", page)


if __name__ == "__main__":
    unittest.main()
