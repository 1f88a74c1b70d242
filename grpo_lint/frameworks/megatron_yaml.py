"""Megatron's options in YAML: the file of `--yaml-cfg`, Megatron-Bridge's overrides, and tests that hold flags as keys.

Read: Megatron-LM, main of 2026-08-22 (training/yaml_arguments.py: what the file says takes the place of the whole line)
and Megatron-Bridge, main of August 2026 (training/config.py: ConfigContainer, recipes' conf/*.yaml). The sections of
both hold Megatron's own options under their names in Python.
"""

from __future__ import annotations

from grpo_lint.frameworks.deepspeed import as_setting
from grpo_lint.unified import Setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.frameworks.flags import Dialect
    from grpo_lint.located import Value
    from grpo_lint.runconfig import RunConfig

SECTIONS = frozenset(
    ("model", "optimizer", "scheduler", "ddp", "checkpoint", "dataset", "tokenizer", "mixed_precision", "peft", "dist",
     "comm_overlap", "logger", "rng")
)  # fmt: skip
"""Bridge's sections beside `train`."""
TRAIN = frozenset(("train_iters", "train_samples", "global_batch_size", "micro_batch_size", "eval_iters"))


def form_of(root: Value) -> str:
    """Which of the forms a document has: "flags", "whole", "bridge"; "" for none."""
    if not root.is_mapping:
        return ""
    arguments = root.get("MODEL_ARGS")
    if arguments is not None:
        named = arguments.is_mapping and all(str(key).startswith("--") for key in arguments.data)
        return "flags" if named else ""
    parallel, model = root.get("model_parallel"), root.get("language_model")
    if parallel is not None and model is not None and parallel.is_mapping and model.is_mapping:
        return "whole"
    train = root.get("train")
    if train is None or not train.is_mapping or len(TRAIN & train.data.keys()) < 2:
        return ""
    sections = [key for key in SECTIONS & root.data.keys() if root.data[key].is_mapping]
    return "bridge" if len(sections) >= 2 else ""


def put(root: Value, run: RunConfig, dialect: Dialect) -> None:
    """Put the leaves of a tree of sections under the flags that they are in Megatron; others by their paths."""
    for path, value in root.leaves():
        name = flag_of(path, dialect)
        setting = as_setting(value, path, "file")
        if setting.known and setting.value is None:
            continue
        run.options.put(run.framework, name, setting)


def flag_of(path: str, dialect: Dialect) -> str:
    """The flag that a key of a section is: `ddp.overlap_grad_reduce` is --overlap-grad-reduce."""
    section, _, leaf = path.rpartition(".")
    flag = "--" + leaf.replace("_", "-")
    kind = dialect.kind(flag)
    known = kind is not None and not section.startswith(("peft", "dataset", "logger", "tokenizer"))
    return kind.name if kind is not None and known else path


def put_flags(arguments: Value, run: RunConfig, dialect: Dialect) -> None:
    """Put keys that are flags, of which `true` stands for a switch and `false` for its absence."""
    for key, value in arguments.data.items():
        if value.data is False:
            continue
        kind = dialect.kind(str(key))
        name = kind.name if kind is not None else str(key)
        run.options.put(run.framework, name, as_setting(value, name, "file"))


def put_variables(root: Value, run: RunConfig) -> None:
    """Put what ENV_VARS or env_vars sets into the environment."""
    for key in ("ENV_VARS", "env_vars"):
        variables = root.data.get(key)
        if variables is not None and variables.is_mapping:
            for name, value in variables.data.items():
                run.env[str(name)] = as_setting(value, str(name), "environment", str(value.plain()))


def lora_rank(run: RunConfig) -> Setting | None:
    """The rank of Bridge's adapter, `peft.dim`; None where there is no such section."""
    rank = run.option(run.framework, "peft.dim")
    return rank if rank.explicit else None
