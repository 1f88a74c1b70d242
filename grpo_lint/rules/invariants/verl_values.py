"""INV152 to INV159: words of verl's options that its config classes check, and switches that go with them."""

from __future__ import annotations

from grpo_lint.diagnostics import NOTE, WARNING
from grpo_lint.frameworks.verl import ACTOR, MEGATRON, ROLLOUT
from grpo_lint.rules.avoidance.verl_run import fsdp, megatron
from grpo_lint.rules.invariants.relation import Operands, flag, number, relation, relations, value
from grpo_lint.rules.invariants.verl_batches import BATCH, DYNAMIC, ENGINE, MINI, SEPARATE, TP
from grpo_lint.rules.invariants.verl_engines import separate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule

OPTIM = f"{ACTOR}.optim"
REPLAY = "router_replay.mode"
RECORDED = f"{ROLLOUT}.enable_rollout_routing_replay=True"
ASYNC = f"trainer.v1.trainer_mode=separate_async {BATCH}=128 {MINI}=32 {SEPARATE}.parameter_sync_step=4 {DYNAMIC}=True"


@relation(
    "INV152", "learning-rate-schedule", "verl",
    kind=value(f"{OPTIM}.lr_scheduler_type"), old=value(f"{OPTIM}.warmup_style"),
    when=fsdp, since="0.4.0",
    mentions=("lr_scheduler_type", "warmup_style"),
    topics=("optimizer",),
    bad=f"{OPTIM}.lr_scheduler_type=linear",
    good=f"{OPTIM}.lr_scheduler_type=cosine",
    target="verl=0.9.1",
    unless="Megatron's engine has other schedules.",
    source="verl 0.4.0, 0.5.0, `workers/fsdp_workers.py`: NotImplementedError; 0.6.0 to 0.9.1, "
    "`workers/config/optimizer.py`: `FSDPOptimizerConfig.__post_init__`.",
)  # fmt: skip
def schedule(o: Operands) -> Iterator[Finding]:
    """verl's FSDP engines have two schedules of the learning rate, constant and cosine."""
    for name in ("kind", "old"):
        word = getattr(o, name)
        if isinstance(word, str) and word not in ("constant", "cosine") and o[name].explicit:
            yield o.fault(
                name,
                f"{o(name)} is not one of constant and cosine, which are all that verl's FSDP engines have",
                help="set it to constant or cosine, with lr_warmup_steps or lr_warmup_steps_ratio for the start",
            )
            return


@relation(
    "INV153", "optimizer-state-dtype", "verl",
    grads=value(f"{OPTIM}.main_grads_dtype"), first=value(f"{OPTIM}.exp_avg_dtype"),
    second=value(f"{OPTIM}.exp_avg_sq_dtype"), aware=flag(f"{OPTIM}.use_precision_aware_optimizer"),
    when=megatron, since="0.9.0",
    mentions=("main_grads_dtype", "exp_avg"),
    topics=("precision", "optimizer"),
    bad=f"model_engine=megatron {OPTIM}.use_precision_aware_optimizer=True {OPTIM}.exp_avg_dtype=fp16",
    good=f"model_engine=megatron {OPTIM}.use_precision_aware_optimizer=True {OPTIM}.exp_avg_dtype=bf16",
    target="verl=0.9.1",
    source="verl 0.9.0, 0.9.1, `workers/config/optimizer.py`: `McoreOptimizerConfig.__post_init__`; 0.9.1, "
    "`utils/megatron/optimizer.py`, hands the types on under `use_precision_aware_optimizer` alone.",
)  # fmt: skip
def state_dtypes(o: Operands) -> Iterator[Finding]:
    """The state of Megatron's optimizer is kept in fp32 or bf16, and in bf16 only by the precision-aware one."""
    for name in ("grads", "first", "second"):
        word = getattr(o, name)
        if word is None or not o[name].explicit:
            continue
        if str(word) not in ("fp32", "float32", "32", "bf16", "bfloat16"):
            yield o.fault(name, f"{o(name)} is neither fp32 nor bf16, which verl asserts", help="set it to bf16")
        elif str(word) in ("bf16", "bfloat16") and not o.aware:
            yield o.fault(
                name,
                f"{o(name)} has no effect: use_precision_aware_optimizer is off, and the state stays fp32",
                "aware",
                help=f"set {OPTIM}.use_precision_aware_optimizer=True, or remove it",
                severity=WARNING,
            )


@relation(
    "INV154", "router-replay-mode", "verl",
    mode=value(f"{MEGATRON}.{REPLAY}", f"{ACTOR}.{REPLAY}", f"{ACTOR}.fsdp_config.{REPLAY}"),
    since="0.7.0",
    mentions=("router_replay.mode",),
    topics=("moe", "rollout"),
    bad=f"model_engine=megatron {MEGATRON}.{REPLAY}=r3 {RECORDED}",
    good=f"model_engine=megatron {MEGATRON}.{REPLAY}=R3 {RECORDED}",
    target="verl=0.9.1",
    source="verl 0.7.1 to 0.9.1, `workers/config/engine.py`: `EngineRouterReplayConfig`; 0.7.0, "
    "`workers/config/actor.py`: `RouterReplayConfig`. With `bypass_mode`, see DO03.",
)  # fmt: skip
def replay(o: Operands) -> Iterator[Finding]:
    """Expert choices are replayed from the trainer's own forward pass (R2) or from the rollout (R3), or not at all.

    The words are capital: `r3` is refused when the workers are built.
    """
    if isinstance(o.mode, str) and o["mode"].explicit and o.mode not in ("disabled", "R2", "R3"):
        yield o.fault("mode", f"router_replay.{o('mode')} is not one of disabled, R2, R3, and verl refuses it")


