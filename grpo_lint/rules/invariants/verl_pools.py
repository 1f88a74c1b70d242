"""INV160 to INV174: verl's pools of GPUs beside the trainer's, its other engines, and what they can't do."""

from __future__ import annotations

from grpo_lint.diagnostics import ERROR, WARNING
from grpo_lint.frameworks.verl import MEGATRON, MODEL, ROLLOUT
from grpo_lint.rules.avoidance.verl_run import adapters, fsdp, megatron, positive
from grpo_lint.rules.invariants.relation import (
    Operands,
    before,
    flag,
    is_own,
    number,
    relation,
    relations,
    value,
)
from grpo_lint.rules.invariants.verl_batches import DP, ENGINE, PROMPT, RESPONSE, TP
from grpo_lint.rules.invariants.verl_values import ASYNC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule

SPLIT = f"{ROLLOUT}.disaggregation"
LOSS, TEACHER = "distillation.distillation_loss", "distillation.teacher_models.teacher_model"
TEACHING = f"distillation.enabled=True distillation.nnodes=1 distillation.n_gpus_per_node=8 {TEACHER}.model_path=m"
DELTA = f"{ROLLOUT}.checkpoint_engine.backend"


@relation(
    "INV160", "disaggregated-rollout-sizes", "verl",
    on=flag(f"{SPLIT}.enabled"), prefill=value(f"{SPLIT}.prefill_replicas"), decode=value(f"{SPLIT}.decode_replicas"),
    backend=value(f"{SPLIT}.transfer_backend"), protocol=value(f"{SPLIT}.mooncake_protocol"),
    port=value(f"{SPLIT}.bootstrap_port"),
    since="0.9.0",
    mentions=("disaggregation",),
    topics=("rollout",),
    bad=f"{ENGINE}=vllm {SPLIT}.enabled=True {SPLIT}.transfer_backend=nccl",
    good=f"{ENGINE}=vllm {SPLIT}.enabled=True {SPLIT}.transfer_backend=nixl",
    target="verl=0.9.1",
    source="verl 0.9.0, 0.9.1, `workers/config/disaggregation.py`: `__post_init__`.",
)  # fmt: skip
def split_sizes(o: Operands) -> Iterator[Finding]:
    """A split rollout has a replica on either side, and a way to hand the cache over."""
    if not o.on:
        return
    backends, protocols = ("nixl", "mooncake", "ascend", "mori", "fake"), ("nvlink", "local", "rdma", "tcp")
    small = next((n for n in ("prefill", "decode") if type(getattr(o, n)) is int and getattr(o, n) < 1), "")
    if isinstance(o.backend, str) and o.backend not in backends:
        yield o.fault("backend", f"{o('backend')} is not one of {', '.join(backends)}: verl refuses it", "on")
    elif small:
        yield o.fault(small, f"{o(small)}: verl wants a replica for prefill and one for decode", "on")
    elif type(o.port) is int and not 0 < o.port < 65536:
        yield o.fault("port", f"{o('port')} is no port, which verl refuses", "on")
    elif o.backend == "mooncake" and isinstance(o.protocol, str) and o.protocol not in protocols:
        yield o.fault("protocol", f"{o('protocol')} is not one of {', '.join(protocols)}: verl refuses it", "backend")


@relation(
    "INV161", "distillation-loss", "verl",
    on=flag("distillation.enabled"), mode=value(f"{LOSS}.loss_mode"), policy=value(f"{LOSS}.policy_loss_mode"),
    gradient=value(f"{LOSS}.use_policy_gradient"), k=value(f"{LOSS}.topk"),
    logprobs=value(f"{TEACHER}.inference.engine_kwargs.vllm.max_logprobs"),
    since="0.8.0",
    mentions=("distillation",),
    topics=("loss",),
    bad=f"{TEACHING} {LOSS}.loss_mode=k1",
    good=f"{TEACHING} {LOSS}.loss_mode=k1 {LOSS}.use_policy_gradient=True",
    target="verl=0.9.1",
    source="verl 0.8.0 to 0.9.1, `workers/config/distillation.py`: `DistillationLossConfig.__post_init__`, "
    "`_validate_topk_logprobs`.",
)  # fmt: skip
def distillation_loss(o: Operands) -> Iterator[Finding]:
    """The gradient of the k1 estimate doesn't depend on the teacher, so k1 teaches as a reward only."""
    if not o.on:
        return
    if isinstance(o.policy, str) and o.policy != "vanilla":
        yield o.fault("policy", f"distillation {o('policy')} is not implemented: verl takes vanilla")
    elif o.mode == "k1" and o.gradient is False:
        yield o.fault(
            "mode",
            f"{o('mode')} with {o('gradient')}: its gradient doesn't depend on the teacher, and verl refuses it",
            "gradient",
            help=f"set {LOSS}.use_policy_gradient=True, or loss_mode=k3",
        )
    elif o.mode == "forward_kl_topk" and type(o.k) is int and type(o.logprobs) is int and o.logprobs < o.k:
        yield o.fault("logprobs", f"the teacher's {o('logprobs')} < {o('k')}, which verl refuses", "k")


