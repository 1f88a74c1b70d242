"""The rules, and the one list of them."""

from __future__ import annotations

from grpo_lint.rules import invariants, options, own, script, source
from grpo_lint.rules.avoidance import (
    agents,
    clipping,
    estimator,
    fsdp,
    limits,
    lora,
    lora_sync,
    moe,
    muon,
    overlap,
    precision,
    rollout,
    stated,
    zero,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.rules.rule import Rule

_MODULES = (
    agents, clipping, estimator, fsdp, limits, lora, lora_sync, moe, muon, overlap, precision, rollout, stated, zero,
    source, script, options, own, invariants,
)  # fmt: skip

RULES: tuple[Rule, ...] = tuple(
    sorted((rule for module in _MODULES for rule in module.RULES), key=lambda rule: rule.id)
)
"""Every rule, by id. A test holds that ids and names are unique and that no module's rules are left out."""
