"""INV107, 108, 121, 134, 137, 150, 163, 165: what verl shares out among GPUs, and sequences that have to fit."""

from __future__ import annotations

from grpo_lint.diagnostics import ERROR, NOTE, WARNING
from grpo_lint.frameworks.verl import ACTOR, MEGATRON, ROLLOUT, sequence_parallel_size
from grpo_lint.rules.avoidance.verl_run import megatron
from grpo_lint.rules.invariants.relation import Operands, divisors, flag, listed, number, relation, relations, value
from grpo_lint.rules.invariants.verl_batches import (
    BATCH,
    DP,
    DYNAMIC,
    ENGINE,
    GPUS,
    LENGTH,
    MINI,
    NODES,
    PER_GPU,
    PROMPT,
    RESPONSE,
    TP,
    one_of,
    validated,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule
    from grpo_lint.runconfig import RunConfig

TOKENS = f"{ACTOR}.ppo_max_token_len_per_gpu"
BUDGET = f"{ROLLOUT}.max_num_batched_tokens"
CHUNKED = f"{ROLLOUT}.enable_chunked_prefill"
CRITIC = (
    f"algorithm.adv_estimator=gae {BATCH}=64 {MINI}=64 {DYNAMIC}=True {ROLLOUT}.n=1 critic.use_dynamic_bsz=False"
    " critic.ppo_mini_batch_size=64 critic.ppo_micro_batch_size_per_gpu=null"
)


def colocated(run: RunConfig) -> bool:
    """Whether rollout and trainer share their GPUs."""
    return run.async_rollout.known and run.async_rollout.value is False


def sharing(o: Operands) -> int:
    """The ranks that share a sequence, each with a token budget of its own."""
    size = o.cp if megatron(o.run) else sequence_parallel_size(o.run).value
    return size if type(size) is int and size > 0 else 1


@relation(
    "INV107", "critic-micro-batch-unclear", "verl",
    total=value("critic.ppo_micro_batch_size"), each=value("critic.ppo_micro_batch_size_per_gpu"),
    dynamic=flag("critic.use_dynamic_bsz"), estimator=value("algorithm.adv_estimator"), enable=value("critic.enable"),
    when=validated,
    since="0.2",
    topics=("batch", "critic"),
    bad=f"algorithm.adv_estimator=gae {MINI}=64 {ROLLOUT}.n=1 {PER_GPU}=4"
    f" {ROLLOUT}.log_prob_micro_batch_size_per_gpu=4",
    good=f"algorithm.adv_estimator=gae {MINI}=64 {ROLLOUT}.n=1 {PER_GPU}=4"
    f" {ROLLOUT}.log_prob_micro_batch_size_per_gpu=4"
    " critic.ppo_micro_batch_size_per_gpu=4",
    target="verl=0.7.1",
    unless="Without a critic, and with `critic.use_dynamic_bsz`, nothing is asked for.",
    source="verl 0.5.0 to 0.9.1, `workers/config/critic.py`: `__post_init__`, `_check_mutually_exclusive`.",
)  # fmt: skip
def critic_micro(o: Operands) -> Iterator[Finding]:
    """A critic is trained in micro-batches of its own, sized over all GPUs or per GPU."""
    if o.enable is True or (o.enable is None and o.estimator == "gae"):
        yield from one_of(o, "the critic", "critic.ppo_micro_batch_size_per_gpu")


@relation(
    "INV108", "critic-mini-batch-exceeds-batch", "verl",
    mini=number("critic.ppo_mini_batch_size"), batch=number(BATCH), dynamic=flag("critic.use_dynamic_bsz"),
    estimator=value("algorithm.adv_estimator"), enable=value("critic.enable"),
    when=validated,
    since="0.3.0",
    topics=("batch", "critic"),
    bad=f"algorithm.adv_estimator=gae {ROLLOUT}.n=1 {BATCH}=64 {MINI}=64 {PER_GPU}=4"
    f" {ROLLOUT}.log_prob_micro_batch_size_per_gpu=4 critic.ppo_mini_batch_size=128"
    " critic.ppo_micro_batch_size_per_gpu=4",
    good=f"algorithm.adv_estimator=gae {ROLLOUT}.n=1 {BATCH}=64 {MINI}=64 {PER_GPU}=4"
    f" {ROLLOUT}.log_prob_micro_batch_size_per_gpu=4 critic.ppo_mini_batch_size=64"
    " critic.ppo_micro_batch_size_per_gpu=4",
    target="verl=0.9.1",
    unless="By default the critic's mini-batch is the actor's, and then the actor's rule speaks.",
    source="verl 0.5.0 to 0.9.1, `workers/config/critic.py`: `validate`.",
)  # fmt: skip
def critic_mini(o: Operands) -> Iterator[Finding]:
    """The critic's mini-batches are cut out of the same batch of prompts as the actor's."""
    trained = o.enable is True or (o.enable is None and o.estimator == "gae")
    if trained and not o.dynamic and o.batch and o.mini > o.batch and o["mini"].key.startswith("critic."):
        yield o.fault(
            "mini",
            f"critic.{o('mini')} > {o('batch')}: verl counts prompts, and refuses a mini-batch larger than the batch",
            "batch",
            help=f"set critic.ppo_mini_batch_size to {o.batch} or less",
        )


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
            f"rollout {o('tp')} > {o.gpus} GPU{'s' * (o.gpus != 1)} of a node: each engine spans {o.tp // o.gpus}"
            " nodes, and each layer's activations cross the network for every token",
            "gpus",
            help=f"set {TP} to {o.gpus} or less, if the model fits into one node",
            severity=NOTE,
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
    "INV121", "rollout-does-not-fit-gpus", "verl",
    tp=number(TP), dp=value(DP), pp=value(f"{ROLLOUT}.pipeline_model_parallel_size"), gpus=number(GPUS),
    nodes=number(NODES), engine=value(ENGINE),
    when=colocated, since="0.2",
    topics=("parallel", "rollout"),
    bad=f"{GPUS}=1 {ENGINE}=vllm",
    good=f"{GPUS}=1 {ENGINE}=vllm {TP}=1",
    unless="A rollout on GPUs of its own is not compared with the trainer's, nor is the `hf` rollout, which has no "
    "tensor parallelism.",
    source="verl 0.2 to 0.7.1, `workers/fsdp_workers.py`, `megatron_workers.py`; 0.8.0 to 0.9.1, "
    "`workers/engine_workers.py`: \"rollout world_size ... is not divisible by infer_world_size\". `rollout."
    "tensor_model_parallel_size`: default 2. verl-project/verl#1191.",
)  # fmt: skip
def rollout_shape(o: Operands) -> Iterator[Finding]:
    """The rollout engine's replicas share out the trainer's GPUs, so their size has to divide the number of GPUs.

    A replica takes `tensor_model_parallel_size` GPUs, and that is 2 by default: a launch on one GPU that does not set
    it fails after Ray and the models are up.
    """
    if o.engine == "hf" or o.engine is None:
        return
    dp, pp = (size if type(size) is int else 1 for size in (o.dp, o.pp))
    world, size = o.gpus * o.nodes, o.tp * dp * pp
    if size > 0 and world > 0 and world % size:
        whole = f"{o('tp')}" if size == o.tp else f"{o('tp')} x data-parallel {dp} x pipeline {pp} = {size}"
        yield o.fault(
            "tp",
            f"rollout {whole} does not divide the trainer's {world} GPU{'s' * (world != 1)}: no engine can be placed",
            "gpus",
            "nodes",
            label="GPUs of one rollout engine",
            help=f"set {TP} to {listed(divisors(world, 8))}",
        )


