"""INV...: constraints between settings that a framework asserts only inside the job, or that public reports show."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.rules.rule import Rule

_MODULES = (
    "verl_batches",
    "verl_engines",
    "verl_lengths",
    "deepspeed_config",
    "trl",
    "huggingface",
    "megatron",
    "slime",
    "openrlhf",
)


def __getattr__(name: str) -> tuple[Rule, ...]:
    """`RULES`: those of all modules here, which are imported when somebody asks for them."""
    if name != "RULES":
        raise AttributeError(name)
    return tuple(rule for module in _MODULES for rule in import_module(f"{__name__}.{module}").RULES)
