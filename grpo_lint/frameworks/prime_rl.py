"""prime-rl: the TOML of `uv run rl @ rl.toml --trainer.optim.lr 1e-6`, and that of its orchestrator alone.

Read: main of 2026-08-21 (packages/prime-rl-configs/src/prime_rl/configs/). Files are merged from left to right, and the
line rules over them. The orchestrator's `group_size` was `rollouts_per_example` before; `[model] name` is shared by
trainer and orchestrator where these say nothing.
"""

from __future__ import annotations

import os
import re

from grpo_lint.frameworks import deepspeed, flags
from grpo_lint.frameworks.documents import document_at, paths_of
from grpo_lint.frameworks.shape import copy, experts, given, quotient
from grpo_lint.runconfig import default
from grpo_lint.unified import UNSET, Origin, Setting, derived

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.discover import Repository
    from grpo_lint.launch import Launch
    from grpo_lint.located import Problem, Value
    from grpo_lint.runconfig import RunConfig

NAME = "prime_rl"

PROGRAM = "rl"
_MODULE = re.compile(r"(?:^|[./])prime_rl[./](?:entrypoints[./])?rl(?:\.py)?$")
GROUPS = ("group_size", "rollouts_per_example")
MAX_FILES = 20


def recognises(launch: Launch) -> bool:
    """Whether a launch starts prime-rl's trainer, orchestrator and inference together, on files of theirs."""
    named = any(word.text == "@" or word.text.startswith("@") for word in launch.args)
    return (launch.program == PROGRAM and named) or _MODULE.search(launch.program) is not None


def recognises_document(root: Value) -> bool:
    """Whether a TOML document is a run's config, or its orchestrator's."""
    if not root.is_mapping:
        return False
    orchestrator = root.data.get("orchestrator")
    if orchestrator is not None and orchestrator.is_mapping:
        return bool({"trainer", "inference", "max_steps", "model"} & root.data.keys())
    return _is_orchestrator(root)


def _is_orchestrator(root: Value) -> bool:
    keys = root.data.keys()
    return "batch_size" in keys and any(name in keys for name in GROUPS) and bool({"train", "env", "sampling"} & keys)


