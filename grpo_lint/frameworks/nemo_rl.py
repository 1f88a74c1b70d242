"""NeMo-RL: YAML configs whose `defaults` names a parent file, and `run_grpo.py --config x.yaml a.b=c`.

Read: main of 2026-08-22 (nemo_rl/utils/config.py, nemo_rl/models/policy/, examples/configs/).
"""

from __future__ import annotations

import os

from grpo_lint.frameworks import trees
from grpo_lint.frameworks.documents import document_at, named_word, names_config, paths_of
from grpo_lint.frameworks.shape import copy, dtype, experts, quotient
from grpo_lint.frameworks.trees import option
from grpo_lint.unified import UNSET, Origin, Setting, derived

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.discover import Repository
    from grpo_lint.launch import Launch
    from grpo_lint.located import Problem, Value
    from grpo_lint.runconfig import RunConfig

NAME = "nemo_rl"

SECTIONS = frozenset(
    ("policy", "cluster", "loss_fn", "grpo", "dpo", "sft", "rm", "ppo", "distillation", "checkpointing")
)
ALGORITHMS = ("grpo", "ppo", "dpo", "sft", "rm", "distillation")
DEFAULTS = {
    "run_grpo": "grpo_math_1B.yaml",
    "run_grpo_math": "grpo_math_1B.yaml",
    "run_grpo_rm": "grpo_rm_1B.yaml",
    "run_vlm_grpo": "vlm_grpo_3B.yaml",
    "run_grpo_sliding_puzzle": "grpo_sliding_puzzle.yaml",
    "run_ppo": "ppo_math_1B.yaml",
    "run_sft": "sft.yaml",
    "run_dpo": "dpo.yaml",
    "run_rm": "rm.yaml",
    "run_distillation": "distillation_math.yaml",
}
"""The programs in examples/, and the config that each starts from by itself."""
TELLING = ("policy.", "grpo.", "cluster.", "loss_fn.", "sft.", "dpo.", "ppo.", "rm.", "distillation.")
POLICY = frozenset(
    (
        "model_name", "generation", "megatron_cfg", "dtensor_cfg", "train_global_batch_size", "precision",
        "max_grad_norm", "train_micro_batch_size", "sequence_packing", "dynamic_batching", "max_total_sequence_length",
    )
)  # fmt: skip


def recognises_document(root: Value) -> bool:
    """Whether a YAML document has NeMo-RL's sections: a policy of its kind beside another section, or a parent."""
    if not isinstance(root.data, dict):
        return False
    sections, policy = SECTIONS & root.data.keys(), root.data.get("policy")
    own = policy is not None and isinstance(policy.data, dict) and bool(POLICY & policy.data.keys())
    parent = root.data.get("defaults")
    child = parent is not None and (isinstance(parent.data, str) or parent.is_list) and "checkpointing" in sections
    return (own and len(sections) >= 2) or (own and parent is not None) or (child and len(sections) >= 2)


def recognises(launch: Launch) -> bool:
    """Whether a launch runs one of NeMo-RL's own programs with overrides of its keys."""
    return bool(_default_configs(launch)) and any(word.text.lstrip("+~").startswith(TELLING) for word in launch.args)


def _default_configs(launch: Launch) -> tuple[str, ...]:
    """Where the config may lie that a program of ours starts from where none is named: beside it, in `configs`."""
    config = DEFAULTS.get(launch.program.rsplit("/", 1)[-1].removesuffix(".py"))
    if config is None:
        return ()
    folders = [os.path.dirname(name) for name in paths_of(launch.word)] or ["examples"]
    return tuple(os.path.join(folder, "configs", config) for folder in folders)


def names_own_config(launch: Launch, folder: str, repository: Repository) -> bool:
    """Whether the YAML that a program names by `--config` is NeMo-RL's."""
    return names_config(launch, folder, repository, "omegaconf", recognises_document)


