"""INV120 to INV149: parallel sizes, lengths and engines of verl."""

from __future__ import annotations

from grpo_lint.diagnostics import ERROR, NOTE
from grpo_lint.frameworks.verl import ACTOR, FSDP, MEGATRON, ROLLOUT
from grpo_lint.rules.avoidance.verl_run import fsdp, megatron
from grpo_lint.rules.invariants.relation import (
    Operands,
    flag,
    number,
    relation,
    relations,
    value,
)
from grpo_lint.rules.invariants.verl_batches import BATCH, DP, DYNAMIC, ENGINE, GPUS, MINI, NODES, SEPARATE, TP

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule
    from grpo_lint.runconfig import RunConfig

SP = f"{ACTOR}.ulysses_sequence_parallel_size"


def separate(run: RunConfig) -> bool:
    """Whether verl's v1 trainer keeps rollout and training on GPUs of their own."""
    mode = run.option("verl", "trainer.v1.trainer_mode")
    return mode.explicit and mode.value == "separate_async"


@relation(
    "INV120", "megatron-shape-does-not-fit-gpus", "verl",
    tp=number(f"{MEGATRON}.tensor_model_parallel_size"), pp=number(f"{MEGATRON}.pipeline_model_parallel_size"),
    cp=value(f"{MEGATRON}.context_parallel_size"), gpus=number(GPUS), nodes=number(NODES),
    when=megatron, since="0.2",
    topics=("parallel",),
    mentions=("megatron",),
    bad=f"model_engine=megatron {GPUS}=8 {MEGATRON}.tensor_model_parallel_size=4"
    f" {MEGATRON}.pipeline_model_parallel_size=3",
    good=f"model_engine=megatron {GPUS}=8 {MEGATRON}.tensor_model_parallel_size=4"
    f" {MEGATRON}.pipeline_model_parallel_size=2",
    target="verl=0.9.1",
    source="verl 0.6.0 to 0.9.1, `utils/config.py`: `validate_config`; Megatron's `parallel_state.py`: "
    "`initialize_model_parallel` asserts the same, with dynamic batches too.",
)  # fmt: skip
def megatron_shape(o: Operands) -> Iterator[Finding]:
    """Tensor, pipeline and context parallelism divide the trainer's GPUs among themselves."""
    cp = o.cp if type(o.cp) is int else 1
    world, size = o.gpus * o.nodes, o.tp * o.pp * cp
    if size > 0 and world % size:
        yield o.fault(
            "tp",
            f"{world} GPUs ({o.gpus} x {o.nodes}) are not a multiple of tensor {o.tp} x pipeline {o.pp} x context {cp}"
            f" = {size} parallel ranks: Megatron can't start",
            "pp",
            "gpus",
            "nodes",
            help=f"choose sizes whose product divides {world}",
        )


@relation(
    "INV122", "sequence-parallel-without-packing", "verl",
    sp=number(SP, f"{FSDP}.ulysses_sequence_parallel_size"), packed=value("actor_rollout_ref.model.use_remove_padding"),
    when=fsdp, since="0.2",
    topics=("parallel",),
    mentions=("ulysses",),
    bad=f"{SP}=2 {GPUS}=8 actor_rollout_ref.model.use_remove_padding=False",
    good=f"{SP}=2 {GPUS}=8 actor_rollout_ref.model.use_remove_padding=True",
    source="verl 0.2 to 0.5.0, `trainer/ppo/ray_trainer.py`; 0.6.0 to 0.9.1, `workers/config/actor.py`: "
    "`FSDPActorConfig.validate`. `use_remove_padding`: default false before 0.6.0.",
)  # fmt: skip
def packed_sequences(o: Operands) -> Iterator[Finding]:
    """Ulysses sequence parallelism splits packed sequences, so the inputs have to be packed."""
    if o.sp > 1 and o.packed is False:
        yield o.fault(
            "sp",
            f"{o('sp')} but {o('packed')}: sequence parallelism needs packed inputs, and verl refuses to start",
            "packed",
            help="set actor_rollout_ref.model.use_remove_padding=True",
        )


