"""Lets CMake build the extensions and puts them beside the packages.

TUTTI_BUILD_FOLDER: a build folder that has them already.
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
            if not self.inplace:  # what debuggers need is ten times the rest
                subprocess.run(["strip", "--strip-debug", target / "tutti" / extension.name], check=False)


# One stands for all: it makes the wheel one of this platform.
setup(ext_modules=[Extension("tutti._comm", [])], cmdclass={"build_ext": CMakeExtensions})
