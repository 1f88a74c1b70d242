"""AReaL: YAML configs, and `python examples/x.py --config x.yaml a.b=c`, also behind `areal.launcher.*`.

Read: 1.0.4 (areal/api/cli_args.py, areal/api/alloc_mode.py). A role's engine and sizes are one text: `fsdp:d4t1p1`
(backend, from 1.0 on), or the last part of `sglang:d4+fsdp:d4` (allocation_mode).
"""

from __future__ import annotations

import os
import re

from grpo_lint.frameworks import trees
from grpo_lint.frameworks.documents import named_document, names_config
from grpo_lint.frameworks.shape import copy, dtype, experts
from grpo_lint.frameworks.trees import option
from grpo_lint.patterns import lazy
from grpo_lint.unified import UNSET, Setting, derived

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.discover import Repository
    from grpo_lint.launch import Launch
    from grpo_lint.located import Problem, Value
    from grpo_lint.runconfig import RunConfig

NAME = "areal"

MODES = {"fsdp": "fsdp2", "megatron": "megatron", "archon": "archon"}
"""FSDP is FSDP2 there: AReaL needs torch 2.4 at least."""

_ROLE = lazy(r"(?:(?P<engine>[a-z]+)[:.])?(?P<sizes>(?:[dtpce]\d+)+)")


def recognises_document(root: Value) -> bool:
    """Whether a YAML document has an actor and a rollout of AReaL's."""
    if not isinstance(root.data, dict) or "cluster" not in root.data:
        return False
    actor = root.data.get("actor")
    if actor is None or not actor.is_mapping or not {"path", "backend", "optimizer"} & actor.data.keys():
        return False
    return "gconfig" in root.data or "allocation_mode" in root.data or "backend" in actor.data


def names_own_config(launch: Launch, folder: str, repository: Repository) -> bool:
    """Whether the YAML that a program names by `--config` is AReaL's."""
    return names_config(launch, folder, repository, "omegaconf", recognises_document)


def read(launch: Launch, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read the YAML that a launch names, and the overrides, into `run`."""
    root = named_document(launch.args, ("--config",), os.path.dirname(path), repository, "omegaconf")
    if root is not None:
        trees.put_tree(root, run)
    words = [word for word in launch.args if not word.text.endswith(".py")]
    return trees.put_overrides(words, run)


def read_document(root: Value, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read a YAML config into `run`; the line that names it may say more."""
    run.complete = False
    trees.put_tree(root, run)
    return []


def unify(run: RunConfig) -> None:
    """Fill the unified fields from AReaL's options."""
    fields = run.fields
    copy(
        run,
        {
            "n_gpus": "cluster.n_gpus_per_node",
            "nnodes": "cluster.n_nodes",
            "model_path": "actor.path",
            "group_size": "gconfig.n_samples",
            "optimizer": "actor.optimizer.type",
            "gradient_clipping": "actor.optimizer.gradient_clipping",
        },
        option,
    )
    kind = dtype(option(run, "actor.dtype"))
    if not kind.unset:
        fields["model_dtype"] = kind
    use, rank = option(run, "actor.use_lora"), option(run, "actor.lora_rank")
    if use.known:
        fields["lora_rank"] = rank if use.value is True else derived(0, use, note="LoRA is switched off")
    _unify_shape(run)
    engine = fields.get("rollout_engine", UNSET).value
    copy(run, {"enforce_eager": "sglang.disable_cuda_graph" if engine == "sglang" else "vllm.enforce_eager"}, option)
    if fields.get("fsdp_mode", UNSET).value in ("megatron", "archon"):
        copy(run, {"gating_dtype": f"actor.{fields['fsdp_mode'].value}.moe_router_dtype"}, option)
    experts(run, option(run, "actor.path"))


def _unify_shape(run: RunConfig) -> None:
    """Engines and sizes out of `backend`, or of `allocation_mode` before 1.0."""
    actor, rollout = option(run, "actor.backend"), option(run, "rollout.backend")
    text = option(run, "allocation_mode")
    if actor.unset and isinstance(text.value, str) and text.known:
        parts = text.value.split("+")
        actor, rollout = text.map(lambda whole: whole.split("+")[-1]), text.map(lambda whole: whole.split("+")[0])
        if len(parts) == 1:
            rollout = UNSET
    role = _ROLE.fullmatch(actor.value) if isinstance(actor.value, str) else None
    if role is not None:
        engine = role["engine"] or "fsdp"
        run.fields["fsdp_mode"] = derived(MODES.get(engine, engine), actor)
        for field, letter in (("dp_size", "d"), ("tp", "t"), ("pp", "p")):
            run.fields[field] = _size(actor, role["sizes"], letter)
    served = _ROLE.fullmatch(rollout.value) if isinstance(rollout.value, str) else None
    if served is not None and served["engine"]:
        run.fields["rollout_engine"] = derived(served["engine"], rollout)
        run.fields["rollout_tp"] = _size(rollout, served["sizes"], "t")


def _size(whole: Setting, sizes: str, letter: str) -> Setting:
    found = re.search(rf"{letter}(\d+)", sizes)
    return derived(int(found[1]) if found else 1, whole, note=f"the {letter} of {whole.value}")
