"""Megatron-LM: command lines of its training programs, read as megatron/training/arguments.py does.

Read: core_v0.8.0 to core_v0.19.0 and main of 2026-08-22. Its parser takes no abbreviations, and `-` and `_` differ.
"""

from __future__ import annotations

from grpo_lint.frameworks import flags
from grpo_lint.frameworks.deepspeed import as_setting
from grpo_lint.frameworks.shape import copy, experts, given, precision, quotient
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

TRAINERS = {"pretrain": "pretrain", "posttrain": "sft", "finetune": "sft", "sft": "sft", "train": ""}
"""What a program's name has in it, and what it then trains; a converter of checkpoints, for one, trains nothing."""


def recognises(launch: Launch) -> bool:
    """Whether a launch runs a training program with Megatron's arguments."""
    if launch.is_module or not launch.program.endswith(".py") or _trainer(launch) is None:
        return False
    return len(TELLING.intersection(word.text.partition("=")[0] for word in launch.args)) >= 4


def _trainer(launch: Launch) -> str | None:
    name = launch.program.rsplit("/", 1)[-1]
    return next((what for part, what in TRAINERS.items() if part in name), None)


def read(launch: Launch, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read a launch's arguments into `run`, over Megatron's defaults."""
    run.engine = _trainer(launch) or ""
    arguments = flags.parse(launch.args, DIALECT)
    flags.use_defaults(run, DIALECT, PACKAGES)
    flags.put(arguments, run, DIALECT)
    if arguments.last("--yaml-cfg") is not None:  # its file takes the place of the whole line
        run.complete = False
    return []


def recognises_document(root: Value) -> bool:
    """Whether a YAML document is a test's or a job's config that holds flags as keys of MODEL_ARGS."""
    arguments = root.get("MODEL_ARGS")
    return arguments is not None and arguments.is_mapping and all(str(key).startswith("--") for key in arguments.data)


def read_document(root: Value, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read MODEL_ARGS, where `true` stands for a switch and `false` for its absence, and ENV_VARS into `run`."""
    flags.use_defaults(run, DIALECT, PACKAGES)
    for key, value in root.data["MODEL_ARGS"].data.items():
        if value.data is False:
            continue
        kind = DIALECT.kind(str(key))
        name = kind.name if kind is not None else str(key)
        run.options.put(NAME, name, as_setting(value, name, "file"))
    variables = root.get("ENV_VARS")
    if variables is not None and variables.is_mapping:
        for name, value in variables.data.items():
            run.env[str(name)] = as_setting(value, str(name), "environment", str(value.plain()))
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
