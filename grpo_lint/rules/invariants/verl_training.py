"""INV168 to INV182: what verl computes otherwise than its options say, what it leaves out, and what it never saves."""

from __future__ import annotations

from grpo_lint.diagnostics import ERROR, NOTE, WARNING
from grpo_lint.frameworks.verl import ACTOR, DTYPES, FSDP, MEGATRON, ROLLOUT
from grpo_lint.rules.avoidance.verl_run import fsdp, megatron, own_trainer, trains
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
from grpo_lint.rules.invariants.verl_batches import DYNAMIC, ENGINE, REF
from grpo_lint.rules.invariants.verl_shares import TOKENS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Finding, Rule
    from grpo_lint.runconfig import RunConfig

MANAGER = "reward.reward_manager"
REGISTERED = ("naive", "dapo", "gdpo", "remote", "rate_limited")
MANY = 100
"""Steps from which on a run without a checkpoint is worth a word."""


def started(run: RunConfig) -> bool:
    """Whether one of verl's own trainers trains a policy."""
    return own_trainer(run) and trains(run)


@relation(
    "INV168", "reward-manager-without-module", "verl",
    kind=value(f"{MANAGER}.source"), name=value(f"{MANAGER}.name"), module=value(f"{MANAGER}.module.path"),
    when=is_own, since="0.8.0",
    mentions=("reward_manager",),
    topics=("reward",),
    bad=f"{MANAGER}.source=importlib {MANAGER}.name=MyRewardManager",
    good=f"{MANAGER}.source=importlib {MANAGER}.name=MyRewardManager {MANAGER}.module.path=rewards.py",
    target="verl=0.9.1",
    source="verl 0.8.0 to 0.9.1, `workers/config/reward.py`: `RewardManagerConfig`; "
    "`experimental/reward_loop/reward_manager/`: the registered names.",
)  # fmt: skip
def manager(o: Operands) -> Iterator[Finding]:
    """A reward manager is one of verl's own, by its name, or a class of a module that is named too."""
    if o.kind == "importlib" and o.module is None:
        yield o.fault(
            "kind", "reward_manager.source importlib without module.path, which verl asserts", "module",
            help=f"set {MANAGER}.module.path",
        )  # fmt: skip
    elif o.kind == "register" and isinstance(o.name, str) and o["name"].explicit and o.name not in REGISTERED:
        yield o.fault(
            "name",
            f"reward_manager.name {o.name} is not registered: verl has {', '.join(REGISTERED)}",
            help=f"choose one of them, or set {MANAGER}.source=importlib and {MANAGER}.module.path",
            severity=ERROR if o.run.before("verl", "0.8.0") is False else NOTE,
        )


@relation(
    "INV169", "resuming-from-hdfs", "verl",
    folder=value("trainer.default_hdfs_dir"), mode=value("trainer.resume_mode"),
    when=is_own, since="0.2",
    mentions=("default_hdfs_dir",),
    topics=("checkpoint",),
    bad="trainer.default_hdfs_dir=hdfs://cluster/checkpoints trainer.resume_mode=auto",
    good="trainer.default_hdfs_dir=hdfs://cluster/checkpoints trainer.resume_mode=disable",
    target="verl=0.8.0",
    unless="The trainer of `trainer.use_v1` does not look at it.",
    source="verl 0.2 to 0.9.1, `trainer/ppo/ray_trainer.py`: `_load_checkpoint` raises NotImplementedError. "
    "`resume_mode`: default auto.",
)  # fmt: skip
def hdfs(o: Operands) -> Iterator[Finding]:
    """Checkpoints go to HDFS and never come back: a run that may resume stops at once."""
    newer = before(o.run, "verl", "0.9.0") is not True
    v1 = o.run.option("verl", "trainer.use_v1")
    if newer and (not v1.decided or v1.value is not False):
        return
    if isinstance(o.folder, str) and o["folder"].explicit and isinstance(o.mode, str) and o.mode != "disable":
        yield o.fault(
            "folder",
            f"default_hdfs_dir with {o('mode')}: loading from HDFS is not implemented, and verl raises at start",
            "mode",
            help="set trainer.resume_mode=disable, or keep checkpoints in trainer.default_local_dir",
        )


@relation(
    "INV173", "token-budget-is-null", "verl",
    dynamic=flag(DYNAMIC), train=value(TOKENS), infer=value(f"{ROLLOUT}.log_prob_max_token_len_per_gpu"),
    since="0.8.0",
    mentions=("max_token_len",),
    topics=("batch", "length"),
    bad=f"{DYNAMIC}=True {TOKENS}=null {ROLLOUT}.log_prob_max_token_len_per_gpu=16384",
    good=f"{DYNAMIC}=True {TOKENS}=16384 {ROLLOUT}.log_prob_max_token_len_per_gpu=16384",
    target="verl=0.9.1",
    source="verl 0.8.0 to 0.9.1, `workers/engine_workers.py`: `init_model` asserts both.",
)  # fmt: skip
def budgets(o: Operands) -> Iterator[Finding]:
    """Micro-batches that are made by their tokens need a number of tokens."""
    for name in ("train", "infer"):
        if o.dynamic and getattr(o, name) is None and o[name].explicit:
            yield o.fault(name, f"{o[name].key} is null with {o('dynamic')}: verl asserts a number", "dynamic")
            return


