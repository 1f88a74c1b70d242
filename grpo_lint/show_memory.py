"""The memory of each run, as a table and as JSON: `grpo-lint show --memory`."""

from __future__ import annotations

from grpo_lint.estimate import estimate
from grpo_lint.memory import GIB

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from grpo_lint.estimate import Estimate, Phase
    from grpo_lint.runconfig import RunConfig

LEFT_OUT = "activations, logits, fragments and CUDA's context come on top"


def lines(run: RunConfig) -> list[str]:
    """The estimate of a run as a table's lines, phase by phase."""
    found = estimate(run)
    if found.missing:
        return ["  memory of each GPU", f"    no estimate: {found.missing}"]
    told = ["  memory of each GPU"]
    for phase in found.phases:
        told += _phase(phase, found)
    return [*told, *(f"    note: {note}" for note in (*found.notes, LEFT_OUT))]


def _phase(phase: Phase, found: Estimate) -> list[str]:
    rows = [(term.name, amount(term.low, term.high), term.formula) for term in phase.terms]
    of = f"of {found.gpu / GIB:g} GiB" if found.gpu is not None else ""
    rows.append((f"{phase.name} in all", f"{amount(phase.low, phase.high)}", of))
    names, sizes = (max(len(row[at]) for row in rows) for at in (0, 1))
    return [f"    {name:<{names}}  {size:>{sizes}}  {formula}".rstrip() for name, size, formula in rows]


def amount(low: float, high: float) -> str:
    """Bytes as GiB: "14.2 GiB", "3.5 to 28.4 GiB"."""
    one, other = f"{low / GIB:.1f}", f"{high / GIB:.1f}"
    return f"{one} GiB" if one == other else f"{one} to {other} GiB"


def as_data(run: RunConfig) -> dict[str, Any]:
    """The estimate of a run for programs; sizes are bytes."""
    found = estimate(run)
    return {
        "gpu_memory": found.gpu,
        "missing": found.missing,
        "phases": [
            {
                "name": phase.name,
                "low": round(phase.low),
                "high": round(phase.high),
                "terms": [
                    {"name": term.name, "low": round(term.low), "high": round(term.high), "formula": term.formula}
                    for term in phase.terms
                ],
            }
            for phase in found.phases
        ],
        "notes": found.notes,
    }