@relation(
    "INV123", "rollout-mode-sync", "verl",
    mode=value(f"{ROLLOUT}.mode"),
    since="0.7.0",
    topics=("rollout",),
    mentions=("rollout.mode",),
    bad=f"{ROLLOUT}.mode=sync",
    good=f"{ROLLOUT}.mode=async",
    target="verl=0.9.1",
    unless="Up to 0.6.1 `sync` was the default.",
    source="verl 0.7.0 to 0.9.1, `workers/config/rollout.py`: `__post_init__` raises ValueError.",
)  # fmt: skip
def sync_mode(o: Operands) -> Iterator[Finding]:
    """verl 0.7.0 removed the synchronous rollout."""
    if o.mode == "sync" and o["mode"].explicit:
        known = o.run.before("verl", "0.7.0") is False  # where no release is told, it may well be an older one
        yield o.fault(
            "mode",
            "rollout.mode sync was removed: verl refuses to start",
            severity=ERROR if known else NOTE,
            help=f"remove it, or set {ROLLOUT}.mode=async",
        )


@relation(
    "INV124", "rollout-expert-parallel-size", "verl",
    ep=number(f"{ROLLOUT}.expert_parallel_size"), tp=number(TP), dp=number(DP), engine=value(ENGINE),
    since="0.6.0",
    topics=("parallel", "moe"),
    mentions=("expert_parallel_size",),
    bad=f"{ENGINE}=vllm {ROLLOUT}.expert_parallel_size=4 {TP}=8 {DP}=1",
    good=f"{ENGINE}=vllm {ROLLOUT}.expert_parallel_size=8 {TP}=8 {DP}=1",
    unless="TensorRT-LLM has a rule of its own.",
    source="verl 0.6.0 to 0.9.1, `workers/config/rollout.py`: `__post_init__`.",
)  # fmt: skip
def rollout_experts(o: Operands) -> Iterator[Finding]:
    """The rollout engine spreads experts over all of its ranks, or over none."""
    if o.engine != "trtllm" and o.ep > 1 and o.ep != o.tp * o.dp:
        yield o.fault(
            "ep",
            f"rollout {o('ep')} is not tensor_model_parallel_size x data_parallel_size = {o.tp} x {o.dp} ="
            f" {o.tp * o.dp}, which verl asserts",
            "tp",
            "dp",
            help=f"set it to {o.tp * o.dp}, or to 1",
        )


@relation(
    "INV125", "rollout-pipeline", "verl",
    pp=number(f"{ROLLOUT}.pipeline_model_parallel_size"), engine=value(ENGINE),
    since="0.6.0",
    topics=("parallel", "rollout"),
    mentions=("rollout.pipeline_model_parallel_size",),
    bad=f"{ENGINE}=vllm {ROLLOUT}.pipeline_model_parallel_size=2 {TP}=4",
    good=f"{ENGINE}=vllm {ROLLOUT}.pipeline_model_parallel_size=1 {TP}=8",
    source="verl 0.6.0 to 0.9.1, `workers/config/rollout.py`: `__post_init__` raises NotImplementedError.",
)  # fmt: skip
def rollout_pipeline(o: Operands) -> Iterator[Finding]:
    """verl's rollout engines run without pipeline parallelism."""
    if o.pp > 1 and o.engine in ("vllm", "sglang", "trtllm"):
        yield o.fault(
            "pp",
            f"rollout {o('pp')} is not implemented for {o.engine}: verl refuses to start",
            "engine",
            help=f"set it to 1, and raise {TP}",
        )


@relation(
    "INV126", "validation-samples-at-temperature-0", "verl",
    sample=flag(f"{ROLLOUT}.val_kwargs.do_sample"), temperature=number(f"{ROLLOUT}.temperature"),
    since="0.3.0",
    topics=("sampling",),
    mentions=("rollout.temperature",),
    bad=f"{ROLLOUT}.val_kwargs.do_sample=True {ROLLOUT}.temperature=0",
    good=f"{ROLLOUT}.val_kwargs.do_sample=True {ROLLOUT}.temperature=1.0",
    source="verl 0.3.0 to 0.9.1, `validate_config`.",
)  # fmt: skip
def validation_sampling(o: Operands) -> Iterator[Finding]:
    """Sampling needs a temperature above 0, and verl compares validation's sampling with the rollout's temperature."""
    if o.sample and o.temperature <= 0:
        yield o.fault(
            "temperature",
            f"rollout.{o('temperature')} with val_kwargs.do_sample true: verl asserts a temperature above 0",
            "sample",
            help=f"set {ROLLOUT}.temperature above 0; a group sampled at 0 is one response many times",
        )


