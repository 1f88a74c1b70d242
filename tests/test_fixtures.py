"""Every rule's fixtures: a bad one gives exactly what stands beside it, a good one gives nothing from any rule."""

import sys
from pathlib import Path

import pytest

from grpo_lint.cli import main
from grpo_lint.rules import RULES
from grpo_lint.rules.strict import FORMS

sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))
from fixtures import FIXTURES, UNIFIED, arguments, cases, lines

CASES = cases()
BY_ID = {rule.id: rule for rule in RULES}


def lint(case: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """What the command says of a case, run in the case's own folder."""
    monkeypatch.chdir(case.parent)
    code = main(arguments(case))
    captured = capsys.readouterr()
    assert code in (0, 1), captured.err
    out = lines(case, captured.out)
    if not case.name.endswith(UNIFIED):
        assert code == (1 if out else 0)
    return out


def reporters(id: str) -> set[str]:
    """The rules under whose ids a rule's faults are reported: its own, or its twin's where it only states the fault."""
    rule = BY_ID[id]
    return {rule.id, rule.twin} if rule.check is None and rule.twin else {rule.id}


@pytest.mark.parametrize("case", CASES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_fixture(case: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    out = lint(case, monkeypatch, capsys)
    if case.name.startswith("good-"):
        assert out == ""
        return
    assert out == case.with_suffix(".out").read_text(encoding="utf-8")
    found = {line.split(": ")[1].split()[0] for line in out.splitlines()}
    assert found
    assert found <= reporters(case.parent.name)
    assert case.parent.name in out.split(": ", 1)[1]


@pytest.mark.parametrize("kind", ["bad", "good"])
def test_every_rule_has_fixtures(kind: str) -> None:
    there = {case.parent.name for case in CASES if case.name.startswith(f"{kind}-")}
    assert there == {rule.id for rule in RULES}


@pytest.mark.parametrize("kind", ["bad", "good"])
def test_every_strict_form_has_fixtures(kind: str) -> None:
    assert {case.parent.name for case in CASES if case.name.startswith(f"{kind}-strict-")} == set(FORMS)


def test_every_fixture_folder_belongs_to_a_rule() -> None:
    assert {path.name for path in FIXTURES.iterdir()} <= set(BY_ID)
