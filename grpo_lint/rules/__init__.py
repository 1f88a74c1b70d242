"""The rules, and the one list of them."""

from __future__ import annotations

from grpo_lint.rules import source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.rules.rule import Rule

RULES: tuple[Rule, ...] = (*source.RULES,)
"""Every rule, sorted by id. A test holds that ids and names are unique and that no module's rules are left out."""