def read(launch: Launch, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read the files that a launch names, and its flags, into `run`."""
    words, at, section = launch.args, 0, ""
    while at < len(words):
        text = words[at].text
        if text.startswith("@"):
            word = words[at].cut(1) if len(text) > 1 else words[min(at + 1, len(words) - 1)]
            at += 1 if len(text) > 1 else 2
            names = (word.text, *paths_of(word))
            roots = (document_at(name, os.path.dirname(path), repository, "pyyaml") for name in names[:MAX_FILES])
            root = next((root for root in roots if root is not None), None)
            if root is None:
                run.complete = False
            else:
                _put(root, run, f"{section}." if section else "")
            section = ""
            continue
        at += 1
        if not text.startswith("--"):
            continue
        name, equals, _ = text[2:].partition("=")
        key = name.replace("-", "_")
        following = words[at].text if at < len(words) else "--"
        if equals:
            run.options.put(NAME, key, flags.word_setting(words[at - 1].cut(len(name) + 3), key, "override"))
        elif following.startswith("@"):
            section = key
        elif following.startswith("--"):
            on = not key.rpartition(".")[2].startswith("no_")
            origin = Origin("override", words[at - 1].span, (), "", key, on)
            head, dot, leaf = key.rpartition(".")
            run.options.put(NAME, f"{head}{dot}{leaf.removeprefix('no_')}", Setting("known", on, (origin,)))
        else:
            run.options.put(NAME, key, flags.word_setting(words[at], key, "override"))
            at += 1
    return []


def read_document(root: Value, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read a file into `run`; the line that names it may name others, and say more."""
    run.complete = False
    _put(root, run, "orchestrator." if "orchestrator" not in root.data and _is_orchestrator(root) else "")
    return []


def _put(root: Value, run: RunConfig, prefix: str) -> None:
    for key, value in root.leaves():
        run.options.put(NAME, prefix + key, deepspeed.as_setting(value, prefix + key, "file"))


def unify(run: RunConfig) -> None:
    """Fill the unified fields from prime-rl's options."""
    fields = run.fields
    copy(
        run,
        {
            "optimizer": "trainer.optim.type",
            "gradient_clipping": "trainer.optim.max_norm",
            "checkpoint_mode": "weight_broadcast.type",
            "rollout_tp": "inference.vllm.tensor_parallel_size",
            "enforce_eager": "inference.vllm.enforce_eager",
            "gating_dtype": "trainer.model.moe_router_dtype",
        },
    )
    for field in ("checkpoint_mode", "rollout_tp", "enforce_eager"):
        if field not in fields:
            old = {"checkpoint_mode": "trainer.weight_broadcast.type", "rollout_tp": "inference.parallel.tp"}
            copy(run, {field: old.get(field, f"inference.model.{field}")})
    _unify_groups(run)
    fields["rollout_engine"] = Setting("known", "vllm", (Origin("derived", run.anchor, (), "prime-rl", "", "vllm"),))
    fields["fsdp_mode"] = Setting("known", "fsdp2", (Origin("derived", run.anchor, (), "prime-rl", "", "fsdp2"),))
    fields["async_rollout"] = Setting("known", True, (Origin("derived", run.anchor, (), "prime-rl", "", True),))
    fields["lora_rank"] = _lora_rank(run)
    model = given(run, "trainer.model.name", "model.name", "orchestrator.model.name")
    if not model.unset:
        fields["model_path"] = model
    experts(run, model)
    if any(key.startswith("trainer.model.compile") for key in run.options.keys(NAME)):
        origin = Origin("derived", run.anchor, (), "the section trainer.model.compile", "", True)
        fields["torch_compile"] = Setting("known", True, (origin,))
    _unify_shape(run)


def _unify_groups(run: RunConfig) -> None:
    """The group and what is made of it. A source of prompts may have its own size."""
    fields = run.fields
    size = given(run, *(f"orchestrator.{name}" for name in GROUPS))
    sources = given(run, "orchestrator.train.source", "orchestrator.env")
    own = [source for source in sources.value or () if isinstance(source, dict) and "group_size" in source]
    if not own:
        fields["group_size"] = default(1, "default of prime-rl", "orchestrator.group_size") if size.unset else size
    elif len({str(source["group_size"]) for source in own}) == 1 and len(own) == len(sources.value):
        fields["group_size"] = derived(own[0]["group_size"], sources, note="what every source says")
    place = size.span if size.span is not None else run.anchor
    origin = Origin("derived", place, (), "what the orchestrator does", size.key, "grpo")
    kind = given(run, "orchestrator.algo.type", "orchestrator.algorithm.type")
    fields["algorithm"] = Setting("known", "grpo", (origin,)) if kind.unset else kind
    fields["use_critic"] = derived(False, fields["algorithm"], note="prime-rl trains no critic")


def _lora_rank(run: RunConfig) -> Setting:
    """`trainer.model.lora.rank` (16), while there is such a section."""
    rank = given(run, "trainer.model.lora.rank", "trainer.model.experimental.lora.rank")
    if rank.unset and any(key.startswith("trainer.model.lora") for key in run.options.keys(NAME)):
        return default(16, "default of prime-rl", "trainer.model.lora.rank")
    return rank


def _unify_shape(run: RunConfig) -> None:
    """The trainer's GPUs: `deployment.num_train_gpus`, or a number of whole nodes; older files list ids."""
    fields = run.fields
    kind = given(run, "deployment.type")
    ids = given(run, "trainer_gpu_ids")
    if kind.value == "multi_node":
        gpus = given(run, "deployment.gpus_per_node")
        fields["n_gpus"] = default(8, "default of prime-rl", "deployment.gpus_per_node") if gpus.unset else gpus
        copy(run, {"nnodes": "deployment.num_train_nodes"})
    elif isinstance(ids.value, list):
        fields["n_gpus"] = derived(len(ids.value), ids, note="the ids of the trainer's GPUs")
        fields["nnodes"] = derived(1, ids, note="one node")
    elif not kind.unset or not given(run, "deployment.num_train_gpus").unset:
        gpus = given(run, "deployment.num_train_gpus")
        fields["n_gpus"] = default(1, "default of prime-rl", "deployment.num_train_gpus") if gpus.unset else gpus
        fields["nnodes"] = derived(1, fields["n_gpus"], note="one node")
    cp = given(run, "trainer.model.cp")
    copy(run, {"sequence_parallel": "trainer.model.cp"})
    total = (fields.get("n_gpus", UNSET), fields.get("nnodes", UNSET))
    size = quotient(total, (cp,), "the trainer's GPUs / context-parallel size")
    if not size.unset:
        fields["dp_size"] = size
