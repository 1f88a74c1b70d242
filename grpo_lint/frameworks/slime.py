"""slime and its fork miles: a command line of three namespaces, slime's, Megatron's, and SGLang's after `--sglang-`.

Read: slime v0.1.0 to v0.3.1 and main of 2026-08-21 (slime/utils/arguments.py), miles main of 2026-08-21
(miles/utils/arguments.py), which has the same defaults for what the unified config holds; there run.engine is "miles".
"""

from __future__ import annotations

import os

from grpo_lint.frameworks import flags, megatron
from grpo_lint.frameworks.shape import copy, experts, given
from grpo_lint.unified import Origin, Setting, derived

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.discover import Repository
    from grpo_lint.launch import Launch
    from grpo_lint.located import Problem
    from grpo_lint.runconfig import RunConfig

NAME = "slime"
MILES = "miles"

DIALECT = flags.Dialect(NAME, (("slime", ""), ("megatron", ""), ("sglang", "--sglang-")))
PACKAGES = {"megatron": "megatron-core"}

TELLING = frozenset(
    (
        "--rollout-batch-size", "--n-samples-per-prompt", "--advantage-estimator", "--hf-checkpoint", "--num-rollout",
        "--rollout-num-gpus", "--rollout-num-gpus-per-engine", "--actor-num-gpus-per-node", "--actor-num-nodes",
        "--prompt-data", "--rollout-max-response-len", "--ref-load", "--rm-type", "--custom-rm-path", "--num-epoch",
        "--rollout-function-path", "--custom-generate-function-path", "--colocate",
    )
)  # fmt: skip
"""Options that tell slime's command line from others, three of them at least."""


def recognises(launch: Launch) -> bool:
    """Whether a launch runs slime's train.py, train_async.py or a program of the same arguments."""
    if not launch.is_module and not launch.program.endswith(".py"):
        return False
    return len(TELLING.intersection(word.text.partition("=")[0] for word in launch.args)) >= 3


def read(launch: Launch, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read a launch's arguments into `run`, over the defaults of slime and Megatron."""
    folder = os.path.dirname(path)
    if MILES in launch.program or repository.find("miles/utils/arguments.py", folder) is not None:
        run.engine = MILES
    arguments = flags.parse(launch.args, DIALECT)
    flags.use_defaults(run, DIALECT, PACKAGES)
    flags.put(arguments, run, DIALECT)
    if arguments.last("--custom-config-path") is not None:  # its file overrides any of them
        run.complete = False
    return []


def unify(run: RunConfig) -> None:
    """Fill the unified fields from slime's options."""
    fields = run.fields
    megatron.unify_trainer(run)
    for field, key in (
        ("group_size", "--n-samples-per-prompt"),
        ("algorithm", "--advantage-estimator"),
        ("n_gpus", "--actor-num-gpus-per-node"),
        ("nnodes", "--actor-num-nodes"),
    ):
        fields[field] = run.option(NAME, key)
    copy(
        run,
        {
            "bypass_mode": "--use-rollout-logprobs",
            "enforce_eager": "--sglang-disable-cuda-graph",
            "rollout_tp": "--rollout-num-gpus-per-engine",
            "model_path": "--hf-checkpoint",
        },
    )
    if run.engine == MILES:
        copy(run, {"lora_rank": "--lora-rank"})
    fields["rollout_engine"] = _rollout_engine(run)
    if fields["algorithm"].known:
        note = "ppo alone trains a critic"
        fields["use_critic"] = derived(fields["algorithm"].value == "ppo", fields["algorithm"], note=note)
    reference = _reference(run)
    if reference is not None:
        fields["ref_in_actor"] = reference
    if not fields["algorithm"].unset:
        fields["async_rollout"] = run.option(NAME, "--colocate").map(lambda on: on is not True)
    if "moe" not in fields:
        experts(run, given(run, "--hf-checkpoint"))
    fields["dp_size"] = megatron.data_parallel_size(run, fields["n_gpus"], fields["nnodes"])


def _rollout_engine(run: RunConfig) -> Setting:
    """SGLang always; its own options are where a person sees it."""
    for _, key, setting in run.options.written(NAME):
        if key.startswith("--sglang-") and setting.span is not None:
            return derived("sglang", setting, note="slime generates with SGLang alone")
    origin = Origin("derived", run.anchor, (), "slime generates with SGLang alone", "", "sglang")
    return Setting("known", "sglang", (origin,))


def _reference(run: RunConfig) -> Setting | None:
    """The actor swaps the reference's weights in where a KL term needs them; None where nothing says so."""
    load, loss, coefficient = (given(run, name) for name in ("--ref-load", "--use-kl-loss", "--kl-loss-coef"))
    penalty = given(run, "--kl-coef")
    if not load.known:
        return None
    if loss.value is True:
        return derived(True, load, loss, coefficient, note="the actor holds the reference's weights besides its own")
    if penalty.known and penalty.value not in (0, 0.0):
        return derived(True, load, penalty, note="the actor holds the reference's weights besides its own")
    return None
