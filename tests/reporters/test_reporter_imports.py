from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SLOW = {
    "argparse",
    "attr",
    "dataclasses",
    "enum",
    "hashlib",
    "inspect",
    "json",
    "logging",
    "pathlib",
    "sarif_om",
    "subprocess",
    "textwrap",
    "typing",
    "unicodedata",
    "urllib.parse",
    "xml",
}


def imported(module: str) -> set[str]:
    """What a module imports beyond what `re` and the report itself do."""
    code = (
        f"import re, sys, grpo_lint.report; before = set(sys.modules); import {module};"
        "print(*(set(sys.modules) - before))"
    )
    # -S: a virtual environment's .pth files import things of their own.
    run = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    return set(run.stdout.split())


@pytest.mark.parametrize("format", ["text", "concise", "github", "junit", "checkstyle"])
def test_formats_for_every_day_import_nothing_slow(format: str) -> None:
    modules = imported(f"grpo_lint.reporters.{format}")
    assert f"grpo_lint.reporters.{format}" in modules
    assert not {module for module in modules if module in SLOW}
    assert not {module for module in modules if not module.startswith("grpo_lint.")}


@pytest.mark.parametrize("format", ["json", "gitlab", "rdjson"])
def test_json_does_not_import_sarif(format: str) -> None:
    modules = imported(f"grpo_lint.reporters.{format}")
    assert "json" in modules
    assert not modules & {"attr", "sarif_om", "typing", "dataclasses"}
