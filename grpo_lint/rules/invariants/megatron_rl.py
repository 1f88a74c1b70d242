"""INV370 to INV375: reinforcement learning by Megatron-LM itself (`--perform-rl-step`), and its checkpoints."""

from __future__ import annotations

from grpo_lint.rules.invariants.megatron_shapes import GLOBAL, MICRO
from grpo_lint.rules.invariants.relation import Operands, flag, given, number, relation, relations, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule

RL = "--perform-rl-step"
GROUP, PROMPTS, PASSES = "--grpo-group-size", "--grpo-prompts-per-step", "--grpo-iterations"
READ = "Megatron-LM core_v0.19.0 and main of 2026-08-22, `training/arguments.py`: `validate_args`"
TARGET = "megatron-core=0.19.0"


def _samples(o: Operands) -> int:
    """Responses of one inference iteration over all passes; 0 where a size is no positive number."""
    return int(o.group * o.prompts * o.passes) if min(o.group, o.prompts, o.passes) > 0 else 0


@relation(
    "INV370", "samples-do-not-fill-global-batches", "megatron",
    on=flag(RL), group=number(GROUP), prompts=number(PROMPTS), passes=number(PASSES), whole=given(GLOBAL),
    save=given("--save-interval"), exit=given("--exit-interval"),
    mentions=("perform-rl-step",),
    topics=("batch", "group"),
    bad=f"{RL} {GROUP} 8 {PROMPTS} 32 {PASSES} 1 {GLOBAL} 48 {MICRO} 1",
    good=f"{RL} {GROUP} 8 {PROMPTS} 32 {PASSES} 1 {GLOBAL} 64 {MICRO} 1",
    source=f"{READ}; the same in core_v0.16.0.",
)  # fmt: skip
def samples(o: Operands) -> Iterator[Finding]:
    """What is sampled at a time is trained on in whole global batches, and saved between two samplings."""
    count = _samples(o)
    if not o.on or not count or type(o.whole) is not int or o.whole < 1:
        return
    if count % o.whole:
        yield o.fault(
            "whole",
            f"{o('prompts')} x {o('group')} x {o('passes')} = {count} samples are not a multiple of {o('whole')}, which"
            " Megatron asserts",
            "prompts", "group", "passes",
            help=f"set {GLOBAL} to a divisor of {count}",
        )  # fmt: skip
        return
    steps = count // o.whole
    for name in ("save", "exit"):
        if type(o[name].value) is int and o[name].value % steps:
            yield o.fault(
                name,
                f"{o(name)} is not a multiple of the {steps} iterations that one sampling feeds ({count} samples in"
                f" batches of {o.whole}), which Megatron asserts",
                "whole", "prompts", "group",
                help=f"use {o[name].value // steps * steps or steps}",
            )  # fmt: skip


@relation(
    "INV371", "kept-graphs-and-cache", "megatron",
    on=flag(RL), persist=flag("--rl-persist-cuda-graphs"), train=flag("--rl-training-cuda-graphs"),
    graphs=value("--cuda-graph-impl"), mode=given("--rl-kv-cache-management-mode"),
    unified=value("--inference-dynamic-batching-unified-memory-level"),
    mentions=("perform-rl-step",),
    topics=("memory", "rollout"),
    bad=f"{RL} --rl-persist-cuda-graphs",
    good=f"{RL} --rl-persist-cuda-graphs --cuda-graph-impl local",
    target=TARGET,
    source=f"{READ}.",
)  # fmt: skip
def kept_graphs(o: Operands) -> Iterator[Finding]:
    """Graphs that outlive a training step have to be captured at all, and their cache must not move."""
    if not o.on:
        return
    for name in ("persist", "train"):
        if o[name].value is True and o.graphs in (None, "none"):
            yield o.fault(name, f"{o[name].key} without CUDA graphs, which Megatron asserts against", "graphs",
                          help="add --cuda-graph-impl local")  # fmt: skip
    if o.mode != "offload":
        return
    if not o.persist:
        yield o.fault("mode", f"{o('mode')} without --rl-persist-cuda-graphs, which Megatron asserts",
                      help="add --rl-persist-cuda-graphs")  # fmt: skip
    if type(o.unified) is int and o.unified > 0:
        yield o.fault("mode", f"{o('mode')} with {o('unified')}, which Megatron asserts against", "unified")


