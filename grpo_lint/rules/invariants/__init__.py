"""INV...: constraints between settings that a framework asserts only inside the job, or that public reports show."""

from __future__ import annotations

from grpo_lint.rules.invariants import verl_batches, verl_engines, verl_lengths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.rules.rule import Rule

RULES: tuple[Rule, ...] = (*verl_batches.RULES, *verl_engines.RULES, *verl_lengths.RULES)
