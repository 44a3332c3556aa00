#!/usr/bin/python3
"""Checks the links in the documents and runs their commands.

  tools/check_docs.py [ROOT]                 every relative link in *.md must have a target file and, with #, heading;
                                             docs/README.md must link every page below docs/; prose has at
                                             most 120 columns, without stray line breaks
  tools/check_docs.py --run BUILD [ROOT]     runs every block fenced as ```sh test, in order, from ROOT, with
                                             BUILD/bin first on the PATH

A block fenced as ```sh test namespaces is skipped, with a message, where scripts/testbed is not supported.
"""

import functools
import os
import re
import subprocess
import sys
from pathlib import Path

import source_tree

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
BLOCK = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)
INDENTED_BLOCK = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
BLOCK_SECONDS = 600
COLUMNS = 120
SHORT = 80  # a shorter line followed by a word that would fit has a stray line break
WORD = re.compile(r"(?:`[^`]*`|\S)+")
SEPARATE = re.compile(r"\s*(?:$|[|#>!]|- |\* |\d+\. )")  # lines that do not continue a paragraph
NOT_WRAPPED = "docs/reference/"  # generated


def anchors(text):
    """Returns the anchors that GitHub generates for the headings of a document."""
    headings = re.findall(r"^#+\s+(.*)$", BLOCK.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def broken_links(root, path):
    text = (root / path).read_text(encoding="utf-8")
    for match in LINK.finditer(BLOCK.sub("", text)):
        link = match.group(1) or match.group(2)
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = root / path.parent / name if name else root / path
        if not target.exists():
            yield f"{path}: the target of the link {link} does not exist"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text(encoding="utf-8")):
            yield f"{path}: the link {link} refers to a heading that does not exist"


def pages_not_in_index(root):
    """Yields pages below docs/ that docs/README.md does not link."""
    index = root / "docs/README.md"
    links = {match.group(1) for match in LINK.finditer(index.read_text(encoding="utf-8"))} if index.exists() else set()
    for path in source_tree.files(root, ".md"):
        if path.parts[0] == "docs" and root / path != index and path.relative_to("docs").as_posix() not in links:
            yield f"{path}: not linked from docs/README.md"


def badly_wrapped_lines(root, path):
    """Yields lines of prose that are longer than COLUMNS, and those that end although the next word would fit."""
    if path.as_posix().startswith(NOT_WRAPPED):
        return
    blank = INDENTED_BLOCK.sub(lambda match: "\n" * match.group(0).count("\n"), (root / path).read_text(encoding="utf-8"))
    lines = blank.splitlines()
    for number, (line, following) in enumerate(zip(lines, [*lines[1:], ""]), 1):
        if len(line) > COLUMNS and not line.lstrip().startswith("|"):
            yield f"{path}:{number}: {len(line)} columns; at most {COLUMNS} in prose"
        if line.strip() and not line.lstrip().startswith(("|", "#")) and not SEPARATE.match(following):
            if len(line) < SHORT and len(line) + 1 + len(WORD.search(following)[0]) <= COLUMNS:
                yield f"{path}:{number}: a stray line break"


def commands(root):
    """Yields (document, line, needs namespaces, script) of every block to run."""
    for path in source_tree.files(root, ".md"):
        text = (root / path).read_text(encoding="utf-8")
        for match in BLOCK.finditer(text):
            words = match.group(2).split()
            if match.group(1) == "sh" and words[:1] == ["test"]:
                yield path, text.count("\n", 0, match.start()) + 1, "namespaces" in words, match.group(3)


@functools.cache
def has_namespaces(root):
    return subprocess.run([root / "scripts/testbed", "check"], capture_output=True).returncode == 0


def run(root, build):
    """Runs all blocks; returns the number of those that failed."""
    environment = {**os.environ, "PATH": f"{build}/bin:{os.environ['PATH']}"}
    failed = ran = 0
    for path, line, needs_namespaces, script in commands(root):
        if needs_namespaces and not has_namespaces(root):
            print(f"{path}:{line}: skipped: no namespaces", flush=True)
            continue
        print(f"{path}:{line}:\n{script}", flush=True)
        shell = ["bash", "-euo", "pipefail", "-c", script]
        try:
            code = subprocess.run(shell, cwd=root, env=environment, stdin=subprocess.DEVNULL, timeout=BLOCK_SECONDS).returncode
        except subprocess.TimeoutExpired:
            code = f"a timeout after {BLOCK_SECONDS} s"
        ran += 1
        if code:
            failed += 1
            print(f"error: {path}:{line} failed with {code}", flush=True)
    print(f"check_docs: {ran} blocks run, {failed} failed")
    return failed


def main(arguments):
    build = None
    if arguments[:1] == ["--run"]:
        build = Path(arguments[1]).resolve()
        arguments = arguments[2:]
    root = Path(arguments[0]).resolve() if arguments else source_tree.ROOT
    if build:
        return 1 if run(root, build) else 0
    documents = source_tree.files(root, ".md")
    troubles = [trouble for path in documents for trouble in broken_links(root, path)]
    troubles += pages_not_in_index(root)
    troubles += [trouble for path in documents for trouble in badly_wrapped_lines(root, path)]
    print("\n".join(troubles + [f"check_docs: {len(documents)} documents, {len(troubles)} problems"]))
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
