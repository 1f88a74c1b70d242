"""accelerate: the flags of `accelerate launch`, and the keys of its config file as `yaml.<key>`."""

from __future__ import annotations

from pathlib import Path

from extractors.declared import Classes, Option, arguments, package, unique
from extractors.literals import parse


def options(root: Path) -> list[Option]:
    commands = package(root, "accelerate") / "commands"
    found = [{**flag, "command": "accelerate launch"} for flag in arguments(parse(commands / "launch.py"))]
    classes = Classes([commands / "config" / "config_args.py"])
    for name, field in classes.fields("ClusterConfig").items():
        found.append({**classes.option(field, f"yaml.{name}"), "command": "config file"})
    return unique(found)
