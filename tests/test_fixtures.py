"""Every rule's fixtures: a bad one gives exactly what stands beside it, a good one gives nothing from any rule."""

import shlex
from pathlib import Path

import pytest

from grpo_lint.cli import main
from grpo_lint.rules import RULES

FIXTURES = Path(__file__).parent.parent / "fixtures"
CASES = sorted(
    path
    for path in FIXTURES.glob("*/*")
    if path.name.startswith(("bad-", "good-")) and path.suffix not in (".out", ".args")
)


def lint(case: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """What the command prints for a case, run in the case's own folder."""
    extra = case.with_suffix(".args")
    arguments = shlex.split(extra.read_text(encoding="utf-8"), comments=True) if extra.exists() else []
    monkeypatch.chdir(case.parent)
    code = main([case.name, "--output", "concise", "--fail-on", "note", *arguments])
    out = capsys.readouterr().out
    assert code == (1 if out else 0)
    return out


@pytest.mark.parametrize("case", CASES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_fixture(case: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    out = lint(case, monkeypatch, capsys)
    if case.name.startswith("good-"):
        assert out == ""
        return
    assert out == case.with_suffix(".out").read_text(encoding="utf-8")
    assert {line.split(": ")[1].split()[0] for line in out.splitlines()} == {case.parent.name}


def test_every_rule_has_a_bad_and_a_good_fixture() -> None:
    kinds = {(case.parent.name, case.name.split("-")[0]) for case in CASES}
    missing = [rule.id for rule in RULES for kind in ("bad", "good") if (rule.id, kind) not in kinds]
    assert not missing


def test_every_fixture_folder_belongs_to_a_rule() -> None:
    assert {path.name for path in FIXTURES.iterdir()} <= {rule.id for rule in RULES}
