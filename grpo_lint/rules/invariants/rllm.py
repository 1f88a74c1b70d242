"""INV720 to INV727: rLLM's own settings on top of verl's."""

from __future__ import annotations

from grpo_lint.diagnostics import WARNING
from grpo_lint.rules.invariants.relation import Operands, of, relation, relations, value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule
    from grpo_lint.runconfig import RunConfig

BACKEND = "rLLM main of 2026-08-15, `trainer/verl/verl_backend.py`: `validate_config`"
LAUNCH = "$ python3 -m examples.math.train rllm/backend=verl rllm.rollout.n=8 rllm.algorithm.adv_estimator=grpo"
KL = "actor_rollout_ref.actor.use_kl_loss"


def on_verl(run: RunConfig) -> bool:
    """Whether a launch of rLLM trains with verl, as far as it says."""
    backends = [word.text for word in run.command if word.text.startswith("rllm/backend=")]
    return bool(run.command) and all(backend == "rllm/backend=verl" for backend in backends)


def unified(run: RunConfig) -> bool:
    """Whether rLLM's unified trainer is started on verl: the older one for workflows checks less, and does more."""
    return any(word.text == "rllm/backend=verl" for word in run.command)


@relation(
    "INV720", "rollout-of-rllm-is-not-async", "rllm",
    mode=of("verl", "actor_rollout_ref.rollout.mode"),
    when=on_verl,
    mentions=("rollout.mode",),
    topics=("rollout",),
    bad=f"{LAUNCH} actor_rollout_ref.rollout.mode=sync",
    good=f"{LAUNCH} actor_rollout_ref.rollout.mode=async",
    source=f"{BACKEND}; `agent_workflow_trainer.py`: \"Only async rollout mode is supported\".",
)  # fmt: skip
def mode(o: Operands) -> Iterator[Finding]:
    """An agent waits for its environment, so its engine has to serve others meanwhile."""
    if isinstance(o.mode, str) and o.mode != "async":
        yield o.fault("mode", f"rollout.{o('mode')}, and rLLM asserts async", help="set it to async")


@relation(
    "INV721", "kl-in-reward-in-rllm", "rllm",
    reward=of("verl", "algorithm.use_kl_in_reward"),
    when=unified,
    mentions=("use_kl_in_reward",),
    topics=("kl",),
    bad=f"{LAUNCH} algorithm.use_kl_in_reward=True",
    good=f"{LAUNCH} rllm.algorithm.kl_beta=0.001",
    source=f'{BACKEND}: "only KL-in-loss is supported".',
)  # fmt: skip
def kl(o: Operands) -> Iterator[Finding]:
    """rLLM has its KL term in the loss."""
    if o.reward is True:
        yield o.fault(
            "reward", "use_kl_in_reward is true, and rLLM asserts against it", help="set rllm.algorithm.kl_beta"
        )


@relation(
    "INV722", "asynchronous-training-of-rllm", "rllm",
    on=value("rllm.async_training.enable"), group=value("rllm.async_training.fwd_bwd_group_size"),
    mini=value("rllm.async_training.mini_batch_size"), partial=value("rllm.async_training.partial_rollout"),
    remote=value("rllm.remote_runtime.enabled"),
    when=unified,
    mentions=("async_training",),
    topics=("batch", "rollout"),
    bad=f"{LAUNCH} rllm.async_training.enable=true rllm.async_training.mini_batch_size=32"
    " rllm.async_training.fwd_bwd_group_size=16",
    good=f"{LAUNCH} rllm.async_training.enable=true rllm.async_training.mini_batch_size=32"
    " rllm.async_training.fwd_bwd_group_size=32",
    source=f"{BACKEND}.",
)  # fmt: skip
def asynchronous(o: Operands) -> Iterator[Finding]:
    """verl updates once for each mini-batch, so that what is passed forward and backward is one."""
    if o.on is not True:
        return
    if type(o.group) is int and type(o.mini) is int and o.group != o.mini:
        yield o.fault(
            "group", f"{o('group')} is not {o('mini')}, which rLLM asserts on verl", "mini",
            help=f"set it to {o.mini}, or to null",
        )  # fmt: skip
    if o.partial is True and o.remote is True:
        yield o.fault("partial", "partial_rollout with remote_runtime.enabled, which rLLM refuses", "remote")


@relation(
    "INV723", "rejection-multiplier-without-rejection", "rllm",
    factor=value("rllm.rejection_sample.multiplier"), on=value("rllm.rejection_sample.enable"),
    mentions=("rejection_sample",),
    topics=("batch",),
    bad=f"{LAUNCH} rllm.rejection_sample.multiplier=2 rllm.rejection_sample.enable=false",
    good=f"{LAUNCH} rllm.rejection_sample.multiplier=2 rllm.rejection_sample.enable=true",
    source="rLLM main of 2026-08-15, `trainer/unified_trainer.py`, `trainer/verl/agent_workflow_trainer.py`; "
    "`rejection_sample.enable`: default false.",
)  # fmt: skip
def rejection(o: Operands) -> Iterator[Finding]:
    """More prompts are drawn than needed only where some are to be rejected."""
    if type(o.factor) in (int, float) and o.factor != 1 and (o.on is False or (o["on"].unset and o.run.command)):
        yield o.fault(
            "factor", f"rejection_sample.{o('factor')} with enable off, which rLLM asserts against", "on",
            help="set rllm.rejection_sample.enable=true",
        )  # fmt: skip


