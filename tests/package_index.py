"""Whether pip can fetch packages here: tests of real installations can't do without."""

import subprocess
import sys
from functools import cache
from tempfile import TemporaryDirectory

import pytest


@cache
def _failure() -> str:
    """Why a small package that we need anyway can't be had; empty when it can."""
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, "pluggy"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if result.returncode == 0 else result.stderr.strip().splitlines()[-1]


def needs_package_index() -> None:
    """Skip the test where pip reaches no package index."""
    if failure := _failure():
        pytest.skip(f"pip reaches no package index: {failure}")
