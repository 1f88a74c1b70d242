"""What the rules about verl ask of a run, besides the values of its options."""

from __future__ import annotations

import re

from grpo_lint.frameworks import verl
from grpo_lint.unified import UNSET, Setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.runconfig import RunConfig

# Compiled when they are first needed, as the expressions of all rules are: most runs need few of them.
_TRAINERS = (
    ".verl.trainer.main_ppo",
    ".verl.experimental.fully_async_policy.",
    ".verl.experimental.one_step_off_policy.",
)
"""How a trainer is named, as a module or a file; a dot stands for a slash, and for the start."""
_STARTS = (
    "n_agent", "n_rollout", "n_resp", "n_sample", "n_generation", "group_size", "rollout_n", "num_resp", "num_sample",
    "num_generation", "num_rollout", "num_return", "samples_per_", "responses_per_", "generations_per_",
    "rollouts_per_",
)  # fmt: skip
"""How the last part of a key starts that the expression below finds."""
_OWN_GROUP_SIZE = r"""(?x)
    (?:^|\.) (?: n_agent | n_rollouts? | n_(?:resp|sample|generation)\w* | group_size | rollout_(?:n|num)
             | num_(?:resp|sample|generation|rollout|return)\w* | (?:samples|responses|generations|rollouts)_per_\w+ ) $
    """
_FSDP = ("fsdp", "fsdp2", "fsdp_turbo")


def is_verl(run: RunConfig) -> bool:
    return run.framework == verl.NAME


def own_trainer(run: RunConfig) -> bool:
    """Whether one of verl's own trainers is started: a recipe's or a fork's may mean something else by a key."""
    return is_verl(run) and any(
        trainer in f".{word.text}".replace("/", ".") for word in run.command for trainer in _TRAINERS
    )


def launched(run: RunConfig) -> bool:
    """Whether one of verl's own trainers is started on its own tree, which then fills what nobody writes.

    A YAML file alone proves no default: recipes keep base configs that a command line completes.
    """
    return run.complete and own_trainer(run)


def effective(run: RunConfig, key: str) -> Setting:
    """An option that someone wrote, or the default of a trainer that is really started; else unset."""
    setting = verl.option(run, key)
    return setting if setting.explicit or not setting.decided or launched(run) else UNSET


def trains(run: RunConfig) -> bool:
    """Whether a policy is updated by reinforcement: not when the run only validates, nor when it distils a teacher."""
    return not any(
        setting.value is True or not setting.decided
        for setting in (verl.option(run, "trainer.val_only"), verl.option(run, "distillation.enabled"))
    )


def own_group_size(run: RunConfig) -> bool:
    """Whether a key that verl's tree lacks looks like a fork's own group size (`rollout.n_agent`, TinyZero)."""
    mirror = f"{verl.ACTOR}.rollout_n"
    return any(
        key.rpartition(".")[2].startswith(_STARTS)
        and re.search(_OWN_GROUP_SIZE, key)
        and "val" not in key
        and ".qat." not in key
        and key != mirror
        for _, key, _ in run.options.written(verl.NAME)
    )


def fsdp(run: RunConfig) -> bool:
    """Whether the actor is known to run on one of verl's FSDP engines."""
    strategy = verl.option(run, f"{verl.ACTOR}.strategy")
    if strategy.known:
        return strategy.value in _FSDP
    return strategy.unset and run.engine in ("dp", "fully_async", "one_step_off")


def megatron(run: RunConfig) -> bool:
    """Whether the actor is known to run on verl's Megatron engine."""
    strategy = verl.option(run, f"{verl.ACTOR}.strategy")
    return strategy.value == "megatron" if strategy.known else strategy.unset and run.engine == "megatron"


def positive(setting: Setting) -> bool:
    return setting.known and type(setting.value) is int and setting.value > 0


def adapters(run: RunConfig) -> Setting:
    """The rank of the adapters that the rollout engine is to serve; UNSET without LoRA, or when they are merged.

    Unknown where that depends on what isn't known.
    """
    rank, merge = run.lora_rank, run.lora_merge
    if not positive(rank):
        return rank if not rank.decided else UNSET
    if not merge.decided:
        return merge
    return UNSET if merge.value is True else rank
