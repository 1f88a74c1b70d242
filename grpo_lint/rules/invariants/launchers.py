"""How many processes a launch starts, as its launcher is told."""

from __future__ import annotations

import re

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
