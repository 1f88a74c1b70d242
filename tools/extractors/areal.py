"""AReaL: the dataclasses of areal/api/cli_args.py as dotted options."""

from __future__ import annotations

from pathlib import Path

from extractors.declared import Classes, Option, nested, package, unique

ROOTS = ("GRPOConfig", "PPOConfig", "BaseExperimentConfig")


def options(root: Path) -> list[Option]:
    classes = Classes([package(root, "areal") / "api" / "cli_args.py"])
    return unique(option for owner in ROOTS for option in nested(classes, owner))
