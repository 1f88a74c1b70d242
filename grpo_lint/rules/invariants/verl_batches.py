"""INV101 to INV119: verl's batches, and how ranks share them."""

from __future__ import annotations

from grpo_lint.diagnostics import ERROR, NOTE, WARNING
from grpo_lint.frameworks.verl import ACTOR, ROLLOUT
from grpo_lint.rules.avoidance.verl_run import fsdp, megatron
from grpo_lint.rules.invariants.relation import (
    Operands,
    field,
    flag,
    is_own,
    number,
    option,
    relation,
    relations,
    value,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule
    from grpo_lint.runconfig import RunConfig

BATCH, GPUS, NODES = "data.train_batch_size", "trainer.n_gpus_per_node", "trainer.nnodes"
MINI, MICRO = f"{ACTOR}.ppo_mini_batch_size", f"{ACTOR}.ppo_micro_batch_size"
PER_GPU, DYNAMIC = f"{MICRO}_per_gpu", f"{ACTOR}.use_dynamic_bsz"
REF = "actor_rollout_ref.ref"
TP, DP = f"{ROLLOUT}.tensor_model_parallel_size", f"{ROLLOUT}.data_parallel_size"
ENGINE, LENGTH = f"{ROLLOUT}.name", f"{ROLLOUT}.max_model_len"
PROMPT, RESPONSE = "data.max_prompt_length", "data.max_response_length"
SEPARATE = "trainer.v1.separate_async"
ACTOR_CHECK = "verl 0.6.0 to 0.9.1, `workers/config/actor.py`; 0.5.0, `trainer/ppo/ray_trainer.py`: `_validate_config`."


def streams(run: RunConfig) -> bool:
    """Whether responses reach the trainer one by one, so that there is no batch to divide."""
    return run.engine == "fully_async"


def validated(run: RunConfig) -> bool:
    """Whether verl compares the batches of a run: its own entry point does."""
    return is_own(run) and not streams(run)


def _multiples(n: int, step: int) -> str:
    """The multiples of `step` around a number: "56 or 64"."""
    below = n // step * step
    return f"{below} or {below + step}" if below else str(step)


@relation(
    "INV101", "mini-batch-exceeds-batch", "verl",
    mini=number(MINI), batch=number(BATCH), dynamic=flag(DYNAMIC),
    when=validated,
    since="0.3.0",
    topics=("batch",),
    bad=f"{BATCH}=32 {MINI}=64 {PER_GPU}=4 {ROLLOUT}.log_prob_micro_batch_size_per_gpu=4",
    good=f"{BATCH}=64 {MINI}=64 {PER_GPU}=4 {ROLLOUT}.log_prob_micro_batch_size_per_gpu=4",
    unless="With `use_dynamic_bsz` verl does not compare them.",
    source=ACTOR_CHECK,
)  # fmt: skip
def mini_exceeds_batch(o: Operands) -> Iterator[Finding]:
    """verl cuts mini-batches out of a batch of prompts, so a mini-batch can't be larger than that.

    Both count prompts, not responses: `rollout.n` multiplies the one and the other. A mini-batch that was worked out
    from the number of responses is `n` times too large, and verl refuses it.
    """
    if o.batch and o.mini > o.batch and not o.dynamic:
        yield o.fault(
            "mini",
            f"{o('mini')} > {o('batch')}: verl counts prompts, not responses, and refuses a mini-batch larger than"
            " the batch",
            "batch",
            label="larger than the batch that it is cut from",
            help=f"set {MINI} to {o.batch} or less, or raise {BATCH}",
        )


@relation(
    "INV102", "micro-batch-does-not-divide-mini-batch", "verl",
    micro=number(MICRO), mini=number(MINI), dynamic=flag(DYNAMIC),
    when=validated,
    since="0.2",
    topics=("batch",),
    bad=f"{BATCH}=64 {MINI}=64 {MICRO}=24 {ROLLOUT}.log_prob_micro_batch_size=24",
    good=f"{BATCH}=64 {MINI}=64 {MICRO}=32 {ROLLOUT}.log_prob_micro_batch_size=32",
    target="verl=0.7.1",
    source=ACTOR_CHECK,
)  # fmt: skip
def micro_divides_mini(o: Operands) -> Iterator[Finding]:
    """verl's older `ppo_micro_batch_size` counts over all GPUs and has to divide the mini-batch."""
    if o.micro > 0 and o.mini % o.micro and not o.dynamic:
        yield o.fault(
            "micro",
            f"{o('mini')} is not a multiple of {o('micro')}, which verl refuses",
            "mini",
            help=f"use {PER_GPU}, or a micro-batch that divides {o.mini}",
        )


@relation(
    "INV103", "micro-batch-leaves-gpus-idle", "verl",
    micro=number(MICRO), gpus=number(GPUS), nodes=number(NODES), dynamic=flag(DYNAMIC),
    sp=value(f"{ACTOR}.ulysses_sequence_parallel_size"),
    when=validated,
    since="0.2",
    topics=("batch", "parallel"),
    bad=f"{BATCH}=64 {MINI}=64 {MICRO}=4 {ROLLOUT}.log_prob_micro_batch_size=8 {GPUS}=8",
    good=f"{BATCH}=64 {MINI}=64 {MICRO}=8 {ROLLOUT}.log_prob_micro_batch_size=8 {GPUS}=8",
    target="verl=0.7.1",
    source=ACTOR_CHECK,
)  # fmt: skip
def micro_fills_gpus(o: Operands) -> Iterator[Finding]:
    """verl's older `ppo_micro_batch_size` counts over all GPUs, so that each needs a share of it."""
    world, sp = o.gpus * o.nodes, o.sp if type(o.sp) is int else 1
    if not o.dynamic and o.micro * sp < world:
        yield o.fault(
            "micro",
            f"{o('micro')} x sequence-parallel size {sp} < {world} GPUs: it counts over all of them, and verl refuses"
            " one that leaves some without work",
            "gpus",
            "nodes",
            help=f"use {PER_GPU}, which counts per GPU",
        )


PAIR = "verl 0.5.0 to 0.9.1, `check_mutually_exclusive`, "


def one_of(o: Operands, what: str, newer: str) -> Iterator[Finding]:
    """Exactly one of the old key, which counts over all GPUs, and the new one may be set.

    Only a launch that gives other batch sizes is taken to forget this one: a shorter one is a part of something else.
    """
    if o.dynamic:
        return
    if o.total is not None and o.each is not None:
        yield o.fault(
            "total",
            f"{o('total')} and {o('each')} are both set for {what}, and verl takes one of them",
            "each",
            label="counts over all GPUs",
            help=f"remove it, and keep {newer}",
        )
    elif o.total is None and o.each is None and not o["each"].unset and option(o.run, "verl", MINI).explicit:
        yield o.fault(
            "each",
            f"nothing sets {newer}, which has no default: without use_dynamic_bsz verl refuses to start",
            "dynamic",
            help=f"set {newer}, or actor_rollout_ref.actor.use_dynamic_bsz=True",
        )


@relation(
    "INV104", "actor-micro-batch-unclear", "verl",
    total=value(MICRO), each=value(PER_GPU), dynamic=flag(DYNAMIC),
    when=validated,
    since="0.2",
    topics=("batch",),
    bad=f"{MICRO}=32 {PER_GPU}=4 {ROLLOUT}.log_prob_micro_batch_size_per_gpu=4",
    good=f"{PER_GPU}=4 {ROLLOUT}.log_prob_micro_batch_size_per_gpu=4",
    target="verl=0.7.1",
    unless="With `use_dynamic_bsz` micro-batches are made by their tokens, and neither is needed.",
    source=PAIR + "`trainer/ppo/ray_trainer.py`, `utils/config.py`; `workers/config/actor.py`: `__post_init__`.",
)  # fmt: skip
def actor_micro(o: Operands) -> Iterator[Finding]:
    """verl's actor takes its micro-batch over all GPUs or per GPU, and needs exactly one of them."""
    yield from one_of(o, "the actor", PER_GPU)


@relation(
    "INV105", "rollout-micro-batch-unclear", "verl",
    total=value(f"{ROLLOUT}.log_prob_micro_batch_size"),
    each=value(f"{ROLLOUT}.log_prob_micro_batch_size_per_gpu"),
    dynamic=flag(DYNAMIC),
    when=validated,
    since="0.2",
    topics=("batch",),
    bad=f"{PER_GPU}=4 {ROLLOUT}.log_prob_micro_batch_size=32 {ROLLOUT}.log_prob_micro_batch_size_per_gpu=4",
    good=f"{PER_GPU}=4 {ROLLOUT}.log_prob_micro_batch_size_per_gpu=4",
    target="verl=0.7.1",
    unless="With `actor.use_dynamic_bsz` micro-batches are made by their tokens, and neither is needed.",
    source=PAIR + "for `actor_rollout_ref.rollout`.",
)  # fmt: skip
def rollout_micro(o: Operands) -> Iterator[Finding]:
    """verl recomputes the rollout's log-probabilities in micro-batches, sized over all GPUs or per GPU."""
    yield from one_of(o, "the rollout's log-probabilities", f"{ROLLOUT}.log_prob_micro_batch_size_per_gpu")


@relation(
    "INV106", "reference-micro-batch-unclear", "verl",
    total=value(f"{REF}.log_prob_micro_batch_size"),
    each=value(f"{REF}.log_prob_micro_batch_size_per_gpu"),
    dynamic=flag(DYNAMIC), loss=flag(f"{ACTOR}.use_kl_loss"), reward=flag("algorithm.use_kl_in_reward"),
    when=validated,
    since="0.2",
    topics=("batch", "kl"),
    bad=f"{ACTOR}.use_kl_loss=True {MINI}=64 {PER_GPU}=4 {ROLLOUT}.log_prob_micro_batch_size_per_gpu=4",
    good=f"{ACTOR}.use_kl_loss=True {MINI}=64 {PER_GPU}=4 {ROLLOUT}.log_prob_micro_batch_size_per_gpu=4"
    f" {REF}.log_prob_micro_batch_size_per_gpu=4",
    target="verl=0.7.1",
    unless="Without a KL term there is no reference policy, and with `actor.use_dynamic_bsz` neither is needed.",
    source=PAIR + "for `actor_rollout_ref.ref`; `trainer/ppo/utils.py`: `need_reference_policy`.",
)  # fmt: skip
def reference_micro(o: Operands) -> Iterator[Finding]:
    """A KL term needs a reference policy, and that needs a micro-batch for its log-probabilities."""
    if o.loss or o.reward:
        yield from one_of(o, "the reference", f"{REF}.log_prob_micro_batch_size_per_gpu")


@relation(
    "INV109", "batch-does-not-divide-by-gpus", "verl",
    batch=number(BATCH), n=number(f"{ROLLOUT}.n"), gpus=number(GPUS), nodes=number(NODES), dynamic=flag(DYNAMIC),
    when=lambda run: fsdp(run) and validated(run),
    since="0.2",
    topics=("batch", "parallel"),
    bad=f"{BATCH}=60 {ROLLOUT}.n=5 {GPUS}=8 {MINI}=48 {PER_GPU}=5 {ROLLOUT}.log_prob_micro_batch_size_per_gpu=5",
    good=f"{BATCH}=64 {ROLLOUT}.n=5 {GPUS}=8 {MINI}=48 {PER_GPU}=5 {ROLLOUT}.log_prob_micro_batch_size_per_gpu=5",
    unless="From 0.6.0 on, `use_dynamic_bsz` switches the comparison off.",
    source="verl 0.6.0 to 0.9.1, `utils/config.py`: `validate_config`; 0.5.0, `trainer/ppo/ray_trainer.py`.",
)  # fmt: skip
def batch_over_gpus(o: Operands) -> Iterator[Finding]:
    """A batch's responses are dealt out to all GPUs in equal shares."""
    total, world = o.batch * o.n, o.gpus * o.nodes
    if world > 0 and total % world and not o.dynamic:
        from math import gcd

        step = world // gcd(o.n, world) if type(total) is type(world) is int and total > 0 else 0
        yield o.fault(
            "batch",
            f"{o('batch')} x {o('n')} = {total} responses are not a multiple of {world} GPUs, which verl refuses",
            "n",
            "gpus",
            "nodes",
            label="can't be dealt out evenly",
            help=f"set {BATCH} to {(o.batch // step + 1) * step}, the next that fits" if step else "",
        )


@relation(
    "INV110", "mini-batch-does-not-divide-by-ranks", "verl",
    mini=number(MINI), n=number(f"{ROLLOUT}.n"), ranks=field("dp_size"), gpus=number(GPUS), nodes=number(NODES),
    when=lambda run: fsdp(run) or megatron(run),
    since="0.3.0",
    topics=("batch", "parallel"),
    bad=f"{BATCH}=40 {MINI}=10 {ROLLOUT}.n=4 {GPUS}=16 {DYNAMIC}=True",
    good=f"{BATCH}=40 {MINI}=20 {ROLLOUT}.n=4 {GPUS}=16 {DYNAMIC}=True",
    target="verl=0.9.1",
    source="verl 0.8.0 to 0.9.1, `workers/engine_workers.py`: `train_mini_batch` asserts it, for every engine. "
    "0.5.0 to 0.7.1, `workers/fsdp_workers.py`, `megatron_workers.py`: a division that drops the rest, and for FSDP an "
    "assertion that something is left.",
)  # fmt: skip
def mini_over_ranks(o: Operands) -> Iterator[Finding]:
    """Each data-parallel rank trains on an equal share of a mini-batch's responses.

    A mini-batch is `ppo_mini_batch_size` prompts of `rollout.n` responses. From verl 0.8.0 on the run fails at its
    first update where the ranks can't share them evenly; before, the rest was dropped from the size of the share, and
    a mini-batch smaller than the number of ranks came to nothing.
    """
    total = o.mini * o.n
    if o.ranks <= 0 or not total % o.ranks:
        return
    old = o.run.before("verl", "0.8.0") is not False
    yield o.fault(
        "mini",
        f"{o('mini')} x {o('n')} = {total} responses are not a multiple of {o.ranks} data-parallel ranks: "
        + ("the update fails" if total < o.ranks or not old else "the update fails from verl 0.8.0 on"),
        "n",
        "gpus",
        "nodes",
        help=f"make ppo_mini_batch_size x n {_multiples(total, o.ranks)}",
        severity=ERROR if total < o.ranks or not old else WARNING,
    )


@relation(
    "INV111", "micro-batch-does-not-divide-share", "verl",
    each=number(PER_GPU), mini=number(MINI), n=number(f"{ROLLOUT}.n"), ranks=field("dp_size"), dynamic=flag(DYNAMIC),
    nodes=number(NODES),
    when=fsdp,
    since="0.3.0",
    topics=("batch", "parallel"),
    bad=f"{BATCH}=64 {MINI}=32 {ROLLOUT}.n=4 {GPUS}=8 {PER_GPU}=6 {ROLLOUT}.log_prob_micro_batch_size_per_gpu=8",
    good=f"{BATCH}=64 {MINI}=32 {ROLLOUT}.n=4 {GPUS}=8 {PER_GPU}=8 {ROLLOUT}.log_prob_micro_batch_size_per_gpu=8",
    source="verl 0.5.0 to 0.7.1, `workers/fsdp_workers.py`: \"normalized ppo_mini_batch_size ... should be divisible "
    'by ppo_micro_batch_size_per_gpu"; 0.8.0 to 0.9.1, `workers/engine/utils.py`: `prepare_micro_batches`.',
)  # fmt: skip
def micro_over_share(o: Operands) -> Iterator[Finding]:
    """A rank's share of a mini-batch is worked through in micro-batches of equal size.

    The share is `ppo_mini_batch_size` x `rollout.n` responses over the data-parallel ranks.
    """
    if o.dynamic or o.ranks <= 0 or o.each <= 0 or o.mini * o.n % o.ranks:
        return
    share = o.mini * o.n // o.ranks
    if share % o.each:
        yield o.fault(
            "each",
            f"{o('each')} does not divide {share}, a rank's share of {o.mini} x {o.n} responses over {o.ranks} ranks:"
            " the run fails",
            "mini",
            "n",
            help=f"set it to a divisor of {share}",
        )


@relation(
    "INV112", "dynamic-batch-on-one-side", "verl",
    dynamic=value(DYNAMIC), other=value(f"{ROLLOUT}.log_prob_use_dynamic_bsz"),
    since="0.8.0",
    topics=("batch",),
    bad=f"{DYNAMIC}=True {ROLLOUT}.log_prob_use_dynamic_bsz=False",
    good=f"{DYNAMIC}=True {ROLLOUT}.log_prob_use_dynamic_bsz=True",
    target="verl=0.9.1",
    unless="`log_prob_use_dynamic_bsz` follows `actor.use_dynamic_bsz` by default. Before 0.8.0 they may differ.",
    source="verl 0.8.0 to 0.9.1, `workers/engine_workers.py`: `init_model` (0.7.1 too, with the new workers).",
)  # fmt: skip
def dynamic_alike(o: Operands) -> Iterator[Finding]:
    """Training and log-probabilities share one engine, so both make their micro-batches in the same way."""
    if isinstance(o.dynamic, bool) and isinstance(o.other, bool) and o.dynamic != o.other:
        yield o.fault(
            "other",
            f"{o('other')} but actor.{o('dynamic')}: verl asserts that they agree",
            "dynamic",
            help=f"set both alike, or remove {ROLLOUT}.log_prob_use_dynamic_bsz, which follows the other",
        )


@relation(
    "INV113", "micro-batch-only-by-its-old-key", "verl",
    total=number(MICRO), each=value(PER_GPU), dynamic=flag(DYNAMIC),
    since="0.8.0",
    topics=("batch",),
    bad=f"{BATCH}=64 {MINI}=64 {MICRO}=32 {ROLLOUT}.log_prob_micro_batch_size_per_gpu=4",
    good=f"{BATCH}=64 {MINI}=64 {PER_GPU}=4 {ROLLOUT}.log_prob_micro_batch_size_per_gpu=4",
    target="verl=0.9.1",
    unless="Before 0.8.0 the old key is divided by the number of GPUs.",
    source="verl 0.8.0 to 0.9.1, `workers/engine_workers.py`: `init_model` asserts `ppo_micro_batch_size_per_gpu`.",
)  # fmt: skip
def old_key_alone(o: Operands) -> Iterator[Finding]:
    """verl's engine workers read the micro-batch per GPU alone.

    The older key still passes the check of the config, and then the workers fail.
    """
    if o.each is None and not o.dynamic:
        yield o.fault(
            "total",
            f"{o('total')} is given without ppo_micro_batch_size_per_gpu, the only one that verl's workers read: they"
            " fail to start",
            help=f"set {PER_GPU} instead",
            severity=ERROR if o.run.before("verl", "0.8.0") is False else NOTE,
        )


RULES: tuple[Rule, ...] = tuple(relations(globals()))
