"""verl: what Hydra refuses, told with what the releases of verl have and what may have been meant."""

from __future__ import annotations

import re

from grpo_lint.frameworks import tables
from grpo_lint.frameworks.verl import NAME
from grpo_lint.located import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grpo_lint.syntax.hydra.config import ComposeProblem

_PLACEHOLDER = re.compile(r"<[^<>|=]+>")
"""Text to be filled in, which the rule about placeholders tells."""


def told(problems: Iterable[ComposeProblem], names: Iterable[str]) -> Iterator[Problem]:
    """The problems of a composition for people; `names` are the options of the tree, for suggestions."""
    known: list[str] | None = None
    for problem in problems:
        help = problem.help
        if problem.kind == "syntax" and _PLACEHOLDER.search(problem.override.text if problem.override else ""):
            continue
        if problem.kind == "no-option" and problem.override is not None:
            known = list(names) if known is None else known
            help = suggestion(problem.override.key, known) or help
        span = problem.span
        if problem.kind == "exists" and problem.override is not None:
            span = problem.override.span
        yield Problem(problem.message, span, help, f"hydra-{problem.kind}", problem.related)


def suggestion(key: str, known: list[str]) -> str:
    """What may have been meant by an option that isn't there, and which releases have it."""
    parts = [_meant(key, known), _history(key)]
    return "; ".join(part for part in parts if part)


def _meant(key: str, known: list[str]) -> str:
    parent, _, leaf = key.rpartition(".")
    tops = sorted({name.split(".", 1)[0] for name in known})
    if leaf in tops:
        return f"did you mean {leaf}=..., without {parent}.?"
    from difflib import get_close_matches

    siblings = [name for name in known if name.rpartition(".")[0] == parent]
    same = [name for name in known if name.rpartition(".")[2] == leaf]
    close = get_close_matches(key, siblings, 1, 0.8) or (same if len(same) == 1 else [])
    close = close or get_close_matches(key, known, 1, 0.93)
    return f"did you mean {close[0]}?" if close else ""


def _history(key: str) -> str:
    """Since and until when verl has an option, as far as the packaged releases tell."""
    option = tables.option(NAME, key)
    if option is None:
        return ""
    return f"verl has it from {option.since} to {option.until}" if option.until else f"verl has it since {option.since}"