@relation(
    "INV372", "rollouts-ahead-of-training", "megatron",
    on=flag(RL), partial=flag("--rl-partial-rollouts"), lag=given("--rl-generation-lag"),
    flight=given("--rl-max-inflight-requests"), submit=value("--rl-submission-granularity"),
    consume=value("--rl-consumption-granularity"), group=number(GROUP), prompts=number(PROMPTS),
    mentions=("perform-rl-step",),
    topics=("rollout",),
    bad=f"{RL} --rl-generation-lag 1",
    good=f"{RL} --rl-generation-lag 1 --rl-partial-rollouts",
    target=TARGET,
    source=f"{READ}.",
)  # fmt: skip
def ahead(o: Operands) -> Iterator[Finding]:
    """Sampling ahead of training leaves responses unfinished, and only partial rollouts can go on with them."""
    if not o.on:
        return
    if o.lag is not None and o.flight is not None:
        yield o.fault("flight", f"{o('flight')} beside {o('lag')}: Megatron takes one of them", "lag")
    elif type(o.lag) in (int, float) and o.lag > 0 and not o.partial:
        yield o.fault("lag", f"{o('lag')} without --rl-partial-rollouts, which Megatron asserts",
                      help="add --rl-partial-rollouts")  # fmt: skip
    elif type(o.flight) is int and not o.partial and o.flight > o.group * o.prompts:
        yield o.fault("flight", f"{o('flight')} > {o('prompts')} x {o('group')} = {o.prompts * o.group} without"
                      " --rl-partial-rollouts, which Megatron asserts against", "prompts", "group",
                      help="add --rl-partial-rollouts")  # fmt: skip
    if o.submit not in (None, "B") and not o.partial:
        yield o.fault("submit", f"{o('submit')} without --rl-partial-rollouts, which Megatron asserts",
                      help="add --rl-partial-rollouts")  # fmt: skip
    if o.consume == "R":
        yield o.fault("consume", f"{o('consume')} is not supported yet: Megatron refuses it", help="use G or B")
    elif o.consume == "G" and o.submit in (None, "B"):
        yield o.fault("consume", f"{o('consume')} with {o('submit')}, which Megatron refuses", "submit")


@relation(
    "INV373", "packed-rollouts-in-larger-micro-batches", "megatron",
    on=flag(RL), packing=flag("--rl-use-sequence-packing"), micro=number(MICRO),
    mentions=("perform-rl-step",),
    topics=("batch",),
    bad=f"{RL} --rl-use-sequence-packing {MICRO} 4",
    good=f"{RL} --rl-use-sequence-packing {MICRO} 1",
    source=f"{READ}; the same in core_v0.16.0.",
)  # fmt: skip
def packed(o: Operands) -> Iterator[Finding]:
    """Packed responses fill one long sequence, which is a micro-batch by itself."""
    if o.on and o.packing and o.micro != 1:
        yield o.fault("micro", f"{o('micro')} with --rl-use-sequence-packing, which Megatron asserts against",
                      "packing",
                      help=f"set {MICRO} to 1, and lengthen the sequence")  # fmt: skip


@relation(
    "INV374", "retained-checkpoints-are-not-saved-ones", "megatron",
    retain=number("--save-retain-interval"), save=number("--save-interval"),
    mentions=("save-retain-interval",),
    topics=("checkpoint",),
    bad="--save /checkpoints --save-interval 500 --save-retain-interval 800",
    good="--save /checkpoints --save-interval 500 --save-retain-interval 1000",
    source=f"{READ}; the same from core_v0.14.0 on.",
)  # fmt: skip
def retained(o: Operands) -> Iterator[Finding]:
    """A checkpoint that is kept is one of those that are saved."""
    if o.save > 0 and o.retain % o.save:
        yield o.fault("retain", f"{o('retain')} is not a multiple of {o('save')}, which Megatron asserts", "save",
                      help=f"use {o.retain // o.save * o.save or o.save}")  # fmt: skip


@relation(
    "INV375", "checkpoints-in-local-memory", "megatron",
    kind=given("--non-persistent-ckpt-type"), folder=given("--non-persistent-local-ckpt-dir"),
    twice=flag("--replication"),
    jump=given("--replication-jump"),
    mentions=("non-persistent", "replication"),
    topics=("checkpoint",),
    bad="--replication --replication-jump 8",
    good="--replication --replication-jump 8 --non-persistent-ckpt-type local --non-persistent-local-ckpt-dir /local",
    source=f"{READ}; the same from core_v0.12.0 on.",
)  # fmt: skip
def local_checkpoints(o: Operands) -> Iterator[Finding]:
    """Local checkpoints need a folder, and copies of them on other nodes need local checkpoints."""
    if o.kind == "local" and o.folder is None:
        yield o.fault("kind", f"{o('kind')} without --non-persistent-local-ckpt-dir, which Megatron asserts")
    if o.twice and o.jump is None:
        yield o.fault("twice", "--replication without --replication-jump, which Megatron asserts")
    elif o.twice and o.kind != "local":
        yield o.fault("twice", "--replication without --non-persistent-ckpt-type local, which Megatron asserts", "kind")


RULES: tuple[Rule, ...] = tuple(relations(globals()))