@relation(
    "INV156", "router-replay-on-padded-inputs", "verl",
    mode=value(f"{ACTOR}.veomni.{REPLAY}"), packed=flag(f"{ACTOR}.use_remove_padding"),
    strategy=value(f"{ACTOR}.strategy"),
    since="0.8.0",
    mentions=("veomni",),
    topics=("moe",),
    bad=f"model_engine=veomni {ACTOR}.veomni.{REPLAY}=R3 {ACTOR}.use_remove_padding=False {RECORDED}",
    good=f"model_engine=veomni {ACTOR}.veomni.{REPLAY}=R3 {ACTOR}.use_remove_padding=True {RECORDED}",
    target="verl=0.9.1",
    source="verl 0.8.0 to 0.9.1, `workers/config/actor.py`: `VeOmniActorConfig.__post_init__` raises RuntimeError.",
)  # fmt: skip
def padded_replay(o: Operands) -> Iterator[Finding]:
    """VeOmni replays expert choices on packed inputs alone."""
    if o.strategy == "veomni" and o.mode in ("R2", "R3") and not o.packed:
        yield o.fault(
            "mode",
            f"veomni.router_replay.{o('mode')} with actor.{o('packed')}, which verl refuses",
            "packed",
            help=f"set {ACTOR}.use_remove_padding=True",
        )


HYBRID = f"{SEPARATE}.hybrid_rollout"


@relation(
    "INV158", "switching-hybrid-rollout", "verl",
    on=flag(f"{HYBRID}.enable_switch"), ratio=value(f"{HYBRID}.switch_threshold_ratio"),
    hybrid=value("actor_rollout_ref.hybrid_engine"), split=flag(f"{ROLLOUT}.disaggregation.enabled"),
    when=separate, since="0.9.1",
    mentions=("hybrid_rollout",),
    topics=("rollout",),
    bad=f"{ASYNC} {ROLLOUT}.nnodes=1 {ROLLOUT}.checkpoint_engine.backend=nccl {ENGINE}=vllm"
    f" {HYBRID}.enable_switch=True {ROLLOUT}.disaggregation.enabled=True",
    good=f"{ASYNC} {ROLLOUT}.nnodes=1 {ROLLOUT}.checkpoint_engine.backend=nccl {ENGINE}=vllm"
    f" {HYBRID}.enable_switch=True",
    target="verl=0.9.1",
    source="verl 0.9.1, `trainer/ppo/v1/trainer_separate_async.py`; `trainer/config/config.py`: "
    "`HybridRolloutSwitchConfig`.",
)  # fmt: skip
def switching(o: Operands) -> Iterator[Finding]:
    """Trainer GPUs are lent to the rollout where both share an engine that isn't split into prefill and decode."""
    if type(o.ratio) in (int, float) and not 0 < o.ratio <= 1:
        yield o.fault("ratio", f"{o('ratio')} lies outside (0, 1], which verl refuses")
    if o.on and o.hybrid is False:
        yield o.fault(
            "on",
            "hybrid_rollout.enable_switch has no effect with hybrid_engine false: verl turns it off",
            "hybrid",
            severity=NOTE,
        )
    elif o.on and o.split:
        yield o.fault("on", "hybrid_rollout.enable_switch with disaggregation.enabled, which verl refuses", "split")


MOE_TP = f"{ROLLOUT}.moe_tensor_parallel_size"


@relation(
    "INV159", "moe-tensor-parallel-rollout", "verl",
    moe=number(MOE_TP), ep=value(f"{ROLLOUT}.expert_parallel_size"), tp=number(TP), engine=value(ENGINE),
    since="0.7.1",
    mentions=("moe_tensor_parallel",),
    topics=("parallel", "moe", "rollout"),
    bad=f"{ENGINE}=vllm +{MOE_TP}=2 {TP}=4",
    good=f"{ENGINE}=trtllm +{MOE_TP}=2 {TP}=4",
    target="verl=0.9.1",
    source="verl 0.7.1 to 0.9.1, `workers/config/rollout.py`: `__post_init__`.",
)  # fmt: skip
def moe_tensor(o: Operands) -> Iterator[Finding]:
    """TensorRT-LLM alone splits experts by tensors, and there both splits make up the tensor-parallel size."""
    if o.moe <= 1:
        return
    if o.engine not in ("trtllm", None):
        yield o.fault(
            "moe", f"{o('moe')} with rollout.name {o.engine}, which verl asserts to be trtllm", "engine",
            help=f"remove it, or use {ROLLOUT}.expert_parallel_size",
        )  # fmt: skip
    elif o.engine == "trtllm" and type(o.ep) is int and o.ep > 1 and o.moe * o.ep != o.tp:
        yield o.fault("moe", f"{o('moe')} x {o('ep')} is not {o('tp')}, which verl asserts", "ep", "tp")


RULES: tuple[Rule, ...] = tuple(relations(globals()))