@relation(
    "INV162", "teacher-pool", "verl",
    on=flag("distillation.enabled"), gpus=number("distillation.n_gpus_per_node"), nodes=number("distillation.nnodes"),
    tp=number(f"{TEACHER}.inference.tensor_model_parallel_size"),
    dp=number(f"{TEACHER}.inference.data_parallel_size"),
    length=value(f"{TEACHER}.inference.max_model_len"), prompt=number(PROMPT), response=number(RESPONSE),
    when=is_own, since="0.8.0",
    mentions=("distillation",),
    topics=("parallel",),
    bad=f"distillation.enabled=True {TEACHER}.model_path=Qwen/Qwen3-32B",
    good=f"distillation.enabled=True distillation.nnodes=1 {TEACHER}.model_path=Qwen/Qwen3-32B",
    target="verl=0.9.1",
    unless="With several teachers, each has sizes of its own.",
    source="verl 0.8.0 to 0.9.1, `workers/config/distillation.py`; 0.9.1, `trainer/ppo/v1/trainer_base.py`: "
    "\"config.distillation.nnodes must be greater than 0\". `distillation.nnodes`: default 0.",
)  # fmt: skip
def teacher_pool(o: Operands) -> Iterator[Finding]:
    """A teacher has GPUs of its own, none by default, and a context for the student's whole sequence."""
    alone = not any(
        key.split(".")[0] != "teacher_model" for key, _ in o.run.options.below("verl", TEACHER.rpartition(".")[0])
    )
    if not o.on or not alone:
        return
    pool, size, longest = o.gpus * o.nodes, o.tp * o.dp, o.prompt + o.response + 1
    if pool <= 0:
        empty = "nodes" if o.nodes <= 0 else "gpus"
        yield o.fault(
            "on", f"distillation.enabled, but distillation.{o(empty)}: the teacher has no GPUs, and verl refuses it",
            empty, help="set distillation.nnodes and distillation.n_gpus_per_node",
        )  # fmt: skip
    elif pool % size:
        yield o.fault(
            "tp", f"the teacher's {o('tp')} x data-parallel {o.dp} = {size} does not divide its {pool} GPUs, which"
            " verl refuses", "gpus", "nodes",
        )  # fmt: skip
    elif type(o.length) is int and o.length < longest:
        yield o.fault(
            "length",
            f"the teacher's {o('length')} < {o('prompt')} + {o('response')} + 1 = {longest}, which verl refuses",
            "prompt",
            "response",
        )


@relation(
    "INV166", "layered-summon-without-adapter", "verl",
    layered=flag(f"{ROLLOUT}.layered_summon"), engine=value(ENGINE),
    when=fsdp, severity=WARNING, since="0.6.0",
    mentions=("layered_summon",),
    topics=("memory", "rollout", "lora"),
    bad=f"{ENGINE}=vllm {ROLLOUT}.layered_summon=True",
    good=f"{ENGINE}=vllm {ROLLOUT}.layered_summon=True {ROLLOUT}.load_format=safetensors {MODEL}.lora_rank=32",
    target="verl=0.9.1",
    source="verl 0.6.0 to 0.9.1, `workers/rollout/vllm_rollout/`: \"Setting the sleep level to 1 may cause a memory "
    'overflow."; `utils/fsdp_utils.py`: `collect_lora_params`, its one reader.',
)  # fmt: skip
def layered(o: Operands) -> Iterator[Finding]:
    """`layered_summon` collects an adapter layer by layer; without one it just keeps the engine's weights in memory.

    verl then puts vLLM to sleep at level 1, which leaves a copy of all weights in the host's memory at each step.
    """
    merged = o.run.lora_merge.value is True
    if o.layered and o.engine == "vllm" and not merged and o.run.lora_rank.decided and not positive(adapters(o.run)):
        path = o.run.option("verl", f"{MODEL}.lora_adapter_path")
        if path.decided and path.value is None:
            yield o.fault(
                "layered",
                "layered_summon without an adapter collects nothing, and lowers vLLM's sleep to level 1: the weights"
                " stay in the host's memory",
                help=f"remove it, or set {MODEL}.lora_rank",
            )