@relation(
    "INV176", "nothing-is-saved", "verl",
    every=number("trainer.save_freq"), steps=value("trainer.total_training_steps"), nodes=value("trainer.nnodes"),
    when=started, severity=NOTE, since="0.2",
    mentions=("total_training_steps",),
    topics=("checkpoint",),
    bad="trainer.save_freq=-1 trainer.total_training_steps=500",
    good="trainer.save_freq=50 trainer.total_training_steps=500",
    unless=f"Runs of fewer than {MANY} steps, and those that count epochs, are left alone.",
    source="verl 0.2 to 0.9.1, `trainer/ppo/ray_trainer.py`, `trainer/ppo/v1/trainer_base.py`: a checkpoint is saved "
    "where `save_freq > 0`, the last step's included. `save_freq`: default -1.",
)  # fmt: skip
def unsaved(o: Operands) -> Iterator[Finding]:
    """With `save_freq` -1 verl saves no checkpoint, not even that of the last step.

    The trained weights are gone with the process, and a run that is cut off starts over.
    """
    if o.every <= 0 and type(o.steps) is int and o.steps >= MANY:
        yield o.fault(
            "every",
            f"{o('every')} over {o.steps} steps: nothing is saved, not even the last step's weights",
            "steps",
            help=f"set trainer.save_freq to {max(o.steps // 10, 1)}, say",
        )


@relation(
    "INV177", "trainer-and-rollout-differ-in-precision", "verl",
    rollout=value(f"{ROLLOUT}.dtype"), fsdp=value(f"{FSDP}.dtype"), param=value(f"{FSDP}.mixed_precision.param_dtype"),
    mega=value(f"{MEGATRON}.dtype"),
    when=lambda run: fsdp(run) or megatron(run), severity=WARNING, since="0.6.0",
    mentions=("dtype",),
    topics=("precision", "rollout"),
    bad=f"{ENGINE}=vllm {ROLLOUT}.dtype=float16",
    good=f"{ENGINE}=vllm {ROLLOUT}.dtype=float16 +{FSDP}.mixed_precision.param_dtype=fp16",
    target="verl=0.9.1",
    unless="fp32 beside a half precision is left alone.",
    source="verl 0.6.1, 0.7.1, `workers/fsdp_workers.py`: `mixed_precision.param_dtype`, else `fsdp_config.dtype`; "
    "0.8.0 to 0.9.1, `workers/engine/fsdp/transformer_impl.py`: `mixed_precision.param_dtype`, else bf16; "
    "`fsdp_config.dtype` is read by nothing there.",
)  # fmt: skip
def precision(o: Operands) -> Iterator[Finding]:
    """Rollout and trainer compute the same tokens' log-probabilities, and in two half precisions they differ.

    The importance ratio is then off before the first update. In verl's FSDP engine from 0.8.0 on the trainer's type
    is that of `mixed_precision.param_dtype`: `fsdp_config.dtype` is accepted, and nothing reads it.
    """
    new = before(o.run, "verl", "0.8.0")
    name = "mega" if megatron(o.run) else "param" if o.param is not None else "fsdp"
    if name == "fsdp" and new is None:
        return
    trained, ignored = getattr(o, name), name == "fsdp" and new is False
    trained = "bf16" if ignored else DTYPES.get(str(trained), "")
    generated = DTYPES.get(str(o.rollout), "")
    if {trained, generated} == {"bf16", "fp16"}:
        unread = " (fsdp_config.dtype is read by nothing)" if ignored and o["fsdp"].explicit else ""
        yield o.fault(
            name if o[name].explicit and not o["rollout"].explicit else "rollout",
            f"the rollout computes in {generated} and the trainer in {trained}{unread}: their log-probabilities of the"
            " same tokens differ",
            *(("rollout",) if o[name].explicit and not o["rollout"].explicit else (name,)),
            help=f"set {ROLLOUT}.dtype=bfloat16, or {FSDP}.mixed_precision.param_dtype=fp16"
            if name != "mega"
            else f"set {MEGATRON}.dtype and {ROLLOUT}.dtype alike",
        )


@relation(
    "INV178", "rollout-is-greedy", "verl",
    temperature=number(f"{ROLLOUT}.temperature"), n=number(f"{ROLLOUT}.n"),
    sampled=flag(f"{ROLLOUT}.val_kwargs.do_sample"),
    when=started, since="0.2",
    mentions=("temperature",),
    topics=("sampling", "group"),
    bad=f"{ROLLOUT}.temperature=0",
    good=f"{ROLLOUT}.temperature=1.0",
    source="verl 0.2 to 0.9.1: logits are divided by the temperature (`workers/actor/dp_actor.py`; "
    "`workers/engine/fsdp/transformer_impl.py`: at least 1e-8).",
)  # fmt: skip
def greedy(o: Operands) -> Iterator[Finding]:
    """At temperature 0 a group is one response many times, and its log-probabilities are divided by 0."""
    if o.temperature <= 0 and o.n > 1 and not o.sampled:  # INV126 speaks of the other case
        yield o.fault(
            "temperature",
            f"rollout.{o('temperature')} with {o('n')}: all {o.n} responses are the same, so each advantage is 0",
            "n",
            help=f"set {ROLLOUT}.temperature=1.0; validation has val_kwargs.temperature",
        )


