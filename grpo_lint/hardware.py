"""What is assumed of the machines where a run's own files don't say it."""

from __future__ import annotations

from grpo_lint.runconfig import default

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.runconfig import RunConfig
    from grpo_lint.settings import Settings

FIELDS = {"gpus": "n_gpus", "nodes": "nnodes", "gpu-memory": "gpu_memory"}
"""Unified fields by the names that settings have for them."""


def assume(run: RunConfig, settings: Settings) -> None:
    """Fill what nothing tells of a run's machines from the settings; one GPU in all is one data-parallel rank."""
    hardware = settings.hardware
    notes = {name: f"assumed by {settings.origins.get(f'hardware.{name}', 'the settings')}" for name in FIELDS}
    for name, field in FIELDS.items():
        if name in hardware and getattr(run, field).unset:
            run.fields[field] = default(hardware[name], notes[name], field)
    if hardware and run.dp_size.unset and run.n_gpus.value == 1 and run.nnodes.value == 1:
        note = next((s.origin.note for s in (run.n_gpus, run.nnodes) if s.origin is not None and s.origin.note), "")
        run.fields["dp_size"] = default(1, note or "one GPU in all", "dp_size")
