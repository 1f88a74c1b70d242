"""TRL: the fields of GRPOConfig, ModelConfig and the script arguments, which are flags and flat YAML keys alike."""

from __future__ import annotations

from pathlib import Path

from extractors.declared import Classes, Option, package, unique

CLASSES = ("GRPOConfig", "ModelConfig", "ScriptArguments", "GRPOScriptArguments")


def options(root: Path) -> list[Option]:
    """The options that TRL itself declares; those of transformers.TrainingArguments are inherited."""
    top = package(root, "trl")
    paths = [*sorted((top / "trainer").glob("*config*.py")), *sorted(top.glob("scripts/*.py"))]
    classes = Classes([*paths, top / "commands" / "cli_utils.py"])
    return unique(
        {**classes.option(field, f"--{name}"), "dest": name, "config_class": owner}
        for owner in CLASSES
        for name, field in classes.fields(owner).items()
        if not name.startswith("_")
    )
