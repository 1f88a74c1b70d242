"""Every rule's fixtures: a bad one gives exactly what stands beside it, a good one gives nothing from any rule."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from grpo_lint.cli import main
from grpo_lint.rules import RULES
from grpo_lint.rules.strict import FORMS

sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))
from fixtures import FIXTURES, UNIFIED, arguments, cases, fixing, lines

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


def found(case: Path, capsys: pytest.CaptureFixture[str]) -> tuple[set[str], set[str]]:
    """(what is found in a case, what of it can be fixed), as messages."""
    capsys.readouterr()
    main([word for word in fixing(case) if word not in ("--diff", "--unsafe-fixes")] + ["--output", "json"])
    here = [
        one
        for one in json.loads(capsys.readouterr().out)["diagnostics"]
        if one["fix"] is None or {edit["path"] for edit in one["fix"]["edits"]} == {case.name}
    ]
    return {one["message"] for one in here}, {one["message"] for one in here if one["fix"] is not None}


@pytest.mark.parametrize("case", [case for case in CASES if fixing(case)], ids=lambda p: f"{p.parent.name}/{p.name}")
def test_the_fix_of_a_fixture(
    case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it changes stands beside it, and what it fixed is gone then; a file without a fix stays as it is."""
    monkeypatch.chdir(shutil.copytree(case.parent, tmp_path / case.parent.name))
    expected = case.with_suffix(".diff")
    before, fixable = Path(case.name).read_bytes(), found(case, capsys)[1]
    assert bool(fixable) == expected.exists()
    main(fixing(case))
    assert capsys.readouterr().out == (expected.read_text(encoding="utf-8") if fixable else "")
    main(["--fix" if word == "--diff" else word for word in fixing(case)])
    assert (Path(case.name).read_bytes() != before) == bool(fixable)
    left, still = found(case, capsys)
    assert not still
    assert not fixable & left
