"""verl: what Hydra refuses, told with what the releases of verl have and what may have been meant."""

from __future__ import annotations

from grpo_lint.frameworks import tables
from grpo_lint.frameworks.verl import NAME
from grpo_lint.frameworks.verl_packaged import NO_OPTION
from grpo_lint.located import Problem
from grpo_lint.patterns import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grpo_lint.syntax.hydra.config import ComposeProblem

_PLACEHOLDER = lazy(r"<[^<>|=]+>")
"""Text to be filled in, which the rule about placeholders tells."""


def told(problems: Iterable[ComposeProblem], names: Iterable[str], engine: str = "") -> Iterator[Problem]:
    """The problems of a composition for people; `names` are the options of the tree, for suggestions.

    Overrides below one section that isn't there are one fault: the first is marked, the others are related to it.
    """
    known: list[str] | None = None
    absent: dict[str, Problem] = {}
    for problem in problems:
        override = problem.override
        if problem.kind == "syntax" and override is not None and _PLACEHOLDER.search(override.text):
            continue
        span = override.span if problem.kind == "exists" and override is not None else problem.span
        told = Problem(problem.message, span, problem.help, f"hydra-{problem.kind}", problem.related)
        if problem.kind == "no-option" and override is not None:
            section = problem.message.rpartition(NO_OPTION)[2]
            if section in absent:
                absent[section].related += ((span, "nor this one"),)
                continue
            if section != override.key:
                absent[section] = told
            known = list(names) if known is None else known
            told.help = suggestion(override.key, section, known, engine) or told.help
        yield told


def reads_as_fork(problems: Iterable[ComposeProblem], known: Iterable[str]) -> bool:
    """Whether a launch sets an option that no release has and that is no slip of the pen: a fork's own, then."""
    names: list[str] | None = None
    for problem in problems:
        if problem.kind == "no-option" and problem.override is not None:
            names = list(known) if names is None else names
            if not _meant(problem.override.key, names):
                return True
    return False


def suggestion(key: str, section: str, known: list[str], engine: str) -> str:
    """What may have been meant by an option that isn't there, and which engines and releases have it."""
    parts = [_meant(key, known), _engines(section, engine), "" if section != key else _history(key)]
    return "; ".join(part for part in parts if part)


def _engines(section: str, engine: str) -> str:
    """The engines whose tree has a section, where this one's hasn't."""
    if not engine or tables.verl_tree(None, engine).has(section):
        return ""
    having = [name for name in ("dp", "megatron", "veomni", "torchtitan") if tables.verl_tree(None, name).has(section)]
    return f"the tree of model_engine={having[0]} has {section}" if having else ""


def _meant(key: str, known: list[str]) -> str:
    parent, _, leaf = key.rpartition(".")
    if leaf in {name.split(".", 1)[0] for name in known}:
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
