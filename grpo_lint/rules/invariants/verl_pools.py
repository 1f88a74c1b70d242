"""INV150, INV160 to INV174: verl's pools of GPUs beside the trainer's, its other engines, and what they can't do."""

from __future__ import annotations

from grpo_lint.diagnostics import ERROR, NOTE, WARNING
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
from grpo_lint.rules.invariants.verl_batches import BATCH, DYNAMIC, GPUS, MINI, NODES, PER_GPU, validated
from grpo_lint.rules.invariants.verl_engines import DP, ENGINE, PROMPT, RESPONSE, TP
from grpo_lint.rules.invariants.verl_values import ASYNC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule

PP = f"{ROLLOUT}.pipeline_model_parallel_size"
SPLIT = f"{ROLLOUT}.disaggregation"
LOSS, TEACHER = "distillation.distillation_loss", "distillation.teacher_models.teacher_model"
TEACHING = f"distillation.enabled=True distillation.nnodes=1 distillation.n_gpus_per_node=8 {TEACHER}.model_path=m"
CRITIC = (
    f"algorithm.adv_estimator=gae {BATCH}=64 {MINI}=64 {DYNAMIC}=True {ROLLOUT}.n=1 critic.use_dynamic_bsz=False"
    " critic.ppo_mini_batch_size=64 critic.ppo_micro_batch_size_per_gpu=null"
)
DELTA = f"{ROLLOUT}.checkpoint_engine.backend"


@relation(
    "INV150", "rollout-engine-spans-nodes", "verl",
    tp=number(TP), dp=value(DP), gpus=number(GPUS), nodes=number(NODES), engine=value(ENGINE),
    since="0.6.0",
    topics=("parallel", "rollout"),
    bad=f"{ENGINE}=vllm {GPUS}=4 {NODES}=3 {TP}=6 {BATCH}=48 {MINI}=48 {DYNAMIC}=True",
    good=f"{ENGINE}=vllm {GPUS}=4 {NODES}=3 {TP}=4 {BATCH}=48 {MINI}=48 {DYNAMIC}=True",
    target="verl=0.9.1",
    unless="A rollout on GPUs of its own has nodes of its own.",
    source="verl 0.6.1 to 0.9.1, `workers/rollout/replica.py`: \"world_size ... must be divisible by gpus_per_node\". "
    "verl-project/verl#1785.",
)  # fmt: skip
def spanning(o: Operands) -> Iterator[Finding]:
    """An engine that is larger than a node takes whole nodes, and then each token crosses the network.

    Tensor parallelism exchanges activations twice in each layer, for each token that is generated. An engine over two
    nodes is slower than two engines, unless the model needs the memory of both.
    """
    dp = o.dp if type(o.dp) is int else 1
    size = o.tp * dp
    if o.run.async_rollout.value is not False or o.engine in ("hf", None) or min(size, o.gpus) < 1:
        return
    if o.gpus * o.nodes % size or (o.engine == "vllm" and dp > 1 and o.gpus % o.tp):
        return  # INV121 and INV139 say so
    if size > o.gpus and size % o.gpus:
        yield o.fault(
            "tp",
            f"a rollout engine of {o('tp')}" + (f" x {o('dp')}" if dp > 1 else "") + f" takes {size} GPUs, which are"
            f" not whole nodes of {o.gpus}: verl asserts that they are",
            "gpus",
            help=f"set {TP} to a divisor or a multiple of {o.gpus}",
        )
    elif o.tp > o.gpus:
        yield o.fault(
            "tp",
            f"rollout {o('tp')} > {o.gpus} GPUs of a node: each engine spans {o.tp // o.gpus} nodes, and each layer's"
            " activations cross the network for every token",
            "gpus",
            help=f"set {TP} to {o.gpus} or less, if the model fits into one node",
            severity=NOTE,
        )


