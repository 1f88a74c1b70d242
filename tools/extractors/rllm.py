"""rLLM: the trees that its entry points compose to, over the packaged configs of verl 0.9.1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from extractors.declared import Option, package
from extractors.verl import compose_words, folder, kind
from grpo_lint.frameworks.tables import verl_place, verl_tree
from grpo_lint.syntax.hydra.config import Folder, Packaged

VERL = "0.9.1"
NAMES = ("agent_ppo_trainer", "agent_ppo_trainer_megatron", "tinker_rl_trainer")


def options(root: Path) -> list[Option]:
    place = package(root, "rllm") / "trainer" / "config"
    of_verl = set(verl_tree(VERL).names())
    found: dict[str, Option] = {}
    for entry, tree in _trees(place):
        for name, value in tree.items():
            if not name or name.endswith("_target_"):
                continue
            option = found.setdefault(name, {"name": name, "type": kind(value), "default": value, "entry_points": []})
            option["entry_points"].append(entry)
            if name in of_verl:
                option["from_verl"] = True
    return list(found.values())


def _trees(place: Path) -> list[tuple[str, dict[str, Any]]]:
    found = []
    if (place / "unified.yaml").exists():
        for path in sorted((place / "rllm" / "backend").glob("*.yaml")):
            found.append((f"unified+{path.stem}", _composed(place, "unified", f"rllm/backend={path.stem}")))
    for name in NAMES:
        if (place / f"{name}.yaml").exists():
            found.append((name, _composed(place, name)))
    return found


def _composed(place: Path, name: str, *overrides: str) -> dict[str, Any]:
    def open_place(url: str) -> Folder | Packaged | None:
        return verl_place(VERL, url.partition("://")[2].replace("/", "."))

    return compose_words(name, overrides, [folder(place)], open_place)
