"""ROLL: YAML configs of its pipelines (`actor_train`, `actor_infer`, `reference` and their strategies).

Read: main of 2026-08-19 (roll/configs/, roll/pipeline/rlvr/rlvr_config.py, roll/pipeline/agentic/agentic_config.py).
"""

from __future__ import annotations

import os

from grpo_lint.frameworks import trees
from grpo_lint.frameworks.documents import document_at, named_word
from grpo_lint.frameworks.shape import copy, dtype, experts
from grpo_lint.frameworks.trees import option
from grpo_lint.patterns import lazy
from grpo_lint.runconfig import default
from grpo_lint.unified import UNSET, Setting, derived, undecided

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.discover import Repository
    from grpo_lint.launch import Launch
    from grpo_lint.located import Problem, Value
    from grpo_lint.runconfig import RunConfig

NAME = "roll"

TRAIN = "actor_train.strategy_args.strategy_config"
INFER = "actor_infer.strategy_args.strategy_config"
STRATEGIES = {"fsdp2_train": "fsdp2", "megatron_train": "megatron", "deepspeed_train": "deepspeed"}
_RANGE = lazy(r"list\(\s*range\(\s*(?:(\d+)\s*,\s*)?(\d+)\s*\)\s*\)")


def recognises(launch: Launch) -> bool:
    """Whether a launch starts one of ROLL's pipelines on a config folder."""
    return "start_" in launch.program and launch.program.endswith("_pipeline.py") and _named(launch) is not None


def recognises_document(root: Value) -> bool:
    """Whether a YAML document has ROLL's roles, each with a strategy."""
    if not isinstance(root.data, dict):
        return False
    train, infer = root.data.get("actor_train"), root.data.get("actor_infer")
    return (
        train is not None
        and train.is_mapping
        and ("strategy_args" in train.data or "training_args" in train.data)
        and (infer is not None or "pretrain" in root.data)
    )


def _named(launch: Launch) -> str | None:
    """The path of the YAML that `--config_path` and `--config_name` name."""
    folder, name = named_word(launch.args, ("--config_path",)), named_word(launch.args, ("--config_name",))
    if folder is None or name is None or folder.dynamic or name.dynamic:
        return None
    return os.path.join(folder.text, name.text.removesuffix(".yaml") + ".yaml")


def read(launch: Launch, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read the YAML that a launch names into `run`; its folder counts from `examples/`."""
    name = _named(launch)
    for found in (name, os.path.join("examples", name)) if name is not None else ():
        root = document_at(found, os.path.dirname(path), repository, "omegaconf")
        if root is not None:
            return read_document(root, path, run, repository)
    run.complete = False
    return []


def read_document(root: Value, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read a YAML config into `run`. Its `defaults` compose DeepSpeed's sections, which are not needed here."""
    run.complete = "defaults" not in root.data
    trees.put_tree(root, run)
    return []


def unify(run: RunConfig) -> None:
    """Fill the unified fields from ROLL's options."""
    fields = run.fields
    copy(
        run,
        {
            "n_gpus": "num_gpus_per_node",
            "nnodes": "num_nodes",
            "model_path": "pretrain",
            "group_size": "num_return_sequences_in_group",
            "gradient_clipping": "max_grad_norm",
            "rollout_engine": "actor_infer.strategy_args.strategy_name",
            "enforce_eager": f"{INFER}.enforce_eager",
            "sleep_level": f"{INFER}.sleep_level",
            "load_format": f"{INFER}.load_format",
            "rollout_tp": f"{INFER}.tensor_parallel_size",
            "gating_dtype": f"{TRAIN}.moe_router_dtype",
        },
        option,
    )
    if "group_size" not in fields:
        copy(run, {"group_size": "train_env_manager.group_size"}, option)
    estimator = option(run, "adv_estimator")
    fields["algorithm"] = default("gae", "default of roll", "adv_estimator") if estimator.unset else estimator
    if fields["algorithm"].known:
        note = "gae alone trains a critic"
        fields["use_critic"] = derived(fields["algorithm"].value == "gae", fields["algorithm"], note=note)
    strategy = option(run, "actor_train.strategy_args.strategy_name")
    if strategy.known:
        fields["fsdp_mode"] = strategy.map(lambda name: STRATEGIES.get(str(name), name))
    kind = dtype(option(run, "actor_train.model_args.dtype"))
    if not kind.unset:
        fields["model_dtype"] = kind
    fields["lora_rank"] = _lora_rank(run)
    _unify_shape(run)
    experts(run, option(run, "pretrain"), option(run, f"{TRAIN}.expert_model_parallel_size"))


def _lora_rank(run: RunConfig) -> Setting:
    """`lora_rank`, while `lora_target` names something."""
    rank, target = (option(run, f"actor_train.model_args.{name}") for name in ("lora_rank", "lora_target"))
    if undecided(rank, target) is not None or (rank.unset and target.unset):
        return undecided(rank, target) or UNSET
    if target.value is None:
        return derived(0, rank, target, note="without lora_target there is no adapter")
    return rank


def _unify_shape(run: RunConfig) -> None:
    """Sizes of the trained actor; its GPUs are an expression, `list(range(0,8))`."""
    sizes = [option(run, f"{TRAIN}.{name}_parallel_size") for name in ("tensor_model", "pipeline_model", "context")]
    for field, size in zip(("tp", "pp"), sizes, strict=False):
        if not size.unset:
            run.fields[field] = size
    devices = option(run, "actor_train.device_mapping")
    found = _RANGE.fullmatch(devices.value.strip()) if isinstance(devices.value, str) else None
    if found is None or undecided(*sizes) is not None:
        return
    world, product = int(found[2]) - int(found[1] or 0), 1
    for size in sizes:
        product *= size.value if type(size.value) is int and size.value > 0 else 1
    if world > 0 and world % product == 0:
        run.fields["dp_size"] = derived(world // product, devices, *sizes, note="its devices / model-parallel size")
