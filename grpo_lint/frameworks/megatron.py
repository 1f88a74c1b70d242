"""Megatron-LM: command lines of its training programs, read as megatron/training/arguments.py does.

Read: core_v0.8.0 to core_v0.19.0 and main of 2026-08-22. Its parser takes no abbreviations, and `-` and `_` differ.
"""

from __future__ import annotations

import os

from grpo_lint.frameworks import flags, megatron_yaml
from grpo_lint.frameworks.deepspeed import as_setting
from grpo_lint.frameworks.documents import named_document
from grpo_lint.frameworks.shape import copy, experts, given, precision, quotient
from grpo_lint.syntax.hydra.overrides import parse
from grpo_lint.unified import UNSET, Origin, Setting, derived

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.discover import Repository
    from grpo_lint.launch import Launch
    from grpo_lint.located import Problem, Value
    from grpo_lint.runconfig import RunConfig

NAME = "megatron"

DIALECT = flags.Dialect(NAME, (("megatron", ""),))
PACKAGES = {"megatron": "megatron-core"}

TELLING = frozenset(
    (
        "--tensor-model-parallel-size", "--pipeline-model-parallel-size", "--context-parallel-size", "--num-layers",
        "--hidden-size", "--num-attention-heads", "--micro-batch-size", "--global-batch-size", "--seq-length",
        "--max-position-embeddings", "--use-distributed-optimizer", "--transformer-impl", "--use-mcore-models",
        "--tokenizer-type", "--train-iters", "--train-samples", "--lr-decay-style", "--perform-rl-step",
    )
)  # fmt: skip
"""Options that tell Megatron's programs from others, four of them at least; forks keep the names."""

WHOLE = "--yaml-cfg"
CONFIGS = ("--config-file", "--config_file", "--config")

TRAINERS = {"pretrain": "pretrain", "posttrain": "sft", "finetune": "sft", "sft": "sft", "train": ""}
"""What a program's name has in it, and what it then trains; a converter of checkpoints, for one, trains nothing."""


def recognises(launch: Launch) -> bool:
    """Whether a launch runs a training program with Megatron's arguments."""
    if not (launch.is_module or launch.program.endswith(".py")) or _trainer(launch) is None:
        return False
    names = {word.text.partition("=")[0] for word in launch.args}
    return len(TELLING & names) >= 4 or WHOLE in names


def _trainer(launch: Launch) -> str | None:
    """What a program trains, by its own name; for a module, that is its last part."""
    name = launch.program.rsplit(".", 1)[-1] if launch.is_module else launch.program.rsplit("/", 1)[-1]
    return next((what for part, what in TRAINERS.items() if part in name), None)


def names_own_config(launch: Launch, folder: str, repository: Repository) -> bool:
    """Whether a program names a YAML of Megatron-Bridge's."""
    root = named_document(launch.args, CONFIGS, folder, repository, "omegaconf")
    return root is not None and megatron_yaml.form_of(root) == "bridge"


def read(launch: Launch, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read a launch's arguments, or the file that takes their place, into `run`, over Megatron's defaults."""
    run.engine = _trainer(launch) or ""
    folder = os.path.dirname(path)
    root = named_document(launch.args, CONFIGS, folder, repository, "omegaconf")
    if root is not None and megatron_yaml.form_of(root) == "bridge":
        return _read_bridge(root, launch, run)
    arguments = flags.parse(launch.args, DIALECT)
    if arguments.last(WHOLE) is not None:
        whole = named_document(launch.args, (WHOLE,), folder, repository, "pyyaml")
        run.complete = whole is not None
        if whole is not None and whole.is_mapping:
            megatron_yaml.put(whole, run, DIALECT)
        return []
    flags.use_defaults(run, DIALECT, PACKAGES)
    flags.put(arguments, run, DIALECT)
    return []


def _read_bridge(root: Value, launch: Launch, run: RunConfig) -> list[Problem]:
    """A recipe's overrides: the file's, then those of the line (`train.global_batch_size=8`). The recipe is Python."""
    run.complete = False
    megatron_yaml.put(root, run, DIALECT)
    problems = []
    for word in launch.args:
        if "=" not in word.text or word.text.startswith("-"):
            continue
        override = parse(word)
        if override.problem is not None:
            problems.append(override.problem)
        elif override.value is not None and override.key and override.prefix != "~":
            for key, value in override.value.leaves(override.key):
                run.options.put(NAME, megatron_yaml.flag_of(key, DIALECT), as_setting(value, key, "override"))
    return problems


def recognises_document(root: Value) -> bool:
    """Whether a YAML document holds Megatron's options in one of the forms that are used."""
    return megatron_yaml.form_of(root) != ""


def read_document(root: Value, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read a YAML document into `run`. A recipe and the line that names a file may say more."""
    form = megatron_yaml.form_of(root)
    if form == "flags":
        flags.use_defaults(run, DIALECT, PACKAGES)
        megatron_yaml.put_flags(root.data["MODEL_ARGS"], run, DIALECT)
    else:
        run.complete = form == "whole"
        megatron_yaml.put(root, run, DIALECT)
    megatron_yaml.put_variables(root, run)
    return []


def unify(run: RunConfig) -> None:
    """Fill the unified fields from Megatron's options."""
    fields = run.fields
    unify_trainer(run)
    if given(run, "--perform-rl-step").value is True:
        fields["algorithm"] = derived("grpo", given(run, "--perform-rl-step"), note="Megatron RL trains by GRPO")
        fields["group_size"] = run.option(NAME, "--grpo-group-size")
        fields["use_critic"] = derived(False, given(run, "--perform-rl-step"), note="GRPO has no critic")
    elif run.engine:
        origin = Origin("derived", run.anchor, (), "what the program trains, by its name", "", run.engine)
        fields["algorithm"] = Setting("known", run.engine, (origin,))
    copy(run, {"model_path": "--load"})
    rank = megatron_yaml.lora_rank(run)
    if rank is not None:
        fields["lora_rank"] = rank
    fields["dp_size"] = data_parallel_size(run, fields.get("n_gpus", UNSET), fields.get("nnodes", UNSET))


def unify_trainer(run: RunConfig) -> None:
    """The fields that Megatron's own options decide, also under the names of a framework that passes them on."""
    fields, framework = run.fields, run.framework
    fields["optimizer"] = run.option(framework, "--optimizer")
    fields["gradient_clipping"] = run.option(framework, "--clip-grad")
    fields["tp"] = run.option(framework, "--tensor-model-parallel-size")
    fields["pp"] = run.option(framework, "--pipeline-model-parallel-size")
    copy(run, {"overlap_comm": "--overlap-grad-reduce", "gating_dtype": "--moe-router-dtype"})
    precision(run, given(run, "--bf16"), given(run, "--fp16"))
    for flag, mode in (("--use-megatron-fsdp", "megatron_fsdp"), ("--use-torch-fsdp2", "fsdp2")):
        if given(run, flag).value is True:
            fields["fsdp_mode"] = derived(mode, given(run, flag))
    offload = given(run, "--optimizer-cpu-offload")
    if offload.value is True:
        fields["offload_optimizer"] = offload.map(lambda _: "cpu")
    experts(run, UNSET, given(run, "--num-experts"))


def data_parallel_size(run: RunConfig, gpus: Setting, nodes: Setting) -> Setting:
    """World size over tensor, pipeline and context parallelism."""
    names = ("tensor-model", "pipeline-model", "context")
    sizes = [run.option(run.framework, f"--{name}-parallel-size") for name in names]
    return quotient((gpus, nodes), sizes, "GPUs x nodes / model-parallel size")
