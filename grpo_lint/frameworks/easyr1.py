"""EasyR1: `python3 -m verl.trainer.main config=x.yaml worker.rollout.n=8`, and the YAML itself.

It began as a fork of verl and has a tree of its own. Read: main of September 2026 (verl/trainer/main.py, config.py,
verl/workers/*/config.py, examples/config.yaml).
"""

from __future__ import annotations

import os

from grpo_lint.frameworks import trees
from grpo_lint.frameworks.documents import document_at, paths_of
from grpo_lint.frameworks.shape import copy, experts, quotient
from grpo_lint.frameworks.trees import option
from grpo_lint.patterns import lazy
from grpo_lint.unified import UNSET, Origin, Setting, derived

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.discover import Repository
    from grpo_lint.launch import Launch
    from grpo_lint.located import Problem, Value
    from grpo_lint.runconfig import RunConfig

NAME = "easyr1"

_ENTRY = lazy(r"(?:^|[./])verl[./]trainer[./]main(?:\.py)?$")
TELLING = ("worker.", "config=")


def recognises(launch: Launch) -> bool:
    """Whether a launch runs EasyR1's trainer with keys of its tree."""
    return _ENTRY.search(launch.program) is not None and any(word.text.startswith(TELLING) for word in launch.args)


def recognises_document(root: Value) -> bool:
    """Whether a YAML document has EasyR1's workers beside an algorithm."""
    worker = root.data.get("worker") if root.is_mapping else None
    if worker is None or not worker.is_mapping or "algorithm" not in root.data:
        return False
    return all(part in worker.data for part in ("actor", "rollout"))


def read(launch: Launch, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read the YAML that `config=` names, and the overrides, into `run`."""
    named = [word.cut(len("config=")) for word in launch.args if word.text.startswith("config=")]
    for name in paths_of(named[-1]) if named else ():
        root = document_at(name, os.path.dirname(path), repository, "omegaconf")
        if root is not None:
            trees.put_tree(root, run)
            break
    else:
        run.complete = False
    return trees.put_overrides([word for word in launch.args if not word.text.startswith("config=")], run)


def read_document(root: Value, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read a YAML config into `run`; the line that names it may say more."""
    run.complete = False
    trees.put_tree(root, run)
    return []


def unify(run: RunConfig) -> None:
    """Fill the unified fields from EasyR1's options."""
    fields = run.fields
    copy(
        run,
        {
            "group_size": "worker.rollout.n",
            "algorithm": "algorithm.adv_estimator",
            "gradient_clipping": "worker.actor.max_grad_norm",
            "lora_rank": "worker.actor.model.lora.rank",
            "model_path": "worker.actor.model.model_path",
            "enforce_eager": "worker.rollout.enforce_eager",
            "rollout_tp": "worker.rollout.tensor_parallel_size",
            "tp": "worker.rollout.tensor_parallel_size",
            "sequence_parallel": "worker.actor.ulysses_size",
            "n_gpus": "trainer.n_gpus_per_node",
            "nnodes": "trainer.nnodes",
            "optimizer": "worker.actor.optim.strategy",
        },
        option,
    )
    for field, key in (("offload_param", "offload_params"), ("offload_optimizer", "offload_optimizer")):
        setting = option(run, f"worker.actor.offload.{key}")
        if not setting.unset:
            fields[field] = setting.map(lambda on: "cpu" if on is True else "none")
    estimator = fields.get("algorithm", UNSET)
    if estimator.known:
        fields["use_critic"] = derived(estimator.value == "gae", estimator, note="gae alone trains a critic")
    origin = Origin("derived", run.anchor, (), "EasyR1 generates with vLLM alone", "", "vllm")
    fields["rollout_engine"] = Setting("known", "vllm", (origin,))
    total = (fields.get("n_gpus", UNSET), fields.get("nnodes", UNSET))
    sizes = (option(run, "worker.actor.ulysses_size"),)
    fields["dp_size"] = quotient(total, sizes, "GPUs x nodes / sequence-parallel size")
    experts(run, option(run, "worker.actor.model.model_path"))
