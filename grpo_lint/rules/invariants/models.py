"""INV164: lengths against the shapes of models that their names tell."""

from __future__ import annotations

import os

from grpo_lint.diagnostics import ERROR, WARNING
from grpo_lint.frameworks.verl import MODEL, ROLLOUT
from grpo_lint.rules.invariants.relation import (
    Operands,
    number,
    relation,
    relations,
    told,
    value,
)
from grpo_lint.rules.invariants.verl_batches import ENGINE, LENGTH, PROMPT, RESPONSE, validated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule
    from grpo_lint.runconfig import RunConfig

POSITIONS = os.path.join(os.path.dirname(__file__), "positions.tsv")
"""`max_position_embeddings` of released models, by their names on the hub: a copy on a disk may have been changed."""

_positions: dict[str, int] = {}


def positions_of(name: str) -> int | None:
    """The positions that a model of the hub is made for, where they are known."""
    if not _positions:
        with open(POSITIONS, encoding="utf-8") as table:
            _positions.update((name, int(count)) for name, count in (line.split("\t") for line in table))
    return _positions.get(name)


def _stretched(run: RunConfig) -> bool:
    """Whether a launch of verl changes the model's positions itself."""
    places = (f"{MODEL}.override_config", f"{MODEL}.hf_config", f"{ROLLOUT}.engine_kwargs")
    words = ("position", "rope", "hf_overrides", "model_config", "max_model_len")
    return any(
        any(word in f"{key}{setting.value}" for word in words)
        for place in places
        for key, setting in (*run.options.below("verl", place), ("", run.option("verl", place)))
        if setting.explicit
    )


@relation(
    "INV164", "sequence-exceeds-model", "verl",
    path=told("model_path"), length=value(LENGTH), prompt=number(PROMPT), response=number(RESPONSE),
    engine=value(ENGINE),
    when=validated, since="0.2",
    topics=("length", "model"),
    mentions=("length", "max_model_len"),
    bad="actor_rollout_ref.rollout.name=vllm actor_rollout_ref.model.path=Qwen/Qwen2.5-Math-7B"
    " data.max_prompt_length=1024 data.max_response_length=4096",
    good="actor_rollout_ref.rollout.name=vllm actor_rollout_ref.model.path=Qwen/Qwen2.5-Math-7B"
    " data.max_prompt_length=1024 data.max_response_length=3072",
    target="verl=0.6.1",
    unless="The positions are known for some models of the hub, by their whole names; a model that is read from a disk "
    "may have been changed, and so may `model.override_config` change it.",
    source="verl 0.2 to 0.6.1, `workers/rollout/vllm_rollout/vllm_rollout_spmd.py`: \"model context length should be "
    'greater than total sequence length"; 0.7.1 to 0.9.1, `vllm_async_server.py`: ValueError for `max_model_len`, and '
    "the model's positions where it is unset. hkust-nlp/simpleRL-reason#58.",
)  # fmt: skip
def positions(o: Operands) -> Iterator[Finding]:
    """A prompt and its response have to fit into the positions that the model is made for.

    Qwen2.5-Math has 4096 of them, which long reasoning needs more than. Up to verl 0.6.1 the engine refuses to start;
    from 0.7.0 on it starts, and ends each response where the positions end.
    """
    limit = positions_of(o.path) if isinstance(o.path, str) else None
    if limit is None or o.engine not in ("vllm", "sglang") or _stretched(o.run):
        return
    total = o.prompt + o.response
    old = o.run.before("verl", "0.7.0")
    if type(o.length) is int and o.length > limit:
        newer = o.run.before("verl", "0.7.1")
        if old is False and newer:
            return  # 0.7.0 takes the model's positions whatever is set
        yield o.fault(
            "length",
            f"{o('length')} > {limit}, the positions of {o.path}: the engine refuses to start",
            "path",
            help=f"set {LENGTH} to {limit} or less, or choose a model with a longer context",
            severity=WARNING if newer is None else ERROR,
        )
    elif o.length is None and total > limit and o["response"].explicit:
        outcome = "verl refuses to start" if old else f"responses end at {limit} tokens, the prompt's included"
        yield o.fault(
            "response",
            f"{o('prompt')} + {o('response')} = {total} > {limit}, the positions of {o.path}: {outcome}",
            "prompt",
            "path",
            help="shorten them, or choose a model with a longer context",
            severity=ERROR if old else WARNING,
        )


RULES: tuple[Rule, ...] = tuple(relations(globals()))