@relation(
    "INV180", "distribution-is-cut-off", "verl",
    p=value(f"{ROLLOUT}.top_p"), k=value(f"{ROLLOUT}.top_k"), temperature=value(f"{ROLLOUT}.temperature"),
    when=started, severity=NOTE, since="0.2",
    mentions=("top_p", "top_k"),
    topics=("sampling",),
    bad=f"{ROLLOUT}.top_p=0.9",
    good=f"{ROLLOUT}.top_p=1.0 {ROLLOUT}.val_kwargs.top_p=0.9",
    source="verl 0.2 to 0.9.1: the trainer's log-probabilities are scaled by the temperature alone "
    "(`workers/actor/dp_actor.py`, `workers/engine/fsdp/transformer_impl.py`).",
)  # fmt: skip
def cut_off(o: Operands) -> Iterator[Finding]:
    """`top_p` and `top_k` draw from a part of the distribution, and the trainer computes with all of it.

    What is cut off can't be drawn, so it can't be learnt, and the rest is drawn more often than the log-probabilities
    say: the rollout is off-policy by that much.
    """
    for name in ("p", "k"):
        size = getattr(o, name)
        cuts = type(size) in (int, float) and (0 < size < 1 if name == "p" else size > 0)
        if cuts and o[name].explicit:
            yield o.fault(
                name,
                f"rollout.{o(name)} cuts the distribution that responses are drawn from, which the trainer's"
                " log-probabilities don't know",
                help=f"remove it for training; validation has {ROLLOUT}.val_kwargs",
            )
            return


@relation(
    "INV181", "kl-coefficient-without-effect", "verl",
    coefficient=number(f"{ACTOR}.kl_loss_coef"), loss=flag(f"{ACTOR}.use_kl_loss"),
    reward=flag("algorithm.use_kl_in_reward"), ref=value(f"{REF}.log_prob_micro_batch_size_per_gpu"),
    when=started, severity=NOTE, since="0.3.0",
    mentions=("kl_loss",),
    topics=("kl",),
    bad=f"{ACTOR}.use_kl_loss=True {ACTOR}.kl_loss_coef=0.0",
    good=f"{ACTOR}.use_kl_loss=False {ACTOR}.kl_loss_coef=0.0",
    source="verl 0.3.0 to 0.9.1, `workers/actor/dp_actor.py`, `workers/utils/losses.py`; `trainer/ppo/utils.py`: "
    "`need_reference_policy`.",
)  # fmt: skip
def kl_effect(o: Operands) -> Iterator[Finding]:
    """A KL loss needs its switch and a coefficient: with one of them it costs something, or does nothing.

    `use_kl_loss` loads a reference policy and computes its log-probabilities at each step, whatever the coefficient is.
    """
    if o.loss and o.coefficient == 0:
        yield o.fault(
            "loss",
            f"use_kl_loss with {o('coefficient')}: the reference policy is loaded and computed for a term that is 0",
            "coefficient",
            help=f"set {ACTOR}.use_kl_loss=False",
        )
    elif not o.loss and not o.reward and o.coefficient > 0 and o["coefficient"].explicit and o["loss"].unset:
        yield o.fault("coefficient", f"{o('coefficient')} has no effect: use_kl_loss is off", "loss")


@relation(
    "INV182", "long-prompt-ends-the-run", "verl",
    filtered=value("data.filter_overlong_prompts"), truncation=value("data.truncation"),
    length=number("data.max_prompt_length"),
    when=is_own, severity=NOTE, since="0.4.0", until="0.7.0",
    mentions=("truncation", "max_prompt_length", "filter_overlong"),
    topics=("length",),
    bad="data.max_prompt_length=1024 data.truncation=error",
    good="data.max_prompt_length=1024 data.truncation=error data.filter_overlong_prompts=True",
    target="verl=0.6.1",
    unless="From 0.7.0 on a longer prompt is cut, whatever `truncation` says.",
    source="verl 0.4.0 to 0.6.1, `utils/dataset/rl_dataset.py`: RuntimeError; `filter_overlong_prompts`: default False."
    " verl-project/verl#673.",
)  # fmt: skip
def long_prompt(o: Operands) -> Iterator[Finding]:
    """With `truncation` error, the first prompt that is too long ends the run, at whatever step it comes."""
    if o.truncation == "error" and o.filtered is False and (o["truncation"].explicit or o["filtered"].explicit):
        at = "truncation" if o["truncation"].explicit else "filtered"
        yield o.fault(
            at,
            f"data.{o('truncation')} with {o('filtered')}: the first prompt of over {o.length} tokens ends the run",
            "filtered" if at == "truncation" else "truncation",
            "length",
            help="set data.filter_overlong_prompts=True",
        )


RULES: tuple[Rule, ...] = tuple(relations(globals()))
