"""The rules, and the one list of them."""

from __future__ import annotations

from grpo_lint.rules.catalogue import ROWS
from grpo_lint.rules.rule import Rule

RULES: tuple[Rule, ...] = tuple(Rule.listed(*row) for row in ROWS)
"""Every rule, by id. Its module is imported when it has something to judge."""
