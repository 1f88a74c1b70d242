"""INV456, INV701: what a model's name tells of its shape, and key-value heads against parallel sizes."""

from __future__ import annotations

import os

from grpo_lint.rules.invariants.relation import Operands, divisors, field, listed, relation, relations, told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule

TABLE = os.path.join(os.path.dirname(__file__), "shapes.tsv")
"""Name, attention heads, key-value heads, layers and positions of released models; 0 where one isn't known.

From litgpt 0.5.13 (config.py) and slime's model scripts (main of 2026-08-21). Positions are those that a model is said
to reach, which for some editions is more than its own config says.
"""

_EDITIONS = ("instruct", "base", "chat", "math", "coder", "thinking", "it", "hf", "fp8")
"""Parts of a name that say nothing of the heads."""


class Shape:
    """What is known of a model by its name: counts of attention heads, key-value heads and layers; 0 where unknown."""

    __slots__ = ("heads", "kv_heads", "layers", "positions")

    def __init__(self, heads: int, kv_heads: int, layers: int, positions: int) -> None:
        self.heads = heads
        self.kv_heads = kv_heads
        self.layers = layers
        self.positions = positions

    def splits(self, size: int) -> bool:
        """Whether an engine can share the heads among `size` ranks: evenly, and key-value heads evenly or repeated."""
        repeated = not self.kv_heads or self.kv_heads % size == 0 or size % self.kv_heads == 0
        return self.heads % size == 0 and repeated

    def sizes(self) -> list[int]:
        """The numbers of ranks, up to 64, among which an engine can share the heads."""
        return [size for size in divisors(self.heads, 64) if self.splits(size)]


_counts: dict[str, str] = {}
_families: dict[str, str] = {}
"""The same by names without their editions, whose positions differ."""


def shape_of(path: str) -> Shape | None:
    """The shape of a model, where its name is that of a released one."""
    if not _counts:
        with open(TABLE, encoding="utf-8") as table:
            for line in table:
                name, _, counts = line.partition("\t")
                _counts[name] = _families[_family(name)] = counts
    name = path.rstrip("/").rsplit("/", 1)[-1].lower()
    counts = _counts.get(name) or _families.get(_family(name), "")
    if not counts:
        return None
    heads, kv_heads, layers, positions = map(int, counts.split("\t"))
    return Shape(heads, kv_heads, layers, positions if name in _counts else 0)


def _family(name: str) -> str:
    """A lower-case name without what says nothing of the heads."""
    first, *rest = name.removeprefix("meta-").split("-")
    telling = (part for part in rest if part not in _EDITIONS and not (len(part) == 4 and part.isdecimal()))
    return "-".join((first, *telling))


def splits_attention(o: Operands) -> bool:
    """Whether SGLang's attention data parallelism makes smaller groups for the heads than its tensor-parallel size."""
    return any(word.text.startswith(("--enable-dp-attention", "--attn-dp-size")) for word in o.run.command)


@relation(
    "INV456", "key-value-heads-do-not-divide-in-rollout", "verl",
    path=told("model_path"), tp=field("rollout_tp", "tp"),
    also=("vllm", "sglang", "openrlhf", "trl"),
    topics=("parallel", "model", "rollout"),
    bad="actor_rollout_ref.rollout.name=vllm actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct"
    " actor_rollout_ref.rollout.tensor_model_parallel_size=7",
    good="actor_rollout_ref.rollout.name=vllm actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct"
    " actor_rollout_ref.rollout.tensor_model_parallel_size=4",
    unless="The number of key-value heads is known for released models of common families, by their names.",
    source="vLLM 0.8.5 to 0.33.0, `models/qwen2.py`, `models/llama.py`: `assert self.total_num_kv_heads % tp_size == "
    "0` or `tp_size % self.total_num_kv_heads == 0`; SGLang 0.5.3 to 0.5.23 the same.",
)  # fmt: skip
def key_value_heads(o: Operands) -> Iterator[Finding]:
    """Each tensor-parallel rank of the engine takes whole key-value heads, or shares one evenly with other ranks.

    A model of 7B with 28 heads and 4 key-value heads runs on 1, 2, 4 or 28 GPUs: 7 and 14 share out its heads, but not
    its key-value heads.
    """
    shape = shape_of(o.path) if isinstance(o.path, str) and o.tp > 1 else None
    if shape is None or shape.heads % o.tp or shape.splits(o.tp) or splits_attention(o):
        return
    name = o.path.rstrip("/").rsplit("/", 1)[-1]
    yield o.fault(
        "tp",
        f"{name} has {shape.kv_heads} key-value heads, which {o('tp')} neither divides nor repeats evenly: the engine"
        " refuses to start",
        "path",
        help=f"use a tensor-parallel size of {listed(shape.sizes())}",
    )


@relation(
    "INV701", "heads-do-not-divide-in-rollout", "verl",
    path=told("model_path"), tp=field("rollout_tp", "tp"),
    also=("vllm", "sglang", "openrlhf", "trl"),
    topics=("parallel", "model", "rollout"),
    bad="actor_rollout_ref.rollout.name=vllm actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct"
    " actor_rollout_ref.rollout.tensor_model_parallel_size=8",
    good="actor_rollout_ref.rollout.name=vllm actor_rollout_ref.model.path=Qwen/Qwen2.5-7B-Instruct"
    " actor_rollout_ref.rollout.tensor_model_parallel_size=4",
    unless="The number of heads is known for released models of common families, by their names. SGLang's data "
    "parallelism of the attention makes smaller groups.",
    source='vLLM 0.33.0, `config/model.py`: "Total number of attention heads ... must be divisible by tensor parallel '
    'size". THU-KEG/AdaptThink#1.',
)  # fmt: skip
def heads(o: Operands) -> Iterator[Finding]:
    """Each tensor-parallel rank of the engine takes the same number of attention heads.

    A model of 7B with 28 heads and 4 key-value heads runs on 1, 2, 4 or 28 GPUs, and not on the 8 of a node.
    """
    shape = shape_of(o.path) if isinstance(o.path, str) and o.tp > 1 else None
    if shape is None or shape.heads % o.tp == 0 or splits_attention(o):
        return
    name = o.path.rstrip("/").rsplit("/", 1)[-1]
    yield o.fault(
        "tp",
        f"{name} has {shape.heads} attention heads, which {o('tp')} does not divide: the engine refuses to start",
        "path",
        help=f"use a tensor-parallel size of {listed(shape.sizes())}",
    )


RULES: tuple[Rule, ...] = tuple(relations(globals()))
