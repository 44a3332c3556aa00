#!/usr/bin/python3
"""Writes the man page of tutti from the help texts of all its commands.

  man_page.py TUTTI VERSION FILE
"""

import re
import subprocess
import sys
from pathlib import Path

DESCRIPTION = """tutti trains networks, linear models and trees on many processors, and measures how fast it does so.
Each command prints its options with \\-\\-help."""


def help_of(program, words):
    return subprocess.run([program, *words, "--help"], check=True, capture_output=True, text=True).stdout


def commands_in(text):
    """The rows of a table of commands: name and summary."""
    return re.findall(r"^  ([a-z]+)  +(\S.*)$", text, re.MULTILINE) if text.startswith("usage:") else []


def escape(text):
    lines = text.replace("\\", "\\e").replace("-", "\\-").splitlines()
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in lines)


def sections(program, words):
    text = help_of(program, words)
    if commands := commands_in(text):
        for name, _ in commands:
            yield from sections(program, [*words, name])
    else:
        yield f'.SH "tutti {escape(" ".join(words))}"\n.nf\n{escape(text.strip())}\n.fi'


def page(program, version):
    yield f'.TH TUTTI 1 "" "Tutti {version}" "User Commands"'
    yield ".SH NAME\ntutti \\- train models on many processors at once"
    yield ".SH SYNOPSIS\n.B tutti\n.I command\n.RI [ options ]"
    yield f".SH DESCRIPTION\n{DESCRIPTION}\n.SH COMMANDS"
    for name, summary in commands_in(help_of(program, [])):
        yield f".TP\n.B {name}\n{escape(summary)}"
    yield from sections(program, [])
    yield '.SH "SEE ALSO"\n.BR ddlrun (1)\n'


def main():
    program, version, file = sys.argv[1:]
    Path(file).write_text("\n".join(page(program, version)), encoding="utf-8")


if __name__ == "__main__":
    main()