@relation(
    "INV171", "quantisation-aware-training-needs-bridge", "verl",
    on=flag(f"{MEGATRON}.qat.enable"), vanilla=flag(f"{MEGATRON}.vanilla_mbridge"),
    when=megatron, since="0.8.0",
    mentions=("qat",),
    topics=("precision",),
    bad=f"model_engine=megatron {MEGATRON}.qat.enable=True {MEGATRON}.vanilla_mbridge=True",
    good=f"model_engine=megatron {MEGATRON}.qat.enable=True {MEGATRON}.vanilla_mbridge=False",
    target="verl=0.9.1",
    source="verl 0.8.0 to 0.9.1, `workers/engine/megatron/transformer_impl.py`: \"QAT requires non-vanilla Megatron "
    'bridge."',
)  # fmt: skip
def quantised(o: Operands) -> Iterator[Finding]:
    """Quantisation-aware training on Megatron goes through Megatron-Bridge."""
    if o.on and o.vanilla:
        yield o.fault(
            "on",
            f"qat.enable with {o('vanilla')}, which verl refuses",
            "vanilla",
            help=f"set {MEGATRON}.vanilla_mbridge=False",
        )


@relation(
    "INV172", "delta-weights-need", "verl",
    backend=value(DELTA), engine=value(ENGINE), dp=value(DP), split=flag(f"{SPLIT}.enabled"),
    tp=number(TP), own=value(f"{ROLLOUT}.engine_kwargs.vllm.tensor_parallel_size"),
    since="0.9.1",
    mentions=("checkpoint_engine",),
    topics=("weight-sync", "rollout"),
    bad=f"{ASYNC} {ROLLOUT}.nnodes=1 {ENGINE}=trtllm {DELTA}=delta_sharded",
    good=f"{ASYNC} {ROLLOUT}.nnodes=1 {ENGINE}=vllm {DELTA}=delta_sharded",
    target="verl=0.9.1",
    source="verl 0.9.1, `checkpoint_engine/base.py`; `workers/rollout/vllm_rollout/vllm_async_server.py`: "
    "`_preprocess_engine_kwargs`.",
)  # fmt: skip
def delta(o: Operands) -> Iterator[Finding]:
    """Weights go as differences to vLLM and SGLang, and to vLLM in one plain replica."""
    if o.backend != "delta_sharded":
        return
    if o.engine not in ("vllm", "sglang", None):
        yield o.fault("backend", f"checkpoint_engine.{o('backend')} with rollout.name {o.engine}: verl has no consumer"
                      " for it", "engine", help=f"set {ENGINE}=vllm or sglang")  # fmt: skip
    elif o.engine == "vllm" and type(o.dp) is int and o.dp != 1:
        yield o.fault("backend", f"checkpoint_engine.{o('backend')} with rollout {o('dp')}, which verl refuses", "dp")
    elif o.engine == "vllm" and o.split:
        yield o.fault("backend", f"checkpoint_engine.{o('backend')} with a disaggregated rollout, which verl refuses",
                      "split")  # fmt: skip
    elif o.engine == "vllm" and type(o.own) is int and o.own != o.tp:
        yield o.fault("own", f"engine_kwargs.vllm.{o('own')} is not rollout {o('tp')}, which verl refuses with"
                      " delta_sharded", "tp")  # fmt: skip


@relation(
    "INV174", "engine-release-is-too-old", "verl",
    engine=value(ENGINE), quantization=value(f"{ROLLOUT}.quantization"), mtp=flag(f"{MODEL}.mtp.enable_rollout"),
    since="0.7.0",
    mentions=("quantization", "mtp"),
    topics=("rollout",),
    bad=f"{ENGINE}=sglang {ROLLOUT}.quantization=fp8",
    good=f"{ENGINE}=sglang",
    target="sglang=0.5.3",
    unless="Judged where SGLang's release is told. What vLLM needs for router replay, DO16 says.",
    source="verl 0.7.0 to 0.9.1, `workers/rollout/sglang_rollout/`: SGLang 0.5.5 for fp8; 0.7.1 to 0.9.1: 0.5.6 for "
    "MTP.",
)  # fmt: skip
def engine_release(o: Operands) -> Iterator[Finding]:
    """Some features of the rollout need a recent engine, which verl looks up once the engine starts."""
    if o.engine != "sglang":
        return
    for name, release, wanted in (("quantization", "0.5.5", o.quantization == "fp8"), ("mtp", "0.5.6", o.mtp)):
        if wanted and before(o.run, "sglang", release) is True:
            yield o.fault(
                name,
                f"{o(name)} needs SGLang {release} or newer, and the run has {o.run.versions['sglang'].text}",
                "engine",
                help=f"install sglang>={release}",
                severity=ERROR,
            )


RULES: tuple[Rule, ...] = tuple(relations(globals()))