@relation(
    "INV724", "stepwise-advantage-is-broadcast", "rllm",
    mode=value("rllm.stepwise_advantage.mode"),
    when=unified, severity=WARNING,
    mentions=("stepwise_advantage",),
    topics=("loss",),
    unless="The older trainer for workflows has both.",
    bad=f"{LAUNCH} rllm.stepwise_advantage.mode=per_step",
    good=f"{LAUNCH} rllm.stepwise_advantage.mode=broadcast",
    source=f"{BACKEND} sets it to broadcast; `trainer/algorithms/advantage.py` asserts that.",
)  # fmt: skip
def stepwise(o: Operands) -> Iterator[Finding]:
    """The unified trainer gives each step its trajectory's advantage, whatever is asked for."""
    if isinstance(o.mode, str) and o.mode != "broadcast":
        yield o.fault(
            "mode", f"stepwise_advantage.{o('mode')} has no effect: rLLM's unified trainer sets broadcast",
            help="set it to broadcast",
        )  # fmt: skip


@relation(
    "INV725", "nothing-to-correct-in-rllm", "rllm",
    bypass=value("rllm.algorithm.rollout_correction.bypass_mode"),
    tis=value("rllm.algorithm.rollout_correction.tis_mode"),
    when=unified,
    mentions=("rollout_correction",),
    topics=("rollout",),
    bad=f"{LAUNCH} rllm.algorithm.rollout_correction.bypass_mode=true"
    " rllm.algorithm.rollout_correction.tis_mode=token",
    good=f"{LAUNCH} rllm.algorithm.rollout_correction.bypass_mode=false"
    " rllm.algorithm.rollout_correction.tis_mode=token",
    source=f'{BACKEND}: "IS correction is meaningless".',
)  # fmt: skip
def correction(o: Operands) -> Iterator[Finding]:
    """With the rollout's own log-probabilities as the old policy's, importance sampling has nothing to correct."""
    if o.bypass is True and o.tis is not None:
        yield o.fault("tis", f"rollout_correction.{o('tis')} with bypass_mode true, which rLLM refuses", "bypass",
                      help="set one of them off")  # fmt: skip


@relation(
    "INV726", "router-replay-of-rllm", "rllm",
    mode=value("rllm.algorithm.router_replay"), strategy=of("verl", "actor_rollout_ref.actor.strategy"),
    engine=of("verl", "model_engine"), remote=value("rllm.remote_runtime.enabled"),
    when=unified,
    mentions=("algorithm.router_replay",),
    topics=("moe",),
    bad=f"{LAUNCH} rllm.algorithm.router_replay=R3 actor_rollout_ref.actor.strategy=fsdp2",
    good=f"{LAUNCH} rllm.algorithm.router_replay=R3 actor_rollout_ref.actor.strategy=megatron",
    source=f"{BACKEND}: \"requires actor.strategy='megatron'\"; `trainer/unified_trainer.py`: R3 and the gateway.",
)  # fmt: skip
def replay(o: Operands) -> Iterator[Finding]:
    """Expert choices are replayed by Megatron, and they don't pass the gateway of a remote runtime."""
    if o.mode in (None, "disabled"):
        return
    if isinstance(o.strategy, str) and o.strategy != "megatron":
        yield o.fault("mode", f"router_replay {o.mode} with actor.{o('strategy')}, which rLLM refuses", "strategy",
                      help="train with megatron, or set rllm.algorithm.router_replay=disabled")  # fmt: skip
    elif o.mode == "R3" and o.remote is True:
        yield o.fault("mode", "router_replay R3 with remote_runtime.enabled, which rLLM refuses", "remote")


@relation(
    "INV727", "verl-settings-that-rllm-sets", "rllm",
    on=value("rllm.async_training.enable"), backend=of("verl", "actor_rollout_ref.rollout.checkpoint_engine.backend"),
    hybrid=of("verl", "actor_rollout_ref.hybrid_engine"),
    mini=of("verl", "actor_rollout_ref.actor.ppo_mini_batch_size"),
    own=value("rllm.async_training.mini_batch_size"),
    when=unified, severity=WARNING,
    mentions=("async_training",),
    topics=("weight-sync", "batch"),
    bad=f"{LAUNCH} rllm.async_training.enable=true actor_rollout_ref.rollout.checkpoint_engine.backend=naive",
    good=f"{LAUNCH} rllm.async_training.enable=true actor_rollout_ref.rollout.checkpoint_engine.backend=nccl",
    source="rLLM main of 2026-08-15, `trainer/verl/utils.py`: the end of `sync_config`.",
)  # fmt: skip
def overwritten(o: Operands) -> Iterator[Finding]:
    """How weights reach the engine, and what a mini-batch is, follows from whether training is asynchronous."""
    if o.on is not True and o.on is not False:
        return
    why = "with async_training" if o.on else "without async_training"
    backend = "nccl" if o.on else "naive"
    wrong = (
        ("backend", backend, o.backend == "naive" if o.on else isinstance(o.backend, str) and o.backend != "naive"),
        ("hybrid", str(not o.on).lower(), isinstance(o.hybrid, bool) and o.hybrid is o.on),
        ("mini", str(o.own), o.on and type(o.mini) is int and type(o.own) is int and o.mini != o.own),
    )
    for name, set_to, broken in wrong:
        if broken:
            yield o.fault(name, f"{o(name)} has no effect: {why} rLLM sets {set_to}", "on", help="remove it")


RULES: tuple[Rule, ...] = tuple(relations(globals()))
