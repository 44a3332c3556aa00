"""Builds the extensions with CMake and adds them to the packages.

TUTTI_BUILD_FOLDER: an existing build directory to copy them from.
"""

import os
import shutil
import subprocess
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).resolve().parents[1]


class CMakeExtensions(build_ext):
    def run(self):
        built = os.environ.get("TUTTI_BUILD_FOLDER")
        if not built:
            subprocess.run([ROOT / "scripts/build.sh", "release", "python_modules"], check=True)
            built = ROOT / "build"
        target = ROOT / "python" if self.inplace else Path(self.build_lib)
        (target / "tutti").mkdir(parents=True, exist_ok=True)
        for extension in Path(built, "python/tutti").glob("_*.so"):
            shutil.copy2(extension, target / "tutti")
            if not self.inplace:  # debug information is ten times the size of the rest
                subprocess.run(["strip", "--strip-debug", target / "tutti" / extension.name], check=False)


# One extension is enough to make the wheel platform-specific.
setup(ext_modules=[Extension("tutti._comm", [])], cmdclass={"build_ext": CMakeExtensions})
