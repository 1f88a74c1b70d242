"""ROLL: the dataclasses of its pipelines' configs as dotted options."""

from __future__ import annotations

from pathlib import Path

from extractors.declared import Classes, Option, nested, package, unique

ROOTS = ("RLVRConfig", "AgenticConfig")


def options(root: Path) -> list[Option]:
    top = package(root, "roll")
    classes = Classes([*sorted((top / "configs").glob("*.py")), *sorted((top / "pipeline").rglob("*config*.py"))])
    return unique(option for owner in ROOTS for option in nested(classes, owner))
