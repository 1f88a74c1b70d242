"""The examples of the pages about verl: what a page shows as a fault is that fault, what it advises is none."""

import re

import pytest
from verl_runs import findings, launched

from grpo_lint.rules.avoidance import estimator, fsdp, lora, lora_sync, moe, rollout
from grpo_lint.rules.rule import Rule

RULES = (*estimator.RULES, *fsdp.RULES, *lora.RULES, *lora_sync.RULES, *moe.RULES, *rollout.RULES)


def examples(rule: Rule, section: str) -> tuple[list[str], dict[str, str]]:
    """The commands of a section of a rule's page, and the releases that the section's text targets."""
    text = rule.page.split(f"## {section}\n", 1)[1].split("\n## ", 1)[0]
    commands = [block.replace("\\\n", " ") for block in re.findall(r"```sh\n(.*?)```", text, re.S) if "verl" in block]
    return commands, dict(re.findall(r"--target (\w+)=([\d.]+)", text))


def found(command: str, versions: dict[str, str]) -> set[str]:
    run = launched(command, **versions)
    return {rule.id for rule in RULES if findings(rule, run)}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_example_is_this_fault_and_no_other(rule: Rule) -> None:
    commands, versions = examples(rule, "Example")
    assert commands
    assert [found(command, versions) for command in commands] == [{rule.id}] * len(commands)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_advice_is_clean(rule: Rule) -> None:
    _, versions = examples(rule, "Example")
    for command in examples(rule, "Use instead")[0]:
        assert not found(command, versions)
        assert not found(command, {"verl": "0.9.1"})
