"""The shapes of released models, by their names."""

from __future__ import annotations

from grpo_lint.memory import Shape
from grpo_lint.modules import packaged
from grpo_lint.patterns import lazy

_EDITIONS = lazy(r"(?i)-(?:instruct|base|chat|math|coder|thinking|hf|\d{4})(?=-|$)|^meta-")
"""Parts of a name that say nothing of the shape."""

_shapes: dict[str, Shape] = {}


def shape_of(path: str) -> Shape | None:
    """The shape of a released model, by its path's or hub name's last part; None for any other, and for quantised ones.

    The table holds what their config.json says; from it the parameters come out as published (tests/test_memory.py).
    """
    if not _shapes:
        with open(packaged("frameworks", "shapes.tsv"), encoding="utf-8") as table:
            rows = [line.split("\t") for line in table if not line.startswith("#")]
        _shapes.update((row[0], Shape(row[0], *map(int, row[1:]))) for row in rows)
    return _shapes.get(_EDITIONS.sub("", path.rstrip("/").rsplit("/", 1)[-1].lower()))
