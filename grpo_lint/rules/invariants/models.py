"""INV701: parallel sizes against the shapes of models that their names tell."""

from __future__ import annotations

import os

from grpo_lint.rules.invariants.relation import Operands, divisors, field, listed, relation, relations, told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule

TABLE = os.path.join(os.path.dirname(__file__), "heads.tsv")
"""Attention heads of released models, by name: what Megatron's launch scripts of slime give (main of 2026-08-21)."""

_EDITIONS = ("instruct", "base", "chat", "math", "coder", "thinking", "hf", "fp8")
"""Parts of a name that say nothing of the shape."""

_heads: dict[str, int] = {}


def heads_of(path: str) -> int | None:
    """The attention heads of a model, where its name is that of a released one."""
    if not _heads:
        with open(TABLE, encoding="utf-8") as table:
            _heads.update((name, int(count)) for name, count in (line.split("\t") for line in table))
    first, *rest = path.rstrip("/").rsplit("/", 1)[-1].lower().removeprefix("meta-").split("-")
    telling = (part for part in rest if part not in _EDITIONS and not (len(part) == 4 and part.isdecimal()))
    return _heads.get("-".join((first, *telling)))


@relation(
    "INV701", "heads-do-not-divide-in-rollout", "verl",
    path=told("model_path"), tp=field("rollout_tp", "tp"),
    also=("vllm", "sglang", "openrlhf", "trl"),
    topics=("parallel", "model", "rollout"),
    bad="actor_rollout_ref.rollout.name=vllm actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct"
    " actor_rollout_ref.rollout.tensor_model_parallel_size=8",
    good="actor_rollout_ref.rollout.name=vllm actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct"
    " actor_rollout_ref.rollout.tensor_model_parallel_size=4",
    unless="The number of heads is known for released models of common families, by their names.",
    source='vLLM 0.33.0, `config/model.py`: "Total number of attention heads ... must be divisible by tensor parallel '
    'size". THU-KEG/AdaptThink#1.',
)  # fmt: skip
def heads(o: Operands) -> Iterator[Finding]:
    """Each tensor-parallel rank of the engine takes the same number of attention heads.

    A model of 7B with 28 heads runs on 1, 2, 4, 7, 14 or 28 GPUs, and not on the 8 of a node.
    """
    count = heads_of(o.path) if isinstance(o.path, str) and o.tp > 1 else None
    if count is None or count % o.tp == 0:
        return
    name = o.path.rstrip("/").rsplit("/", 1)[-1]
    yield o.fault(
        "tp",
        f"{name} has {count} attention heads, which {o('tp')} does not divide: the engine refuses to start",
        "path",
        help=f"use a tensor-parallel size of {listed(divisors(count, 64))}",
    )


RULES: tuple[Rule, ...] = tuple(relations(globals()))
