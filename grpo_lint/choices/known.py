"""What is known of each choice: a data file for each topic, which the commands `guide` and `compare` read.

{"read": "2026-11-30", "about": "what is chosen",
 "titles": {"fsdp1": "FSDP1", "fsdp2": "FSDP2", "undecided": "undecided"},  # the last where the guide may say so
 "facts": ["torch", "verl"],       # what the guide asks about; choices/facts.py has them all
 "now": "fsdp_mode",               # the unified field that says what a run has
 "of": {"frameworks": ["verl"]},   # which runs it is about: by a framework, or by a unified field's value
 "rows": [{"topic": "memory", "fsdp1": "...", "fsdp2": "...", "source": "..."}],
 "reasons": [{"answer": "fsdp2", "when": {"verl_from": "0.9.0"}, "text": "...", "source": "..."}],
 "cautions": [{"when": {}, "text": "...", "source": "..."}],
 "set": {"fsdp1": "...", "fsdp2": "..."}}
"""

from __future__ import annotations

from grpo_lint.modules import packaged

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TOPICS = {
    "fsdp": ("fsdp1", "fsdp2"),
    "zero": ("zero2", "zero3"),
    "sync": ("naive", "nccl"),
    "sleep": ("level1", "level2"),
    "engine": ("vllm", "sglang"),
}
"""The two ways of each topic."""


def load(topic: str) -> dict[str, Any]:
    """What is known of a topic, as its data file has it."""
    import json

    with open(packaged("knowledge", "choices", f"{topic}.json"), encoding="utf-8") as file:
        known: dict[str, Any] = json.load(file)
    return known