@relation(
    "INV134", "tokens-per-gpu-below-sequence", "verl",
    tokens=number(TOKENS), prompt=number(PROMPT), response=number(RESPONSE), dynamic=flag(DYNAMIC),
    cp=value(f"{MEGATRON}.context_parallel_size"),
    since="0.2",
    topics=("length", "batch"),
    bad=f"{DYNAMIC}=True {PROMPT}=2048 {RESPONSE}=8192 {TOKENS}=8192",
    good=f"{DYNAMIC}=True {PROMPT}=2048 {RESPONSE}=8192 {TOKENS}=10240",
    unless="Without `use_dynamic_bsz` micro-batches are counted in sequences.",
    source="verl 0.2 to 0.9.1, `utils/seqlen_balancing.py`: `rearrange_micro_batches` asserts it, of the padded length "
    "in the FSDP and Megatron workers up to 0.7.1, of the longest sequence that is there from 0.8.0 on.",
)  # fmt: skip
def tokens_per_gpu(o: Operands) -> Iterator[Finding]:
    """A micro-batch of at most so many tokens has to hold the longest sequence.

    With dynamic batches verl packs sequences up to `ppo_max_token_len_per_gpu` times the sequence-parallel size. A
    sequence is never split, so one of full length that does not fit ends the run, at whatever step it comes.
    """
    ways = sharing(o)
    longest, room = o.prompt + o.response, o.tokens * ways
    if o.dynamic and longest > room and sequence_parallel_size(o.run).decided:
        old = o.run.before("verl", "0.8.0") is True
        yield o.fault(
            "tokens",
            f"{o('tokens')}" + (f" x {ways} ranks = {room}" if ways > 1 else "") + f" < {longest} tokens of a sequence"
            f" ({o('prompt')} + {o('response')}): "
            + ("verl asserts that one fits" if old else "the first one of full length ends the run"),
            "prompt",
            "response",
            help=f"set it to {-(-longest // ways)} or more",
            severity=ERROR if old else WARNING,
        )


@relation(
    "INV137", "batched-tokens-below-model-length", "verl",
    budget=number(BUDGET), prompt=number(PROMPT), response=number(RESPONSE), length=value(LENGTH),
    chunked=value(CHUNKED), engine=value(ENGINE), mode=value(f"{ROLLOUT}.mode"),
    until="0.7.0", since="0.2",
    topics=("length", "rollout"),
    bad=f"{ENGINE}=vllm {PROMPT}=4096 {RESPONSE}=8192 {BUDGET}=8192",
    good=f"{ENGINE}=vllm {PROMPT}=4096 {RESPONSE}=8192 {BUDGET}=12288",
    target="verl=0.6.1",
    unless="From 0.7.0 on prompts are really prefilled in chunks; so are they in the asynchronous mode before.",
    source="verl 0.2 to 0.6.1, `workers/rollout/vllm_rollout/vllm_rollout_spmd.py`: ValueError. hiyouga/EasyR1#3425.",
)  # fmt: skip
def batched_tokens(o: Operands) -> Iterator[Finding]:
    """Up to verl 0.6.1, the synchronous vLLM rollout wants to prefill the longest sequence in one step."""
    length = o.length if type(o.length) is int else o.prompt + o.response
    if o.engine == "vllm" and o.chunked is True and o.mode in (None, "sync") and o.budget < length:
        yield o.fault(
            "budget",
            f"{o('budget')} < {length} tokens of model length while enable_chunked_prefill is true, which verl before"
            " 0.7.0 refuses",
            "prompt",
            "response",
            "length",
            help=f"set {BUDGET} to {length} or more, or {CHUNKED}=False",
        )


RULES: tuple[Rule, ...] = tuple(relations(globals()))