def read(launch: Launch, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read the YAML that a launch names, its parents and the overrides into `run`."""
    folder = os.path.dirname(path)
    problems: list[Problem] = []
    word = named_word(launch.args, ("--config",))
    for name in paths_of(word) if word is not None else _default_configs(launch):
        found = repository.find(name, folder) or repository.find(name, repository.root)
        root = document_at(name, folder, repository, "omegaconf") if found is not None else None
        if found is not None and root is not None:
            problems += read_document(root, found, run, repository)
            break
    else:
        run.complete = False
    problems += trees.put_overrides(launch.args, run)
    run.engine = run.engine or next((name for name in ALGORITHMS if name in launch.program), "")
    return problems


def read_document(root: Value, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read a YAML config and its parents into `run`."""
    problems = trees.put_parents(root, os.path.dirname(path), repository, run, path)
    trees.put_tree(root, run)
    if not run.engine:
        run.engine = next((name for name in ALGORITHMS if _has(run, name)), "")
    return problems


def _has(run: RunConfig, section: str) -> bool:
    return any(True for _ in run.options.below(NAME, section))


def unify(run: RunConfig) -> None:
    """Fill the unified fields from NeMo-RL's options."""
    fields = run.fields
    copy(
        run,
        {
            "n_gpus": "cluster.gpus_per_node",
            "nnodes": "cluster.num_nodes",
            "model_path": "policy.model_name",
            "rollout_engine": "policy.generation.backend",
            "enforce_eager": "policy.generation.vllm_cfg.enforce_eager",
            "rollout_tp": "policy.generation.vllm_cfg.tensor_parallel_size",
        },
        option,
    )
    megatron = option(run, "policy.megatron_cfg.enabled").value is True
    kind = dtype(option(run, "policy.precision"))
    if not kind.unset:
        fields["model_dtype"] = kind
    _unify_trainer(run, megatron)
    colocated = option(run, "policy.generation.colocated.enabled")
    if colocated.known:
        fields["async_rollout"] = colocated.map(lambda on: on is False)
    experts(
        run,
        option(run, "policy.model_name"),
        option(run, "policy.megatron_cfg.expert_model_parallel_size") if megatron else UNSET,
    )
    if run.engine in ("grpo", "ppo"):
        _unify_online(run)


def _unify_trainer(run: RunConfig, megatron: bool) -> None:
    """The engine that trains, its sizes, clipping and adapters: Megatron's section, or DTensor's."""
    fields = run.fields
    if megatron:
        section, names = (
            "policy.megatron_cfg",
            ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size"),
        )
        fields["fsdp_mode"] = derived("megatron", option(run, f"{section}.enabled"))
        copy(
            run,
            {
                "gating_dtype": f"{section}.moe_router_dtype",
                "gradient_clipping": f"{section}.optimizer.clip_grad",
                "optimizer": f"{section}.optimizer.optimizer",
                "overlap_comm": f"{section}.distributed_data_parallel_config.overlap_grad_reduce",
            },
            option,
        )
    else:
        section, names = "policy.dtensor_cfg", ("tensor_parallel_size", "", "context_parallel_size")
        if option(run, f"{section}.enabled").value is True:
            fields["fsdp_mode"] = derived("fsdp2", option(run, f"{section}.enabled"), note="DTensor's engine is FSDP2")
        copy(run, {"gradient_clipping": "policy.max_grad_norm", "optimizer": "policy.optimizer.name"}, option)
        enabled, rank = option(run, f"{section}.lora_cfg.enabled"), option(run, f"{section}.lora_cfg.dim")
        if enabled.known:
            fields["lora_rank"] = rank if enabled.value is True else derived(0, enabled, note="LoRA is switched off")
    sizes = [option(run, f"{section}.{name}") if name else UNSET for name in names]
    for field, size in zip(("tp", "pp"), sizes, strict=False):
        if not size.unset:
            fields[field] = size
    total = (fields.get("n_gpus", UNSET), fields.get("nnodes", UNSET))
    if option(run, "policy.generation.colocated.enabled").value is not False:
        fields["dp_size"] = quotient(total, sizes, "GPUs x nodes / model-parallel size")


def _unify_online(run: RunConfig) -> None:
    fields = run.fields
    copy(run, {"group_size": "grpo.num_generations_per_prompt"}, option)
    estimator = option(run, "grpo.adv_estimator.name")
    if estimator.unset:
        origin = Origin("derived", run.anchor, (), "what the section is called", "", run.engine)
        estimator = Setting("known", "gae" if run.engine == "ppo" else run.engine, (origin,))
    fields["algorithm"] = estimator
    if estimator.known:
        fields["use_critic"] = derived(estimator.value == "gae", estimator, note="gae alone trains a critic")