@relation(
    "INV160", "disaggregated-rollout-sizes", "verl",
    on=flag(f"{SPLIT}.enabled"), prefill=value(f"{SPLIT}.prefill_replicas"), decode=value(f"{SPLIT}.decode_replicas"),
    backend=value(f"{SPLIT}.transfer_backend"), protocol=value(f"{SPLIT}.mooncake_protocol"),
    port=value(f"{SPLIT}.bootstrap_port"),
    since="0.9.0",
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
    "INV163", "batch-does-not-divide-by-micro-batches", "verl",
    batch=number(BATCH), n=number(f"{ROLLOUT}.n"), each=number(PER_GPU),
    tp=number(f"{MEGATRON}.tensor_model_parallel_size"),
    pp=number(f"{MEGATRON}.pipeline_model_parallel_size"), cp=number(f"{MEGATRON}.context_parallel_size"),
    gpus=number(GPUS), nodes=number(NODES), dynamic=flag(DYNAMIC),
    when=lambda run: megatron(run) and validated(run), since="0.4.0",
    topics=("batch", "parallel"),
    bad=f"model_engine=megatron {BATCH}=60 {ROLLOUT}.n=5 {GPUS}=8 {MEGATRON}.tensor_model_parallel_size=2 {MINI}=60"
    f" {PER_GPU}=4 {ROLLOUT}.log_prob_micro_batch_size_per_gpu=4",
    good=f"model_engine=megatron {BATCH}=64 {ROLLOUT}.n=5 {GPUS}=8 {MEGATRON}.tensor_model_parallel_size=2 {MINI}=64"
    f" {PER_GPU}=4 {ROLLOUT}.log_prob_micro_batch_size_per_gpu=4",
    target="verl=0.9.1",
    unless="With `use_dynamic_bsz` micro-batches are made by their tokens.",
    source="verl 0.4.0, 0.5.0, `trainer/ppo/ray_trainer.py`; 0.6.0 to 0.9.1, `utils/config.py`: `validate_config`.",
)  # fmt: skip
def megatron_batch(o: Operands) -> Iterator[Finding]:
    """On Megatron a batch's responses are dealt out in micro-batches to the data-parallel ranks."""
    size, world, total = o.tp * o.pp * o.cp, o.gpus * o.nodes, o.batch * o.n
    if o.dynamic or size <= 0 or o.each <= 0 or world % size:
        return
    least = world // size * o.each
    if least and total % least:
        yield o.fault(
            "batch",
            f"{o('batch')} x {o('n')} = {total} responses are not a multiple of {world // size} data-parallel ranks x"
            f" {o('each')} = {least}, which verl refuses",
            "n",
            "each",
            "gpus",
            "nodes",
            help=f"make {BATCH} x n a multiple of {least}",
        )


@relation(
    "INV165", "critic-micro-batch-does-not-divide", "verl",
    micro=number("critic.ppo_micro_batch_size"), mini=number("critic.ppo_mini_batch_size"),
    dynamic=flag("critic.use_dynamic_bsz"), estimator=value("algorithm.adv_estimator"), enable=value("critic.enable"),
    when=validated, since="0.2",
    topics=("batch", "critic"),
    bad=f"{CRITIC} critic.ppo_micro_batch_size=24",
    good=f"{CRITIC} critic.ppo_micro_batch_size=16",
    target="verl=0.7.1",
    source="verl 0.2 to 0.5.0, `trainer/ppo/ray_trainer.py`; 0.6.0 to 0.9.1, `workers/config/critic.py`: "
    "`__post_init__`.",
)  # fmt: skip
def critic_divides(o: Operands) -> Iterator[Finding]:
    """The critic's older micro-batch counts over all GPUs and has to divide its mini-batch."""
    trained = o.enable is True or (o.enable is None and o.estimator == "gae")
    if trained and not o.dynamic and o.micro > 0 and o.mini % o.micro:
        yield o.fault(
            "micro",
            f"critic.{o('mini')} is not a multiple of critic.{o('micro')}, which verl refuses",
            "mini",
            help="use critic.ppo_micro_batch_size_per_gpu, or a micro-batch that divides the mini-batch",
        )


@relation(
    "INV166", "layered-summon-without-adapter", "verl",
    layered=flag(f"{ROLLOUT}.layered_summon"), engine=value(ENGINE),
    when=fsdp, severity=WARNING, since="0.4.0",
    topics=("memory", "rollout", "lora"),
    bad=f"{ENGINE}=vllm {ROLLOUT}.layered_summon=True",
    good=f"{ENGINE}=vllm {ROLLOUT}.layered_summon=True {ROLLOUT}.load_format=safetensors {MODEL}.lora_rank=32",
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
