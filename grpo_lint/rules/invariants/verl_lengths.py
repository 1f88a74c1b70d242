"""INV135 to INV145: lengths and token budgets of verl, and switches of which one needs or forbids another."""

from __future__ import annotations

from grpo_lint.diagnostics import ERROR, NOTE, WARNING
from grpo_lint.frameworks.verl import ACTOR, MEGATRON, ROLLOUT, sequence_parallel_size
from grpo_lint.rules.avoidance.verl_run import megatron
from grpo_lint.rules.invariants.relation import Operands, flag, is_own, number, relation, relations, value
from grpo_lint.rules.invariants.verl_batches import (
    BATCH,
    DP,
    DYNAMIC,
    ENGINE,
    GPUS,
    LENGTH,
    MINI,
    PROMPT,
    RESPONSE,
    SEPARATE,
    TP,
)
from grpo_lint.rules.invariants.verl_engines import separate
from grpo_lint.rules.invariants.verl_shares import BUDGET, CHUNKED, TOKENS, sharing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule


@relation(
    "INV135", "log-prob-tokens-below-sequence", "verl",
    tokens=number(f"{ROLLOUT}.log_prob_max_token_len_per_gpu"), prompt=number(PROMPT), response=number(RESPONSE),
    dynamic=flag(f"{ROLLOUT}.log_prob_use_dynamic_bsz"), cp=value(f"{MEGATRON}.context_parallel_size"),
    since="0.2",
    topics=("length", "batch"),
    mentions=("log_prob_max_token_len",),
    bad=f"{DYNAMIC}=True {PROMPT}=2048 {RESPONSE}=8192 {TOKENS}=10240 {ROLLOUT}.log_prob_use_dynamic_bsz=True"
    f" {ROLLOUT}.log_prob_max_token_len_per_gpu=8192",
    good=f"{DYNAMIC}=True {PROMPT}=2048 {RESPONSE}=8192 {TOKENS}=10240 {ROLLOUT}.log_prob_use_dynamic_bsz=True"
    f" {ROLLOUT}.log_prob_max_token_len_per_gpu=20480",
    unless="By default it is the actor's, and then the actor's rule speaks.",
    source="As for INV134.",
)  # fmt: skip
def log_prob_tokens(o: Operands) -> Iterator[Finding]:
    """Log-probabilities are computed in micro-batches of tokens that have to hold the longest sequence."""
    ways = sharing(o)
    longest = o.prompt + o.response
    own = o["tokens"].key.startswith(ROLLOUT) and o["tokens"].explicit
    if own and o.dynamic and longest > o.tokens * ways and sequence_parallel_size(o.run).decided:
        old = o.run.before("verl", "0.8.0") is True
        yield o.fault(
            "tokens",
            f"rollout.{o('tokens')} x {ways} < {longest} tokens of a sequence ({o('prompt')} + {o('response')}): the"
            " first one of full length ends the run",
            "prompt",
            "response",
            help=f"set it to {-(-longest // ways)} or more",
            severity=ERROR if old else WARNING,
        )


@relation(
    "INV136", "model-length-below-sequence", "verl",
    length=number(LENGTH), prompt=number(PROMPT), response=number(RESPONSE), engine=value(ENGINE),
    severity=WARNING, since="0.4.0",
    topics=("length", "rollout"),
    mentions=("max_model_len",),
    bad=f"{ENGINE}=vllm {PROMPT}=4096 {RESPONSE}=8192 {LENGTH}=8192",
    good=f"{ENGINE}=vllm {PROMPT}=4096 {RESPONSE}=8192 {LENGTH}=12288",
    unless="Unset, it is the sum of both, or the model's own length.",
    source="verl 0.9.1, `workers/rollout/vllm_rollout/vllm_async_server.py`: `max_possible_tokens`, which shortens the "
    "response and refuses a prompt that leaves no room.",
)  # fmt: skip
def model_length(o: Operands) -> Iterator[Finding]:
    """The rollout engine's context has to hold the longest prompt and the longest response.

    Where it doesn't, a long prompt leaves less room than `max_response_length` says: responses are cut where no setting
    tells, count as truncated, and are rewarded as such.
    """
    if o.length < o.prompt + o.response:
        yield o.fault(
            "length",
            f"{o('length')} < {o('prompt')} + {o('response')} = {o.prompt + o.response}: "
            + (
                "the longest prompts are refused"
                if o.length <= o.prompt
                else f"after a long prompt, responses end at {o.length - o.prompt} tokens"
            ),
            "prompt",
            "response",
            help=f"set {LENGTH} to {o.prompt + o.response}, or remove it",
        )


