"""The list of rules as a whole."""

import importlib
import importlib.util
import pkgutil
import re
from pathlib import Path

import pytest

import grpo_lint.rules
from grpo_lint.rules import RULES
from grpo_lint.rules.rule import Rule
from grpo_lint.rules.strict import FORMS
from grpo_lint.rules.verdict import Form
from grpo_lint.unified import FIELDS

SECTIONS = ["What it does", "Why it matters", "Example", "Use instead", "When it does not apply", "Sources"]

FIX = "Fix"
"""The section of a rule whose findings can be fixed: when, how, and whether that is safe."""


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
    sections = re.findall(r"^## (.+)$", rule.page, re.M)
    if FIX in sections:
        assert sections.index(FIX) == sections.index("Use instead") + 1
        sections.remove(FIX)
    assert sections == SECTIONS
    assert 10 <= len(rule.summary) <= 200
    ways = [way for way in (rule.check, rule.text_check, FORMS.get(rule.id)) if way is not None]
    assert ways
    assert not (rule.check and rule.text_check)
    assert set(rule.needs) <= set(FIELDS)


def test_the_36_avoidance_rules_are_there_with_a_strict_form_each() -> None:
    ids = [f"DO{n:02}" for n in range(1, 20)] + [f"NOT{n:02}" for n in range(1, 18)]
    assert [rule.id for rule in RULES if rule.id in FORMS] == ids
    assert sorted(FORMS) == ids


@pytest.mark.parametrize("form", FORMS.values(), ids=lambda form: form.rule)
def test_a_strict_form_says_what_is_stated_and_when_it_fails(form: Form) -> None:
    assert form.fields
    assert set(form.fields) <= set(FIELDS)
    stated, rest = form.page.split("\n\n", 1)
    assert stated.startswith("Stated: ")
    assert re.search(r"\b(Fails|Warns)\b", rest)
    assert form.warns == ("Warns" in rest)


def test_twins_know_each_other_or_one_reports_for_the_other() -> None:
    by_id = {rule.id: rule for rule in RULES}
    for rule in RULES:
        if rule.twin:
            assert by_id[rule.twin].twin in ("", rule.id), rule


def test_the_catalogue_is_what_the_modules_declare() -> None:
    path = Path(__file__).parent.parent / "tools" / "catalogue.py"
    spec = importlib.util.spec_from_file_location("catalogue", path)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    assert tool.TARGET.read_text(encoding="utf-8") == tool.text(), "run python tools/catalogue.py"
