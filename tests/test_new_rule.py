"""The scaffold: one command makes a rule that works, its page and its fixtures, in a copy of the project."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PREFETCH, LIVE = "zero_optimization.stage3_prefetch_bucket_size", "zero_optimization.stage3_max_live_parameters"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the scaffold reads and writes."""
    copy = tmp_path_factory.mktemp("project")
    for name in ("grpo_lint", "tools", "docs", "fixtures"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    return copy


def run(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(project)}
    return subprocess.run(
        [sys.executable, *words], cwd=project, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


def new_rule(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run(project, "tools/new_rule.py", *words)


def test_one_command_makes_a_relation_with_page_and_fixtures(project: Path) -> None:
    made = new_rule(project, "INV299", "prefetch-exceeds-live", "--framework", "deepspeed", "--options", PREFETCH, LIVE)
    assert made.returncode == 0, made.stderr
    folder = project / "fixtures" / "INV299"
    assert sorted(path.name for path in folder.iterdir()) == [
        "bad-example.json",
        "bad-example.out",
        "good-example.json",
    ]
    told = (folder / "bad-example.out").read_text(encoding="utf-8")
    assert told.endswith("INV299 error: stage3_prefetch_bucket_size 2 > stage3_max_live_parameters 1\n")
    good = run(project, "-m", "grpo_lint", str(folder / "good-example.json"), "--no-settings", "--fail-on", "note")
    assert good.returncode == 0, good.stdout
    page = (project / "docs" / "rules" / "INV299.md").read_text(encoding="utf-8")
    assert page.startswith("# INV299 prefetch-exceeds-live\n")
    assert "INV299" in (project / "docs" / "rules" / "index.md").read_text(encoding="utf-8")
    for tool in ("catalogue.py", "rule_docs.py"):
        assert run(project, f"tools/{tool}", "--check").returncode == 0


def test_what_the_contributor_changes_is_taken_up(project: Path) -> None:
    made = new_rule(
        project, "INV298", "buckets-differ", "--framework", "deepspeed", "--module", "zero_buckets", "--options",
        "zero_optimization.reduce_bucket_size", "zero_optimization.allgather_bucket_size",
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    module = project / "grpo_lint" / "rules" / "invariants" / "zero_buckets.py"
    text = module.read_text(encoding="utf-8")
    module.write_text(
        text.replace("if o.first > o.second:", "if o.first != o.second:").replace(
            'bucket_size": 1,', 'bucket_size": 2,'
        ),
        encoding="utf-8",
    )
    assert new_rule(project, "INV298", "--refresh").returncode == 0
    good = (project / "fixtures" / "INV298" / "good-example.json").read_text(encoding="utf-8")
    assert '"reduce_bucket_size": 2' in good


def test_a_rule_that_is_no_relation_joins_its_module(project: Path) -> None:
    made = new_rule(
        project, "SEC97", "many-parsers", "--module", "security.servers", "--framework", "vllm", "--options",
        "--api-server-count", "--max-num-seqs",
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    out = (project / "fixtures" / "SEC97" / "bad-example.out").read_text(encoding="utf-8")
    assert "SEC97 warning: --api-server-count 2 > --max-num-seqs 1" in out


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("INV101", "some-name", "--framework", "verl", "--options", "a", "b"), "INV101 is taken"),
        (("INV297", "Some_Name", "--framework", "verl", "--options", "a", "b"), "a name is words in small letters"),
        (("INV297", "open-server", "--framework", "verl", "--options", "a", "b"), "the name of another rule"),
        (("XYZ1", "some-name", "--framework", "verl", "--options", "a", "b"), "an id is one of"),
        (("INV297", "some-name", "--framework", "verl"), "say with --framework"),
        (("INV297", "some-name", "--framework", "verl", "--module", "../x", "--options", "a", "b"), "a module's name"),
        (("SEC96", "some-name", "--framework", "vllm", "--options", "a", "b"), "name its module with --module"),
    ],
)
def test_what_can_not_be_started_says_why_and_changes_nothing(project: Path, words: tuple[str, ...], why: str) -> None:
    before = sorted(path for path in project.rglob("*") if "__pycache__" not in path.parts)
    refused = new_rule(project, *words)
    assert refused.returncode == 2
    assert why in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert sorted(path for path in project.rglob("*") if "__pycache__" not in path.parts) == before