@relation(
    "INV128", "megatron-dtype", "verl",
    dtype=value(f"{MEGATRON}.dtype"),
    when=megatron, since="0.7.0",
    topics=("precision",),
    mentions=("megatron.dtype",),
    bad=f"model_engine=megatron {MEGATRON}.dtype=float32",
    good=f"model_engine=megatron {MEGATRON}.dtype=bfloat16",
    target="verl=0.9.1",
    source="verl 0.7.0 to 0.9.1, `workers/config/engine.py`: `McoreEngineConfig.__post_init__`.",
)  # fmt: skip
def megatron_dtype(o: Operands) -> Iterator[Finding]:
    """verl's Megatron engine computes in bfloat16 or float16."""
    if isinstance(o.dtype, str) and o.dtype not in ("bfloat16", "float16"):
        yield o.fault(
            "dtype",
            f"megatron.dtype {o.dtype} is not supported: verl takes bfloat16 and float16",
            help=f"set {MEGATRON}.dtype=bfloat16",
        )


@relation(
    "INV129", "sequence-parallel-at-tensor-size-1", "verl",
    on=flag(f"{MEGATRON}.sequence_parallel"), tp=number(f"{MEGATRON}.tensor_model_parallel_size"),
    when=megatron, severity=NOTE, since="0.5.0",
    topics=("parallel",),
    mentions=("megatron.sequence_parallel",),
    bad=f"model_engine=megatron {MEGATRON}.sequence_parallel=True {MEGATRON}.tensor_model_parallel_size=1",
    good=f"model_engine=megatron {MEGATRON}.sequence_parallel=True {MEGATRON}.tensor_model_parallel_size=2",
    target="verl=0.9.1",
    unless="By default it is on, and silently off at size 1: only a written one is noted.",
    source="verl 0.6.0 to 0.9.1, `workers/config/engine.py`: a warning, and it is set to false.",
)  # fmt: skip
def megatron_sequence(o: Operands) -> Iterator[Finding]:
    """Megatron's sequence parallelism splits along tensor-parallel ranks, so there have to be some."""
    if o.on and o["on"].explicit and o.tp == 1:
        yield o.fault(
            "on",
            f"megatron.sequence_parallel has no effect: {o('tp')}, and verl turns it off",
            "tp",
            help="remove it, or raise the tensor-parallel size",
        )


@relation(
    "INV130", "no-clip-value", "verl",
    clip=value(f"{ACTOR}.optim.clip_grad"),
    when=fsdp, since="0.8.0",
    topics=("clipping",),
    mentions=("clip_grad",),
    bad=f"{ACTOR}.optim.clip_grad=null",
    good=f"{ACTOR}.optim.clip_grad=1.0",
    target="verl=0.9.1",
    source="verl 0.8.0 to 0.9.1, `workers/engine/fsdp/transformer_impl.py`: `optimizer_step` asserts it.",
)  # fmt: skip
def clip_value(o: Operands) -> Iterator[Finding]:
    """verl's FSDP engine clips at every step, so it needs a number to clip at."""
    if o.clip is None and o["clip"].explicit:
        yield o.fault(
            "clip",
            "optim.clip_grad is null: the first optimizer step asserts a number",
            help="set a large number where nothing should be clipped",
        )


