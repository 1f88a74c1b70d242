"""The list of rules as a whole."""

import importlib
import pkgutil
import re

import pytest

import grpo_lint.rules
from grpo_lint.rules import RULES
from grpo_lint.rules.rule import Rule
from grpo_lint.unified import FIELDS

SECTIONS = ["What it does", "Why it matters", "Example", "Use instead", "When it does not apply", "Sources"]


def test_ids_and_names_are_unique_and_sorted() -> None:
    ids = [rule.id for rule in RULES]
    assert ids == sorted(ids)
    assert len(set(ids)) == len(ids)
    assert len({rule.name for rule in RULES}) == len(RULES)


def test_no_rule_of_any_module_is_left_out() -> None:
    found = set()
    for module in pkgutil.walk_packages(grpo_lint.rules.__path__, "grpo_lint.rules."):
        found |= {v.id for v in vars(importlib.import_module(module.name)).values() if isinstance(v, Rule)}
    assert found == {rule.id for rule in RULES}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_says_what_a_reader_needs(rule: Rule) -> None:
    assert re.fullmatch(r"(DO|NOT|INV|OPT|SRC|SEC|LNT)\d{2,3}", rule.id)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
    assert re.findall(r"^## (.+)$", rule.page, re.M) == SECTIONS
    assert 10 <= len(rule.summary) <= 200
    assert (rule.check is None) != (rule.text_check is None)
    assert set(rule.needs) <= set(FIELDS)
