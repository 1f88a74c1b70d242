"""A rule that isn't asked, since the run mentions nothing of its subject, would have said nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from grpo_lint.engine import Linter
from grpo_lint.rules import RULES
from grpo_lint.rules.rule import Rule
from grpo_lint.settings import Settings

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures"
CORPUS = ROOT.parent / "shared" / "corpus"


def found(folder: Path) -> list[str]:
    report = Linter(Settings()).check([str(folder)])
    return [f"{one.rule} {one.primary.span} {one.message}" for one in report.diagnostics]


@pytest.mark.parametrize(
    "folder", [FIXTURES, pytest.param(CORPUS, marks=pytest.mark.skipif(not CORPUS.is_dir(), reason="no corpus"))]
)
def test_no_finding_is_lost(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    asked = found(folder)
    monkeypatch.setattr(Rule, "silent", lambda self, run: False)
    assert found(folder) == asked
    assert len(asked) > (100 if folder == FIXTURES else 1), os.listdir(folder)


def test_most_rules_of_the_subjects_that_few_runs_have_are_asked_by_mention() -> None:
    assert {rule.id for rule in RULES if rule.mentions} >= {"DO04", "DO11", "DO16", "NOT02", "NOT17"}
