"""How many processes a launch starts and how many GPUs it has, as its launcher, scheduler and environment are told."""

from __future__ import annotations

import re

from grpo_lint.frameworks import verl
from grpo_lint.rules.avoidance.verl_run import effective
from grpo_lint.unified import UNSET, Origin, Setting, derived, undecided, unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.runconfig import RunConfig

LAUNCHERS = (
    # launcher, keys of its processes, keys of its nodes ("" where the processes are counted over all nodes)
    ("accelerate", ("--num_processes", "num_processes"), ()),
    ("torchrun", ("--nproc_per_node",), ("--nnodes",)),
    ("deepspeed", ("--num_gpus",), ("--num_nodes",)),
    ("slime", ("--actor-num-gpus-per-node",), ("--actor-num-nodes",)),
)


def world_size(run: RunConfig) -> Setting:
    """The processes over all nodes; UNSET where the launcher isn't told, as then it takes what the machine has."""
    if run.framework == "ms_swift":
        return _of_environment(run)
    for launcher, counts, nodes in LAUNCHERS:
        count = _first(run, launcher, counts)
        if count.unset:
            continue
        factor = _first(run, launcher, nodes)
        if placeholder(factor):
            return unknown("one node, unless the cluster says otherwise", *factor.chain)
        hidden = undecided(count, factor)
        if hidden is not None:
            return hidden
        if type(count.value) is not int or type(factor.value) not in (int, type(None)):
            return UNSET  # "auto", "gpu", a range of nodes
        parts = (count,) if factor.unset else (count, factor)
        return derived(count.value * (factor.value or 1), *parts, note="processes that the launcher starts")
    return _alone(run)


def _of_environment(run: RunConfig) -> Setting:
    """ms-swift starts torchrun where NPROC_PER_NODE says how many processes; UNSET where nothing does."""
    count, nodes = run.environment("NPROC_PER_NODE"), run.environment("NNODES")
    hidden = undecided(count, nodes)
    if hidden is not None or count.unset:
        return hidden or UNSET
    texts = [str(setting.value) for setting in (count, nodes) if not setting.unset]
    if not all(text.isascii() and text.isdigit() for text in texts) or placeholder(nodes):
        return UNSET
    product = int(texts[0]) * (int(texts[1]) if len(texts) > 1 else 1)
    return derived(product, count, note="processes that the environment asks for")


_FALLBACK = r"\$\{\w+:?-"


def placeholder(nodes: Setting) -> bool:
    """Whether a number of nodes is the 1 that stands in where a cluster's variable isn't set: `${WORLD_SIZE:-1}`."""
    origin = nodes.origin
    if not nodes.known or nodes.value != 1 or origin is None or origin.span is None:
        return False
    return any(re.search(_FALLBACK, span.text) for span in (origin.span, *origin.via))


def _first(run: RunConfig, launcher: str, keys: tuple[str, ...]) -> Setting:
    return next((found for key in keys if not (found := run.option(launcher, key)).unset), UNSET)


def _alone(run: RunConfig) -> Setting:
    """One process, where a script is started by Python itself: no launcher, no wrapper, no config of one."""
    words = [word.text for word in run.command]
    if run.framework in ("slime", "verl"):
        return UNSET
    plain = bool(words) and words[0].rsplit("/", 1)[-1].startswith("python") and len(words) > 1
    if not plain or words[1].startswith("-") or any(run.options.written("accelerate")):
        return UNSET
    origin = Origin("derived", run.command[0].span, (), "a script that Python starts is one process", "", 1)
    return Setting("known", 1, (origin,))


VISIBLE = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES")


def visible_gpus(run: RunConfig) -> Setting:
    """How many GPUs the environment shows; UNSET where it doesn't say, or where Ray or DeepSpeed starts the program."""
    shown = next((found for name in VISIBLE if not (found := run.environment(name)).unset), UNSET)
    texts = str(shown.value).split(",")
    started = run.command[0].text.rsplit("/", 1)[-1] if run.command else ""
    if not shown.known or started in ("ray", "deepspeed") or not all(text.strip().isdigit() for text in texts):
        return shown if not shown.decided else UNSET
    return derived(len(texts), shown, note="GPUs that the environment shows")


DIRECTIVE = r"(?m)^#SBATCH\s+--(?:gres=gpu|gpus-per-node)[:=](?:[A-Za-z][\w.-]*:)?(\d+)[ \t]*(?:#.*)?$"
"""A line of a Slurm script that asks for GPUs of each node."""


RAY = r"(?m)^[^#\n]*\bray\s+start\b(?:[^\n;|&\\]|\\\n)*?--num-gpus[= ](\d+)\b"
"""A command that tells Ray how many GPUs a node has."""
ON_RAY = ("verl", "slime", "openrlhf", "easyr1", "rllm")


def allocated(run: RunConfig) -> Setting:
    """The GPUs of a node that the job asks its scheduler or its cluster for, or that Ray is told of.

    UNSET where nothing says so, or where two places do.
    """
    asked = run.option("kubernetes", "resources.limits")
    if asked.known and str(asked.value).isdigit():
        return asked.map(lambda text: int(text))
    file = run.anchor.file
    lines = list(re.finditer(DIRECTIVE, file.text)) if "#SBATCH" in file.text else []
    if not lines and run.framework in ON_RAY and "--num-gpus" in file.text:
        lines = list(re.finditer(RAY, file.text))
    if len(lines) != 1:
        return UNSET
    count = int(lines[0][1])
    origin = Origin("file", file.span(*lines[0].span()), (), "GPUs of each node", "GPUs of the job", count)
    return Setting("known", count, (origin,))


PER_NODE = (
    # launcher or framework, key of the processes or GPUs of each node
    ("torchrun", "--nproc_per_node"),
    ("slime", "--actor-num-gpus-per-node"),
    ("easyr1", "trainer.n_gpus_per_node"),
    ("openrlhf", "--actor.num_gpus_per_node"),
    ("openrlhf", "--actor_num_gpus_per_node"),
)


def wanted_gpus(run: RunConfig) -> Setting:
    """The GPUs that a launch uses on each node; UNSET where it isn't told, or where it may be any number."""
    if run.framework == "ms_swift":
        return _integer(run.environment("NPROC_PER_NODE"))
    if run.framework == verl.NAME:
        return effective(run, "trainer.n_gpus_per_node")
    for launcher, key in PER_NODE:
        found = run.option(launcher, key)
        if found.explicit:
            return found
    count = _first(run, "accelerate", ("--num_processes", "num_processes"))
    machines = _first(run, "accelerate", ("--num_machines", "num_machines"))
    if count.known and type(count.value) is int and machines.value in (None, 1) and machines.decided:
        return count
    return UNSET


def _integer(setting: Setting) -> Setting:
    """A variable of the environment as a number; UNSET where it is something else."""
    return setting.map(int) if setting.known and str(setting.value).isdigit() else UNSET
