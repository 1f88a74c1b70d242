"""`explain` and `rules`: what people and programs can read about the rules."""

import json
import re

import pytest

from grpo_lint.cli import main
from grpo_lint.explain import PROFILES, levels, rule_named
from grpo_lint.rules import RULES
from grpo_lint.rules.strict import FORMS

Capture = pytest.CaptureFixture[str]
EVIDENCE = {"solid", "conditional", "contested", "refuted", "unverifiable"}


@pytest.mark.parametrize("name", ["NOT07", "not07", "group-size-1", "Group-Size-1"])
def test_a_rule_by_any_of_its_names(capsys: Capture, name: str) -> None:
    assert main(["explain", name]) == 0
    out = capsys.readouterr().out
    assert out.startswith(
        "# NOT07 group-size-1\n\nevidence: solid · since 0.1.0 · goes with DO07 · topics: grpo, singleton"
    )
    assert "levels: error in default; error in strict; error and warning in rtx4090\n" in out
    assert "## In the profile rtx4090\nStated: never one response a prompt" in out


def test_several_pages(capsys: Capture) -> None:
    assert main(["explain", "NOT07", "DO12"]) == 0
    out = capsys.readouterr().out
    assert re.findall(r"^# (\w+)", out, re.M) == ["NOT07", "DO12"]
    assert "levels: off in default; off in strict; warning in rtx4090" in out


def test_an_unknown_rule(capsys: Capture) -> None:
    assert main(["explain", "group-syze-1"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "grpo-lint: no rule is called 'group-syze-1'; did you mean group-size-1?\n"


def test_the_table_has_a_line_for_each_rule(capsys: Capture) -> None:
    assert main(["rules"]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["id", "name", "default", "rtx4090", "evidence", "what", "it", "is", "about"]
    assert [line.split()[0] for line in lines] == [rule.id for rule in RULES]
    for line in lines:
        rule = rule_named(line.split()[0])
        assert line[head.index("default") :].startswith(levels(rule)["default"])
        assert line[head.index("rtx4090") :].startswith(levels(rule)["rtx4090"])
        assert line[head.index("evidence") :].startswith(rule.evidence)
        assert line[head.index("what") :] == rule.summary


def test_the_list_as_json(capsys: Capture) -> None:
    assert main(["rules", "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == 1
    assert [row["id"] for row in document["rules"]] == [rule.id for rule in RULES]
    for row in document["rules"]:
        assert set(row["levels"]) == set(PROFILES)
        assert row["evidence"] in EVIDENCE
        assert row["twin"] is None or row["twin"] in FORMS
        assert ("## In the profile rtx4090" in row["page"]) == (row["id"] in FORMS)


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.id in FORMS], ids=lambda rule: rule.id)
def test_levels_are_what_the_profiles_do(rule: object) -> None:
    found = levels(rule)  # type: ignore[arg-type]
    assert found["default"] == found["strict"]
    assert found["rtx4090"] != "off"