@relation(
    "INV138", "unchunked-prefill-below-model-length", "verl",
    budget=number(BUDGET), length=number(LENGTH), chunked=value(CHUNKED), engine=value(ENGINE),
    since="0.7.0",
    topics=("length", "rollout"),
    mentions=("enable_chunked_prefill",),
    bad=f"{ENGINE}=vllm {CHUNKED}=False {LENGTH}=16384 {BUDGET}=8192",
    good=f"{ENGINE}=vllm {CHUNKED}=False {LENGTH}=16384 {BUDGET}=16384",
    target="verl=0.8.0",
    unless="verl 0.9.1 raises the budget by itself, with a warning.",
    source="verl 0.7.0 to 0.9.0 hand both to vLLM, whose `SchedulerConfig` refuses them; 0.9.1, `vllm_async_server.py`:"
    " `_validate_configs`.",
)  # fmt: skip
def unchunked(o: Operands) -> Iterator[Finding]:
    """Without chunked prefill, a step of the engine has to hold the longest prompt at once."""
    if o.engine != "vllm" or o.chunked is not False or o.budget >= o.length:
        return
    old = o.run.before("verl", "0.9.1")
    yield o.fault(
        "budget",
        f"{o('budget')} < {o('length')} with enable_chunked_prefill false: "
        + ("vLLM refuses to start" if old else "verl raises it by itself" if old is False else "vLLM may refuse it"),
        "length",
        "chunked",
        help=f"set {BUDGET} to {o.length}, or {CHUNKED}=True",
        severity=ERROR if old else NOTE if old is False else WARNING,
    )


@relation(
    "INV139", "replica-does-not-tile-node", "verl",
    dp=number(DP), tp=number(TP), gpus=number(GPUS), engine=value(ENGINE),
    since="0.6.0",
    topics=("parallel", "rollout"),
    mentions=("data_parallel_size",),
    bad=f"{ENGINE}=vllm {DP}=2 {TP}=4 {GPUS}=6 trainer.nnodes=4 {BATCH}=48 {MINI}=48 {DYNAMIC}=True",
    good=f"{ENGINE}=vllm {DP}=2 {TP}=3 {GPUS}=6 trainer.nnodes=4 {BATCH}=48 {MINI}=48 {DYNAMIC}=True",
    source="verl 0.6.1 to 0.9.1, `workers/rollout/vllm_rollout/vllm_async_server.py`: \"gpus_per_node should be "
    'divisible by tensor_model_parallel_size".',
)  # fmt: skip
def replica_tiles(o: Operands) -> Iterator[Finding]:
    """With data parallelism in the rollout engine, tensor-parallel groups have to tile each node."""
    if o.engine == "vllm" and o.dp > 1 and o.tp > 0 and o.gpus % o.tp and not o.run.async_rollout.value:
        yield o.fault(
            "tp",
            f"{o('gpus')} is not a multiple of rollout {o('tp')} at {o('dp')}, which verl asserts",
            "gpus",
            "dp",
            help=f"choose a tensor-parallel size that divides {o.gpus}",
        )


