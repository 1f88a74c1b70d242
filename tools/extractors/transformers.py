"""transformers: the fields of TrainingArguments, which TRL's configs inherit, as flags."""

from __future__ import annotations

from pathlib import Path

from extractors.declared import Classes, Option, package


def options(root: Path) -> list[Option]:
    classes = Classes([package(root, "transformers") / "training_args.py"])
    return [
        {**classes.option(field, f"--{name}"), "dest": name}
        for name, field in classes.fields("TrainingArguments").items()
        if not name.startswith("_")
    ]
