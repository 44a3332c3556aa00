#!/usr/bin/python3
"""Checks that every C++ file is formatted by clang-format 19.

  tools/check_format.py             lists files that are not; exit 1 if there are any
  tools/check_format.py --fix       formats them
"""

import shutil
import subprocess
import sys

import source_tree

CLANG_FORMAT = "clang-format-19"  # other versions format differently


def main():
    if not shutil.which(CLANG_FORMAT):
        sys.exit(f"check_format: {CLANG_FORMAT} is not installed; run scripts/install-deps.sh")
    paths = [str(path) for path in source_tree.files(source_tree.ROOT, source_tree.CXX)]
    mode = ["-i"] if "--fix" in sys.argv else ["--dry-run", "-Werror", "--ferror-limit=1"]
    code = subprocess.run([CLANG_FORMAT, *mode, *paths], cwd=source_tree.ROOT).returncode
    print(f"check_format: {len(paths)} files" + ("" if code == 0 else "; `make format` fixes the ones above"))
    return code


if __name__ == "__main__":
    sys.exit(main())
