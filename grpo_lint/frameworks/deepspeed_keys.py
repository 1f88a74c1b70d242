"""The keys of DeepSpeed's JSON: which a config gives, where they stand, and what DeepSpeed does with one it lacks.

Read: deepspeed 0.14.2 to 0.19.8. Sections that pydantic models read refuse a key that they don't know
(`extra="forbid"` in runtime/config_utils.py); everything else is looked up by name, and what nobody looks up is ignored
without a word.
"""

from __future__ import annotations

from grpo_lint.frameworks import tables
from grpo_lint.frameworks.deepspeed import NAME
from grpo_lint.frameworks.programs import key_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from grpo_lint.runconfig import RunConfig
    from grpo_lint.source import Span
    from grpo_lint.unified import Origin

STRICT = {
    # section: the release since which a model reads it; "" for all that were read
    "zero_optimization": "",
    "hybrid_engine": "",
    "comms_logger": "",
    "tensorboard": "",
    "wandb": "",
    "csv_monitor": "",
    "comet": "",
    "timers.throughput": "",
    "compile": "0.16.9",
    "tensor_parallel": "0.16.9",
    "fp16": "0.17.6",
    "bf16": "0.17.6",
}
LOOSE = frozenset(("activation_checkpointing", "flops_profiler", "aio"))
"""Sections whose keys are looked up by name."""
TOP = frozenset(
    (
        "communication_data_type", "data_efficiency", "seq_parallel_communication_data_type", "bfloat16", "elasticity",
        "sequence_parallel_size", "torch_autocast", "timers", "curriculum_learning", "compression_training", "nebula",
        "quantize_training", "progressive_layer_drop", "sparse_attention", "autotuning", "checkpoint", "data_types",
        "optimizer", "scheduler", "aio", "datastates", "amp", "flops_profiler", "activation_checkpointing",
        "fp32_allreduce", "zero_quantized_weights", "use_node_local_storage", "gradient_noise_scale", "eigenvalue",
    )
)  # fmt: skip
"""Keys at the top that the table doesn't list as options of their own."""


class Key:
    """A key of a config: its dotted path as written, its value and the origin of that."""

    __slots__ = ("data", "origin", "path")

    def __init__(self, path: str, data: Any, origin: Origin) -> None:
        self.path = path
        self.data = data
        self.origin = origin

    def place(self, path: str = "") -> Span:
        """Where the key stands, or the section of that path that holds it."""
        assert self.origin.span is not None
        return key_place(self.origin.span, path or self.path)


def written(run: RunConfig) -> Iterator[Key]:
    """The keys that a JSON or an inline config gives; what its launcher's flags or a trainer say is left out."""
    for name in run.options.keys(NAME):
        if name.startswith("-"):
            continue
        for origin in run.option(NAME, name).chain:
            if origin.layer == "file" and origin.span is not None and origin.key == name:
                yield Key(name, origin.data, origin)
                break


_known: dict[str, str] = {}
_sections: set[str] = set()


def _present() -> dict[str, str]:
    """{name or alias: present name} of every key that a release has; worked out once, with the sections."""
    if not _known:
        for name, each in tables.table(NAME).options.items():
            if not name.startswith("-"):
                for spelled in (*each.get("aliases", ()), name):
                    _known[spelled] = name
                    _sections.update(spelled[:at] for at in range(len(spelled)) if spelled[at] == ".")
    return _known


def entry(path: str) -> tuple[str, dict[str, Any]] | None:
    """(present name, entry) of a key by its name or an alias; None if no release that was read has it."""
    name = _present().get(path)
    return (name, tables.table(NAME).options[name]) if name is not None else None


def unknown_part(path: str) -> str:
    """The shortest part of a key's path that no release has; "" where it is known, or below an open dictionary."""
    known = _present()
    if path in known:
        return ""
    parts = path.split(".")
    for count in range(1, len(parts) + 1):
        part = ".".join(parts[:count])
        if part in _sections:
            continue
        if part in known or (count == 1 and part in TOP):
            return ""
        return part
    return ""


def strict_since(path: str) -> str | None:
    """The release since which the section of a key refuses what it doesn't know; None where it never does."""
    section = path.rpartition(".")[0]
    while section:
        if section in STRICT:
            return STRICT[section]
        section = section.rpartition(".")[0]
    return None


def siblings(path: str) -> list[str]:
    """The keys of the section that a key stands in, aliases and sections included."""
    start = path.rpartition(".")[0]
    start = f"{start}." if start else ""
    found = set() if start else set(TOP)
    found |= {start + name[len(start) :].split(".", 1)[0] for name in _present() if name.startswith(start)}
    return sorted(found)
