"""The pages of rules: what they show as a fault is that fault, what they advise is none, and docs/ says the same."""

import json
import re
import sys
from pathlib import Path

import pytest

from grpo_lint.explain import body, page
from grpo_lint.rules import RULES
from grpo_lint.rules.rule import Rule
from grpo_lint.rules.strict import FORMS

sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))
import rule_docs
from rule_docs import Example, examples

AVOIDANCE = [rule for rule in RULES if rule.id in FORMS]


def found(example: Example) -> set[str]:
    """The rules that speak of an example."""
    document = json.loads(example.run("json"))
    if not example.command:
        return {diagnostic["rule"] for diagnostic in document["diagnostics"]}
    return {v["rule"] for run in document["runs"] for v in run["verdicts"] if v["verdict"] in ("fail", "warn")}


@pytest.mark.parametrize("rule", AVOIDANCE, ids=lambda rule: rule.id)
def test_an_avoidance_rule_shows_its_own_fault_and_no_other(rule: Rule) -> None:
    shown = examples(rule, "Example")
    assert shown
    assert [found(example) for example in shown] == [{rule.id}] * len(shown)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_an_example_has_the_fault(rule: Rule) -> None:
    for example in examples(rule, "Example"):
        assert rule.id in found(example), example.text


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_the_advice_has_not(rule: Rule) -> None:
    for example in examples(rule, "Use instead"):
        assert found(example) <= (set() if rule.id in FORMS else {other.id for other in RULES} - {rule.id})


def test_docs_are_what_the_rules_make_them() -> None:
    behind = [str(path.relative_to(rule_docs.ROOT)) for path in rule_docs.stale(rule_docs.pages())]
    assert not behind, "run `python tools/rule_docs.py`"


@pytest.mark.parametrize("rule", AVOIDANCE, ids=lambda rule: rule.id)
def test_a_page_says_what_is_stated_and_what_is_known(rule: Rule) -> None:
    text = page(rule)
    assert f"evidence: {rule.evidence}" in text
    assert re.search(r"^levels: \w+ in default; \w+ in strict; [\w ]+ in rtx4090$", text, re.M)
    assert text.index("## In the profile rtx4090\nStated: ") < text.index("## Sources\n")


VERDICTS = {
    "solid": "held",
    "conditional": "narrowed",
    "refuted": "wrong",
    "contested": "contested",
    "unverifiable": "not verifiable",
}


def test_the_table_of_claims_agrees_with_the_rules() -> None:
    text = (rule_docs.ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[(\w+)\]\(rules/(\w+)\.md\) \| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$", text, re.M)
    assert [row[0] for row in rows] == [rule.id for rule in AVOIDANCE]
    for rule, (_, linked, stated, verdict, shows, read) in zip(AVOIDANCE, rows, strict=True):
        claim = re.search(r"Stated: (.*?)(?:\n\n|$)", FORMS[rule.id].page, re.S)
        assert claim is not None
        assert linked == rule.id
        assert stated == " ".join(claim[1].split())
        assert verdict == VERDICTS[rule.evidence], rule.id
        assert shows.endswith(".")
        assert re.search(r"\d+\.\d+|#\d+", read), rule.id
    counts = [sum(row[3] == verdict for row in rows) for verdict in VERDICTS.values()]
    said = "{} held, {} were narrowed, {} were wrong, {} are contested, and {} can't be verified".format(*counts)
    assert f"Of the 36, {said}." in text


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_block_of_a_page_is_run_or_belongs_to_one_that_is(rule: Rule) -> None:
    run = [example for section in ("Example", "Use instead") for example in examples(rule, section)]
    used = {example.text for example in run} | {text for example in run for text in example.files.values()}
    blocks = re.findall(r"^```\w*\n(.*?)^```$", body(rule), re.M | re.S)
    assert set(blocks) <= used
