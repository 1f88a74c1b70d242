"""The facts that a choice hangs on: what each means on the command line, and how a run's config tells it."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal

    from grpo_lint.runconfig import RunConfig
    from grpo_lint.unified import Setting

    Kind = Literal["release", "count", "switch"]

FACTS: dict[str, tuple[Kind, str]] = {
    "torch": ("release", "the release of torch"),
    "verl": ("release", "the release of verl"),
    "deepspeed": ("release", "the release of DeepSpeed"),
    "nodes": ("count", "how many machines the run has"),
    "gpus": ("count", "how many data-parallel ranks the run has"),
    "offload": ("switch", "whether parameters are offloaded to the CPU or NVMe"),
    "fits": ("switch", "whether all 16-bit parameters fit on each GPU, beside activations and gradients"),
    "muon": ("switch", "whether the optimizer is Muon"),
    "separate": ("switch", "whether the rollout has GPUs of its own"),
    "adapters": ("switch", "whether LoRA adapters are synced, not merged weights"),
    "rslora": ("switch", "whether the adapters are scaled as rsLoRA"),
    "mtp": ("switch", "whether the rollout drafts by multi-token prediction"),
    "npu": ("switch", "whether the run is on Ascend NPUs"),
    "resync": ("switch", "whether all weights are sent again before the engine is used"),
}
"""Each fact: what it is told as, and what it means."""

Told = tuple[object, str]
"""A fact's value and where it comes from."""


def of_run(run: RunConfig, names: list[str]) -> dict[str, Told]:
    """The facts that a run's config tells, of those that are asked about."""
    found: dict[str, Told] = {}
    for name in names:
        told = _version(run, name) if FACTS[name][0] == "release" else _READERS.get(name, _untold)(run)
        if told is not None:
            found[name] = told
    return found


def _version(run: RunConfig, name: str) -> Told | None:
    version = run.versions.get(name)
    return (version.text, version.source) if version is not None else None


def place(setting: Setting) -> str:
    """Where a setting's value comes from: its place, or whose default it is."""
    origin = setting.origin
    if origin is None:
        return ""
    if origin.span is not None:
        return f"{origin.span.file.path}:{origin.span.line}"
    return origin.note


def _untold(run: RunConfig) -> Told | None:
    return None


def _nodes(run: RunConfig) -> Told | None:
    return (run.nnodes.value, place(run.nnodes)) if _is_count(run.nnodes) else None


def _gpus(run: RunConfig) -> Told | None:
    if _is_count(run.dp_size):
        return run.dp_size.value, place(run.dp_size)
    if _is_count(run.n_gpus) and _is_count(run.nnodes):
        return run.n_gpus.value * run.nnodes.value, place(run.n_gpus)
    return None


def _is_count(setting: Setting) -> bool:
    return setting.known and type(setting.value) is int and setting.value > 0


def _offload(run: RunConfig) -> Told | None:
    setting = run.offload_param
    if not setting.known:
        return None
    return setting.value in ("cpu", "nvme"), place(setting)


def _muon(run: RunConfig) -> Told | None:
    setting = run.optimizer
    return ("muon" in setting.value.lower(), place(setting)) if isinstance(setting.value, str) else None


def _separate(run: RunConfig) -> Told | None:
    setting = run.async_rollout
    return (setting.value, place(setting)) if setting.known else None


def _adapters(run: RunConfig) -> Told | None:
    """Adapters go to the engine where there are some and nothing merges them."""
    rank, merge = run.lora_rank, run.lora_merge
    if rank.known and type(rank.value) is int:
        if rank.value == 0:
            return False, place(rank)
        if merge.known:
            return merge.value is not True, place(merge) if merge.value is True else place(rank)
    return None


def _resync(run: RunConfig) -> Told | None:
    """Trainers that send all weights before each rollout, unless adapters are sent in their place."""
    if run.framework not in ("verl", "trl"):
        return None
    adapters = _adapters(run)
    return (True, f"{run.framework} sends all weights") if adapters is not None and adapters[0] is False else None


def _npu(run: RunConfig) -> Told | None:
    """verl's `trainer.device`, where someone wrote it: its default holds on NPUs, too."""
    setting = run.option("verl", "trainer.device")
    return (setting.value == "npu", place(setting)) if setting.known and setting.explicit else None


_READERS: dict[str, Callable[[RunConfig], Told | None]] = {
    "nodes": _nodes,
    "gpus": _gpus,
    "offload": _offload,
    "muon": _muon,
    "separate": _separate,
    "adapters": _adapters,
    "npu": _npu,
    "resync": _resync,
}


def has(run: RunConfig, known: dict[str, Any]) -> tuple[str, str]:
    """Which of the two ways a run takes by now, as the data names it, and where that is set; empty for neither."""
    setting: Setting = getattr(run, known["now"])
    if not setting.known:
        return "", ""
    value = setting.value
    name = {"zero_stage": f"zero{value}", "sleep_level": f"level{value}"}.get(known["now"], str(value))
    return (name, place(setting)) if name in known["titles"] else ("", "")


def concerned(run: RunConfig, known: dict[str, Any]) -> bool:
    """Whether a choice is one for a run."""
    ((name, values),) = known["of"].items()
    if name == "frameworks":
        return not run.frameworks.isdisjoint(values)
    return getattr(run, name).value in values
