#!/usr/bin/python3
"""Checks that every C++ file is formatted by clang-format 19, and that comments have at most 120 columns.

  tools/check_format.py             lists the files and lines that are not; exit 1 if there are any
  tools/check_format.py --fix       formats the files; does not change comments
"""

import shutil
import subprocess
import sys

import source_tree

CLANG_FORMAT = "clang-format-19"  # other versions format differently
COLUMNS = 120  # of comments; clang-format does not wrap them


def long_comments(root, paths):
    """Yields the comment lines that are too long."""
    for path in paths:
        for number, line in enumerate((root / path).read_text(encoding="utf-8").splitlines(), 1):
            if len(line) > COLUMNS and line.lstrip().startswith("//"):
                yield f"{path}:{number}: a comment of {len(line)} columns; at most {COLUMNS}"


def main():
    if not shutil.which(CLANG_FORMAT):
        sys.exit(f"check_format: {CLANG_FORMAT} is not installed; run scripts/install-deps.sh")
    paths = [str(path) for path in source_tree.files(source_tree.ROOT, source_tree.CXX)]
    mode = ["-i"] if "--fix" in sys.argv else ["--dry-run", "-Werror", "--ferror-limit=1"]
    code = subprocess.run([CLANG_FORMAT, *mode, *paths], cwd=source_tree.ROOT).returncode
    too_long = list(long_comments(source_tree.ROOT, paths))
    print("\n".join(too_long + [f"check_format: {len(paths)} files" + ("" if code == 0 else "; `make format` fixes the ones above")]))
    return 1 if code or too_long else 0


if __name__ == "__main__":
    sys.exit(main())