@relation(
    "INV140", "resume-path-without-step", "verl",
    mode=value("trainer.resume_mode"), path=value("trainer.resume_from_path"),
    since="0.2",
    topics=("checkpoint",),
    mentions=("resume_mode",),
    bad="trainer.resume_mode=resume_path trainer.resume_from_path=/checkpoints/gsm8k",
    good="trainer.resume_mode=resume_path trainer.resume_from_path=/checkpoints/gsm8k/global_step_200",
    source="verl 0.2 to 0.9.1, `_load_checkpoint`: `trainer/ppo/ray_trainer.py`, `trainer/ppo/v1/trainer_base.py`.",
)  # fmt: skip
def resume_path(o: Operands) -> Iterator[Finding]:
    """verl resumes from the folder of one step, and knows it by its name."""
    if o.mode != "resume_path":
        return
    if not isinstance(o.path, str):
        yield o.fault(
            "mode",
            f"resume_mode resume_path, but {o('path')}: verl asserts a path once workers are up",
            "path",
            help="set trainer.resume_from_path to a folder global_step_N",
        )
    elif "global_step_" not in o.path:
        yield o.fault(
            "path",
            f"resume_from_path {o.path} names no global_step_N folder, which verl asserts once workers are up",
            "mode",
            help="name the folder of one step, or set trainer.resume_mode=auto with trainer.default_local_dir",
        )


@relation(
    "INV141", "kl-counted-twice", "verl",
    loss=flag(f"{ACTOR}.use_kl_loss"), reward=flag("algorithm.use_kl_in_reward"),
    severity=WARNING, since="0.3.0",
    topics=("kl",),
    mentions=("use_kl_in_reward",),
    bad=f"{ACTOR}.use_kl_loss=True algorithm.use_kl_in_reward=True",
    good=f"{ACTOR}.use_kl_loss=True algorithm.use_kl_in_reward=False",
    source="verl 0.3.0 to 0.9.1, `validate_config`: \"NOTICE: You have both enabled in-reward kl and kl loss.\" "
    "verl-project/verl#265.",
)  # fmt: skip
def kl_twice(o: Operands) -> Iterator[Finding]:
    """A KL term in the reward and one in the loss penalise the same distance twice.

    verl prints a notice and goes on. The two coefficients add up, and neither then means what it says.
    """
    if o.loss and o.reward:
        yield o.fault(
            "reward",
            "use_kl_in_reward and use_kl_loss are both true: the distance to the reference is penalised twice",
            "loss",
            label="in the reward",
            help="keep one of them; GRPO's own is use_kl_loss",
        )


@relation(
    "INV142", "disaggregated-rollout-engine", "verl",
    on=flag(f"{ROLLOUT}.disaggregation.enabled"), engine=value(ENGINE),
    since="0.9.0",
    topics=("rollout",),
    mentions=("disaggregation",),
    bad=f"{ROLLOUT}.disaggregation.enabled=True {ENGINE}=trtllm",
    good=f"{ROLLOUT}.disaggregation.enabled=True {ENGINE}=vllm",
    target="verl=0.9.1",
    source="verl 0.9.1, `workers/config/rollout.py`: `__post_init__` raises ValueError.",
)  # fmt: skip
def disaggregation(o: Operands) -> Iterator[Finding]:
    """verl splits prefill from decode in vLLM and SGLang alone."""
    if o.on and o.engine not in ("vllm", "sglang", None):
        yield o.fault(
            "on",
            f"disaggregation.enabled with rollout.name {o.engine}: verl takes it with vllm and sglang",
            "engine",
            help=f"set {ENGINE}=vllm or sglang, or {ROLLOUT}.disaggregation.enabled=False",
        )


