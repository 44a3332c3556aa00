#!/usr/bin/python3
"""Whether every C++ file is as clang-format would write it.

  tools/check_format.py             names the files that are not; exit 1 if there is any
  tools/check_format.py --fix       formats them
"""

import shutil
import subprocess
import sys

import source_tree


def main():
    if not shutil.which("clang-format"):
        sys.exit("check_format: there is no clang-format; run scripts/install-deps.sh")
    paths = [str(path) for path in source_tree.files(source_tree.ROOT, source_tree.CXX)]
    mode = ["-i"] if "--fix" in sys.argv else ["--dry-run", "-Werror", "--ferror-limit=1"]
    code = subprocess.run(["clang-format", *mode, *paths], cwd=source_tree.ROOT).returncode
    print(f"check_format: {len(paths)} files" + ("" if code == 0 else "; `make format` mends the ones above"))
    return code


if __name__ == "__main__":
    sys.exit(main())
