"""Imports point one way: in the order in which data flows, as docs/architecture.md draws it."""

import ast
from pathlib import Path

import pytest

import grpo_lint

PACKAGE = Path(grpo_lint.__file__).parent

ORDER = [
    # a module may import from its own group and from those above it
    {"patterns", "modules"},
    {"source", "credentials", "memory", "nearest", "atomic"},
    {"edits"},
    {"located", "diagnostics"},
    {"syntax"},
    {"launch", "unified"},
    {"nested"},
    {"runconfig", "gitignore", "discover", "settings", "provenance"},
    {"fixing"},
    {"frameworks", "versions", "script_problems"},
    {"run", "hosts", "companions", "directives", "estimate"},
    {"rules"},
    {"report", "selection", "hardware", "verdicts", "validate"},
    {"placement", "sharing"},
    {"suppress", "baseline", "changes", "git"},
    {"engine", "show", "show_memory"},
    {"sweep", "repair"},
    {"configure", "settings_file", "settings_values"},
    {"reporters", "statistics"},
    {"terminal", "show_settings", "judge", "explain", "diagnosis", "choices", "recipes"},
    {"arguments", "answer_arguments", "outputs", "commands", "completion"},
    {"cli"},
    {"__main__"},
]
RANK = {name: rank for rank, group in enumerate(ORDER) for name in group}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def group_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """The groups of the package that a module imports from, at any depth."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("grpo_lint.") and name.count(".")}
    return found - {"__version__"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_from_what_comes_before_it(path: Path) -> None:
    rank = RANK[group_of(path)]
    late = {name for name in imported(path) if RANK[name] > rank}
    assert not late, f"{path.relative_to(PACKAGE)} imports from {late}"


def test_a_reader_knows_no_framework_and_a_framework_no_other_readers_run() -> None:
    for path in MODULES:
        if group_of(path) == "syntax":
            assert imported(path) <= {"patterns", "source", "located", "syntax"}, path


def test_every_module_has_a_place_in_the_flow() -> None:
    assert {group_of(path) for path in MODULES} == set(RANK)


def test_the_largest_module_is_under_400_lines() -> None:
    long = {str(path.relative_to(PACKAGE)): n for path in MODULES if (n := len(path.read_text().splitlines())) > 400}
    assert not long
