"""The package as a whole."""

import re
from pathlib import Path

import tutti


def test_version_is_the_projects():
    cmake = Path(__file__).resolve().parents[2] / "CMakeLists.txt"
    assert tutti.__version__ == re.search(r"project\(tutti VERSION ([\d.]+)", cmake.read_text()).group(1)