@relation(
    "INV143", "colocated-reward-with-separate-rollout", "verl",
    reward=flag("reward.reward_model.enable"), pool=flag("reward.reward_model.enable_resource_pool"),
    mode=value("trainer.v1.trainer_mode"),
    when=separate, since="0.9.0",
    topics=("reward", "rollout"),
    mentions=("trainer_mode",),
    bad=f"trainer.v1.trainer_mode=separate_async {ROLLOUT}.nnodes=1 {ROLLOUT}.checkpoint_engine.backend=nccl"
    f" {SEPARATE}.parameter_sync_step=4 reward.reward_model.enable=True",
    good=f"trainer.v1.trainer_mode=separate_async {ROLLOUT}.nnodes=1 {ROLLOUT}.checkpoint_engine.backend=nccl"
    f" {SEPARATE}.parameter_sync_step=4 reward.reward_model.enable=True"
    " reward.reward_model.enable_resource_pool=True reward.reward_model.nnodes=1",
    target="verl=0.9.1",
    source="verl 0.9.0, 0.9.1, `trainer/ppo/v1/trainer_separate_async.py`: an assertion of `__init__`.",
)  # fmt: skip
def colocated_reward(o: Operands) -> Iterator[Finding]:
    """A rollout that never pauses never frees the memory that a reward model beside it would need."""
    if o.reward and not o.pool:
        yield o.fault(
            "reward",
            "reward_model.enable without enable_resource_pool in separate_async: the rollout never frees memory for a"
            " reward model beside it, and verl refuses the pair",
            "pool",
            "mode",
            help="set reward.reward_model.enable_resource_pool=True, and give the pool its nodes and GPUs",
        )


@relation(
    "INV144", "dynamic-context-parallel-needs", "verl",
    on=flag(f"{MEGATRON}.dynamic_context_parallel"), limit=value(f"{MEGATRON}.max_seqlen_per_dp_cp_rank"),
    packed=value("actor_rollout_ref.model.use_remove_padding"), pad=flag(f"{MEGATRON}.pad_to_length"),
    vpp=value(f"{MEGATRON}.virtual_pipeline_model_parallel_size"),
    when=megatron, since="0.9.0",
    topics=("parallel",),
    mentions=("dynamic_context_parallel",),
    bad=f"model_engine=megatron {MEGATRON}.dynamic_context_parallel=True",
    good=f"model_engine=megatron {MEGATRON}.dynamic_context_parallel=True {MEGATRON}.max_seqlen_per_dp_cp_rank=8192",
    target="verl=0.9.1",
    source="verl 0.9.1, `workers/config/engine.py`; `workers/engine/megatron/transformer_impl.py`: "
    "`_check_dcp_unsupported_features`.",
)  # fmt: skip
def dynamic_context(o: Operands) -> Iterator[Finding]:
    """Dynamic context parallelism needs a length per rank and packed inputs, and no virtual pipeline."""
    if not o.on:
        return
    wrong = (
        ("limit", "needs a positive integer max_seqlen_per_dp_cp_rank", not _positive(o.limit)),
        ("packed", "needs use_remove_padding=True", o.packed is False),
        ("pad", "does not go with pad_to_length", o.pad),
        ("vpp", "does not go with a virtual pipeline", type(o.vpp) is int and o.vpp > 1),
    )
    for name, why, broken in wrong:
        if broken:
            yield o.fault("on", f"dynamic_context_parallel {why}: verl refuses to start", name)
            return


def _positive(value: object) -> bool:
    return type(value) is int and value > 0


@relation(
    "INV145", "megatron-without-bridge", "verl",
    bridge=value(f"{MEGATRON}.use_mbridge"),
    when=lambda run: megatron(run) and is_own(run), since="0.8.0",
    topics=("weight-sync",),
    mentions=("use_mbridge",),
    bad=f"model_engine=megatron {MEGATRON}.use_mbridge=False",
    good=f"model_engine=megatron {MEGATRON}.use_mbridge=True",
    target="verl=0.9.1",
    unless="Up to 0.7.1, the older workers take false too.",
    source="verl 0.7.1 to 0.9.1, `workers/engine/megatron/transformer_impl.py`: \"use_mbridge must be True\".",
)  # fmt: skip
def bridge(o: Operands) -> Iterator[Finding]:
    """verl's Megatron engine reads and writes weights through a bridge alone."""
    if o.bridge is False:
        yield o.fault(
            "bridge", "megatron.use_mbridge is false, and verl's Megatron engine asserts true", help="remove it"
        )


RULES: tuple[Rule, ...] = tuple(relations(globals()))