@relation(
    "INV131", "reward-pool-is-empty", "verl",
    pool=flag("reward.reward_model.enable_resource_pool"), gpus=number("reward.reward_model.n_gpus_per_node"),
    nodes=number("reward.reward_model.nnodes"),
    since="0.8.0",
    topics=("reward", "parallel"),
    mentions=("enable_resource_pool",),
    bad="reward.reward_model.enable=True reward.reward_model.enable_resource_pool=True",
    good="reward.reward_model.enable=True reward.reward_model.enable_resource_pool=True"
    " reward.reward_model.nnodes=1",
    target="verl=0.9.1",
    source="verl 0.9.1, `trainer/ppo/v1/trainer_base.py`; `reward/reward.yaml`: `nnodes` is 0 by default.",
)  # fmt: skip
def reward_pool(o: Operands) -> Iterator[Finding]:
    """A reward model with a pool of its own needs GPUs in it, and the pool has no node by default."""
    if o.pool and (o.gpus <= 0 or o.nodes <= 0):
        empty = "nodes" if o.nodes <= 0 else "gpus"
        yield o.fault(
            "pool",
            f"enable_resource_pool is true, but reward_model.{o(empty)}: the pool is empty, and verl refuses it",
            empty,
            help=f"set {o[empty].key or 'reward.reward_model.nnodes'} to 1 or more",
        )


@relation(
    "INV132", "async-batch-is-not-its-steps", "verl",
    batch=number(BATCH), step=number(f"{SEPARATE}.parameter_sync_step"), mini=number(MINI),
    when=separate, since="0.9.0",
    topics=("batch", "rollout"),
    mentions=("trainer_mode",),
    bad=f"trainer.v1.trainer_mode=separate_async {ROLLOUT}.nnodes=1 {ROLLOUT}.checkpoint_engine.backend=nccl"
    f" {BATCH}=256 {MINI}=32 {SEPARATE}.parameter_sync_step=4 {DYNAMIC}=True",
    good=f"trainer.v1.trainer_mode=separate_async {ROLLOUT}.nnodes=1 {ROLLOUT}.checkpoint_engine.backend=nccl"
    f" {BATCH}=128 {MINI}=32 {SEPARATE}.parameter_sync_step=4 {DYNAMIC}=True",
    target="verl=0.9.1",
    source="verl 0.9.0, 0.9.1, `trainer/ppo/v1/trainer_separate_async.py`: the first assertion of `__init__`.",
)  # fmt: skip
def async_batch(o: Operands) -> Iterator[Finding]:
    """With a separate rollout, a batch is the mini-batches between two weight updates, no more and no less."""
    written = any(o[name].explicit for name in ("batch", "step", "mini"))  # a shorter launch is a part of something
    if written and o.batch != o.step * o.mini:
        yield o.fault(
            "batch",
            f"{o('batch')} is not {o('step')} x {o('mini')} = {o.step * o.mini}, which separate_async asserts",
            "step",
            "mini",
            help=f"set {BATCH} to {o.step * o.mini}",
        )


@relation(
    "INV133", "separate-rollout-has-no-gpus", "verl",
    nodes=number(f"{ROLLOUT}.nnodes"), gpus=number(f"{ROLLOUT}.n_gpus_per_node"), mode=value("trainer.v1.trainer_mode"),
    when=separate, since="0.9.0",
    topics=("parallel", "rollout"),
    mentions=("trainer_mode",),
    bad=f"trainer.v1.trainer_mode=separate_async {ROLLOUT}.checkpoint_engine.backend=nccl {BATCH}=128 {MINI}=32"
    f" {SEPARATE}.parameter_sync_step=4 {DYNAMIC}=True",
    good=f"trainer.v1.trainer_mode=separate_async {ROLLOUT}.checkpoint_engine.backend=nccl {BATCH}=128 {MINI}=32"
    f" {SEPARATE}.parameter_sync_step=4 {DYNAMIC}=True {ROLLOUT}.nnodes=1",
    target="verl=0.9.1",
    source="verl 0.9.0, 0.9.1, `trainer/ppo/v1/trainer_separate_async.py`; `rollout.nnodes`: default 0.",
)  # fmt: skip
def separate_pool(o: Operands) -> Iterator[Finding]:
    """A rollout on GPUs of its own needs some, and has none by default."""
    if o.nodes <= 0 or o.gpus <= 0:
        empty = "nodes" if o.nodes <= 0 else "gpus"
        yield o.fault(
            "mode",
            f"trainer_mode separate_async, but rollout.{o(empty)}: the rollout has no GPUs, which verl asserts",
            empty,
            help=f"set {ROLLOUT}.nnodes and {ROLLOUT}.n_gpus_per_node",
        )


RULES: tuple[Rule, ...] = tuple(relations(globals()))
