"""ms-swift: the dataclasses behind `swift rlhf`, `swift rollout` and `megatron rlhf` as flags."""

from __future__ import annotations

from pathlib import Path

from extractors.declared import Classes, Option, package, unique

COMMANDS = {
    "RLHFArguments": "swift rlhf",
    "RolloutArguments": "swift rollout",
    "MegatronRLHFArguments": "megatron rlhf",
}


def options(root: Path) -> list[Option]:
    top = package(root, "swift")
    paths = [
        path
        for folder, pattern in (
            ("arguments", "*.py"),
            ("rlhf_trainers", "*arg*.py"),
            ("trainers", "*arg*.py"),
            ("megatron", "*arg*.py"),
        )
        for path in sorted((top / folder).rglob(pattern))
    ]
    classes = Classes(paths)
    found: list[Option] = []
    for owner, command in COMMANDS.items():
        for name, field in classes.fields(owner).items():
            if not name.startswith("_"):
                option = {**classes.option(field, f"--{name}"), "dest": name, "command": command}
                option.pop("required", None)
                found.append(option)
    return unique(found)
