"""The page of docs/ about what is read of each framework, made from the registry and the option tables."""

from __future__ import annotations

import json
from pathlib import Path

from grpo_lint.frameworks.registry import READERS, Reader

TABLES = Path(__file__).parent.parent / "grpo_lint" / "frameworks" / "options"
TITLES = {
    "accelerate": "accelerate", "areal": "AReaL", "axolotl": "axolotl", "deepspeed": "DeepSpeed", "easyr1": "EasyR1",
    "llama_factory": "LLaMA-Factory", "megatron": "Megatron-LM", "mindie": "MindIE", "miles": "miles",
    "ms_swift": "ms-swift", "nemo_rl": "NeMo RL", "openrlhf": "OpenRLHF", "prime_rl": "prime-rl", "rllm": "rLLM",
    "roll": "ROLL", "sglang": "SGLang", "slime": "slime", "transformers": "Transformers", "trl": "TRL", "verl": "verl",
    "vllm": "vLLM",
}  # fmt: skip

HEAD = """\
# Frameworks

What is read of each framework: the files that hold its config, the launches that are its own, and the releases whose
options and defaults are known. A release that lies between two of the list is judged by the older one. Which release a
run has is taken from `--target NAME=RELEASE`, from the settings, from lock files, pins and images of the repository, or
left open; a default then counts only where the releases agree.

Launches are found in shell scripts and whatever they start or source, and in the other files that
[Architecture](architecture.md) lists.

| framework | files | launches that hold | releases known | options |
|---|---|---|---|---|
"""


def frameworks() -> str:
    """The page: a row for each framework that has a reader, by name."""
    rows = sorted((_row(reader) for reader in READERS), key=str.lower)
    return HEAD + "".join(rows)


def _row(reader: Reader) -> str:
    releases, options = _table(reader.name)
    files = reader.documents.upper() if reader.documents else ""
    launches = ", ".join(f"`{text.strip()}`" for text in reader.launches)
    title = TITLES.get(reader.name, reader.name)
    return f"| {title} | {files} | {launches} | {_span(releases)} | {options or ''} |\n"


def _table(name: str) -> tuple[list[str], int]:
    """(releases, number of options) of a framework's option table; nothing where it has none."""
    path = TABLES / f"{name}.json"
    if not path.exists():
        return [], 0
    table = json.loads(path.read_text(encoding="utf-8"))
    return table["releases"], len(table["options"])


def _span(releases: list[str]) -> str:
    if len(releases) < 2:
        return "".join(releases)
    return f"{len(releases)}, {releases[0]} to {releases[-1]}"
