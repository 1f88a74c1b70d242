"""INV711 to INV719: ms-swift's arguments for GRPO."""

from __future__ import annotations

from grpo_lint.rules.invariants.relation import Operands, divisors, given, listed, processes, relation, relations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule

LAUNCH = "$ NPROC_PER_NODE=8 swift rlhf --rlhf_type grpo --model Qwen/Qwen2.5-7B-Instruct --dataset data.jsonl"


@relation(
    "INV711", "groups-do-not-fill-batch-of-swift", "ms_swift",
    group=given("--num_generations"), kind=given("--rlhf_type"), batch=given("--per_device_train_batch_size"),
    steps=given("--gradient_accumulation_steps"), reuse=given("--steps_per_generation"),
    whole=given("--generation_batch_size"), world=processes(),
    topics=("batch", "group"),
    bad=f"{LAUNCH} --per_device_train_batch_size 1 --gradient_accumulation_steps 1 --num_generations 6",
    good=f"{LAUNCH} --per_device_train_batch_size 1 --gradient_accumulation_steps 1 --num_generations 8",
    unless="Only sizes that are written are compared, and without NPROC_PER_NODE the number of processes is open.",
    source="ms-swift 4.6.0 `rlhf_trainers/args_mixin.py`: `_init_generation_batch_params`; 3.9.3 "
    "`trainers/rlhf_arguments.py`.",
)  # fmt: skip
def groups(o: Operands) -> Iterator[Finding]:
    """What all processes generate at once has to be whole groups, as in TRL.

    A generation is `per_device_train_batch_size` responses on each process, taken `steps_per_generation` times, or else
    as often as gradients are accumulated.
    """
    name = "reuse" if o.reuse is not None else "steps"
    sizes = [o[part].value for part in ("group", "batch", name)]
    if o.kind != "grpo" or o.whole is not None or not all(type(size) is int and size > 0 for size in sizes):
        return
    total = o.batch * o.world * o[name].value
    if o.group > 1 and total % o.group:
        fitting = [n for n in divisors(total, 64) if n > 1]
        yield o.fault(
            "group",
            f"{o('group')} does not divide {o('batch')} x {o.world} processes x {o(name)} = {total} responses: groups"
            " would be split, and ms-swift refuses to start",
            "batch",
            name,
            "world",
            help=f"use {listed(fitting)} generations" if fitting else "raise the batch size or its steps",
        )


RULES: tuple[Rule, ...] = tuple(relations(globals()))
