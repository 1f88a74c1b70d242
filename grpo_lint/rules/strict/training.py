"""Strict forms about the objective: clipping, groups, rewards, the critic, and the launch."""

from __future__ import annotations

from grpo_lint.rules.avoidance import limits
from grpo_lint.rules.avoidance.estimator import GROUP_RELATIVE
from grpo_lint.rules.strict.zero import is_muon
from grpo_lint.rules.verdict import (
    Form,
    Verdict,
    fails,
    form,
    hidden,
    inapplicable,
    lacking,
    number,
    passes,
    said,
    untold,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.runconfig import RunConfig
    from grpo_lint.unified import Setting

GROUPING = frozenset(name for names in GROUP_RELATIVE.values() for name in names)
UNGROUPED = frozenset(("gae", "ppo", "reinforce", "reinforce_plus_plus", "remax", "sft", "pretrain"))
WITH_CRITIC = frozenset(("gae", "ppo"))


def no_group(run: RunConfig) -> Verdict | None:
    """Not applicable where the estimator is known to compare no group."""
    estimator = run.algorithm
    if estimator.known and str(estimator.value) in UNGROUPED:
        return inapplicable(f"{estimator.value} compares no group of responses", estimator)
    return None


def size_speaker(size: Setting) -> str:
    """The rule that reports a group as too small to learn from."""
    count = number(size)
    if count is None or count >= 4:
        return ""
    return "NOT07" if count <= 1 else "DO07"


@form("DO02", "gradient_clipping", "optimizer")
def clip_of_one(run: RunConfig) -> Verdict:
    """Stated: a gradient clip of 1.0, since the default of 0.0 switches it off without a word.

    Fails when the clip in force is not 1.0; 0 is reported as NOT16. Not applicable with Muon, for which NOT02 speaks.
    """
    clip = run.gradient_clipping
    if is_muon(run.optimizer):
        return inapplicable("clipping is another matter with Muon", run.optimizer)
    undecided = hidden(("gradient_clipping", clip))
    if undecided is not None or clip.unset or clip.value is None:
        return undecided or untold("gradient_clipping")
    size = number(clip)
    if size is None:
        return Verdict("undecided", f"{said(clip, 'gradient_clipping')}: the trainer fills it in", clip)
    if size == 1:
        return passes(clip, "gradient_clipping")
    help_ = "set the clip to 1.0"
    return fails(clip, "gradient_clipping", "asks for a clip of 1.0", help_, "NOT16" if size == 0 else "")


@form("NOT16", "gradient_clipping", "optimizer")
def clip_of_zero(run: RunConfig) -> Verdict:
    """Stated: no gradient clip of 0.0, which switches clipping off without a word.

    Fails when the clip in force is 0, also by default. Not applicable with Muon, for which NOT02 speaks.
    """
    clip = run.gradient_clipping
    if is_muon(run.optimizer):
        return inapplicable("clipping is another matter with Muon", run.optimizer)
    undecided = hidden(("gradient_clipping", clip))
    if undecided is not None or clip.unset or clip.value is None:
        return undecided or untold("gradient_clipping")
    if number(clip) == 0:
        return fails(clip, "gradient_clipping", "forbids a clip of 0", "set the clip to 1.0")
    return passes(clip, "gradient_clipping")


@form("DO04", "group_by_prompt", "algorithm")
def group_by_prompt(run: RunConfig) -> Verdict:
    """Stated: advantages are grouped by prompt, for correct normalisation in GRPO.

    Fails when the unified config says `"group_by_prompt": false`, or the estimator is one that compares no group.
    """
    told, estimator = run.group_by_prompt, run.algorithm
    demand, help_ = "asks for advantages that are grouped by prompt", "use grpo or another group-relative estimator"
    if told.known and told.value is False:
        return fails(told, "group_by_prompt", demand, "group by prompt")
    if estimator.known and str(estimator.value) in UNGROUPED:
        return fails(estimator, "algorithm", demand, help_)
    undecided = hidden(("group_by_prompt", told), ("algorithm", estimator))
    if undecided is not None:
        return undecided
    if told.known:
        return passes(told, "group_by_prompt")
    if estimator.unset:
        return untold("group_by_prompt")
    if estimator.value in GROUPING:
        return passes(estimator, "algorithm")
    return Verdict("undecided", f"{said(estimator, 'algorithm')}: whether it groups isn't known", estimator)


@form("DO07", "group_size", "algorithm")
def group_of_four(run: RunConfig) -> Verdict:
    """Stated: four responses a prompt at least, since one degenerates to REINFORCE.

    Fails when the group size is below 4; 1 is reported as NOT07. Not applicable where the estimator compares no group.
    """
    return _group(run, 4, "asks for groups of 4 or more")


def _group(run: RunConfig, least: int, demand: str) -> Verdict:
    size = run.group_size
    undecided = no_group(run) or hidden(("group_size", size))
    if undecided is not None or size.unset or number(size) is None:
        return undecided or untold("group_size")
    if size.value >= least:
        return passes(size, "group_size")
    speaker = size_speaker(size) if size.value < 2 else ""
    return fails(size, "group_size", demand, f"set the group size to {least} or more", speaker)


@form("NOT07", "group_size", "algorithm")
def group_of_one(run: RunConfig) -> Verdict:
    """Stated: never one response a prompt, which degenerates to REINFORCE.

    Fails when the group size is 1, also by default. Not applicable where the estimator compares no group.
    """
    verdict = _group(run, 2, "forbids a group of one")
    verdict.speaker = ""
    return verdict


@form("DO13", "group_size", "moe", "reward_kind")
def group_of_eight(run: RunConfig) -> Verdict:
    """Stated: eight responses a prompt at least for a sparse mixture of experts. (Where the rule comes from, "sparse"
    means sparse rewards; both are looked at.)

    Fails when the group size is below 8 and the model is a mixture of experts or the reward is known to be sparse.
    Reported as DO07 or NOT07 where the group is too small for those.
    """
    size, moe, reward = run.group_size, run.moe, run.reward_kind
    undecided = no_group(run) or hidden(("group_size", size))
    if undecided is not None or size.unset or number(size) is None:
        return undecided or untold("group_size")
    if size.value >= 8:
        return passes(size, "group_size")
    sparse = reward.known and reward.value == "sparse"
    if sparse or moe.value is True:
        why = (reward, "sparse rewards") if sparse else (moe, "a mixture of experts")
        demand = f"asks for groups of 8 or more with {why[1]}"
        help_ = "set the group size to 8 or more"
        return fails(size, "group_size", demand, help_, size_speaker(size), (why,))
    undecided = hidden(("moe", moe), ("reward_kind", reward))
    if undecided is not None:
        return undecided
    if moe.known and reward.known:
        return inapplicable(f"a dense model, and {said(reward, 'reward_kind')}", moe)
    return untold(*(name for name, setting in (("moe", moe), ("reward_kind", reward)) if setting.unset))


@form("DO12", "reward_kind")
def shaped_rewards(run: RunConfig) -> Verdict:
    """Stated: shaped rewards rather than flat outcome rewards.

    Fails when the reward is known to be an outcome only. What a reward is stands in code, so a run is rarely known to.
    """
    reward = run.reward_kind
    undecided = hidden(("reward_kind", reward))
    if undecided is not None or reward.unset:
        return undecided or untold("reward_kind")
    if reward.value in ("outcome", "sparse"):
        return fails(reward, "reward_kind", "asks for shaped rewards", "grade responses by how far they get")
    return passes(reward, "reward_kind")


@form("NOT11", "group_size", "reward_kind", "algorithm", warns=True)
def outcome_with_small_group(run: RunConfig) -> Verdict:
    """Stated: no outcome reward with fewer than 16 responses a prompt, since small groups are too noisy for it.

    Warns when the group size is below 16 and the reward isn't known to be shaped. Reported as DO07, NOT07 or DO13 where
    the group is too small for those.
    """
    size, reward = run.group_size, run.reward_kind
    if reward.known and reward.value == "shaped":
        return passes(reward, "reward_kind")
    undecided = no_group(run) or hidden(("group_size", size))
    if undecided is not None or size.unset or number(size) is None:
        return undecided or untold("group_size")
    if size.value >= 16:
        return passes(size, "group_size")
    known = f"the reward is {reward.value}" if reward.known else "nothing tells that the reward is shaped"
    demand = f"asks for groups of 16 or more where {known}"
    help_ = "raise the group size, shape the reward, or filter groups whose rewards are all equal"
    verdict = fails(size, "group_size", demand, help_, size_speaker(size) or "DO13")
    verdict.state = "warn"
    return verdict


@form("NOT08", "use_critic", "algorithm", "gpu_memory")
def critic_on_small_gpu(run: RunConfig) -> Verdict:
    """Stated: no PPO clipping on an RTX 4090, since it needs 65.06 GiB. (Clipping costs no memory; what is meant is
    PPO with a critic.)

    Fails when a critic is trained on GPUs of 24 GiB or less.
    """
    critic, memory = run.use_critic, run.gpu_memory
    if critic.unset and run.algorithm.known:
        critic = run.algorithm.map(lambda name: str(name) in WITH_CRITIC)
        critic = critic if critic.value else run.use_critic
    undecided = hidden(("use_critic", critic))
    if undecided is not None or critic.unset:
        return undecided or untold("use_critic")
    if critic.value is not True:
        return passes(critic, "use_critic")
    undecided = hidden(("gpu_memory", memory))
    size = number(memory)
    if undecided is not None or size is None:
        return undecided or lacking("gpu_memory", critic, "a critic is trained")
    if size > 24:
        return passes(memory, "gpu_memory")
    others = ((memory, f"{size:g} GiB"),)
    demand = f"forbids a critic on a GPU of {size:g} GiB"
    return fails(critic, "use_critic", demand, "use an estimator without a critic, such as grpo", "", others)


@form("DO11", "ulimit")
def open_files(run: RunConfig) -> Verdict:
    """Stated: `ulimit -n 65535`, for NCCL's file descriptors.

    Fails when the launch script sets no limit, or one below 65535. A config file without a launch tells nothing.
    """
    limit = run.ulimit if not run.ulimit.unset else limits.open_files(run)
    undecided = hidden(("ulimit", limit))
    if undecided is not None:
        return undecided
    demand, help_ = "asks for ulimit -n 65535", "put `ulimit -n 65535` before the launch"
    if limit.unset:
        if not run.command:
            return untold("ulimit")
        return Verdict("fail", "the launch script sets no limit on open files", run.anchor, demand, (), help_)
    size = number(limit)
    if size is not None and size < 65535:
        return fails(limit, "ulimit", demand, help_)
    return passes(limit, "ulimit")


@form("DO18", "multi_turn", "env_loss_coef")
def echo_loss(run: RunConfig) -> Verdict:
    """Stated: the ECHO auxiliary loss on what the environment answers, since it is free.

    Fails when responses take turns with an environment and no such loss is on. Not applicable otherwise.
    """
    turns, weight = run.multi_turn, run.env_loss_coef
    undecided = hidden(("multi_turn", turns))
    if undecided is not None:
        return undecided
    if turns.value is not True:
        why = said(turns, "multi_turn") if turns.known else "nothing tells that responses take turns"
        return inapplicable(why, turns if turns.known else None)
    undecided = hidden(("env_loss_coef", weight))
    if undecided is not None:
        return undecided
    if (number(weight) or 0) > 0:
        return passes(weight, "env_loss_coef")
    demand, help_ = "asks for the ECHO loss", "add an auxiliary loss on the environment's tokens (weight 0.01 to 0.05)"
    others = ((weight, "its weight"),) if weight.known else ()
    return fails(turns, "multi_turn", demand, help_, "", others)


FORMS: tuple[Form, ...] = (
    clip_of_one,
    clip_of_zero,
    group_by_prompt,
    group_of_four,
    group_of_one,
    group_of_eight,
    shaped_rewards,
    outcome_with_small_group,
    critic_on_small_gpu,
    open_files,
    echo_loss,
)
