"""verl: what Hydra refuses, told with what the releases of verl have and what may have been meant."""

from __future__ import annotations

import re

from grpo_lint.diagnostics import Fix
from grpo_lint.frameworks import tables
from grpo_lint.frameworks.verl import NAME
from grpo_lint.frameworks.verl_packaged import NO_OPTION
from grpo_lint.located import Problem
from grpo_lint.patterns import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grpo_lint.source import Span
    from grpo_lint.syntax.hydra.config import ComposeProblem
    from grpo_lint.syntax.hydra.overrides import Override

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
            if section == override.key:
                told.fix = _rename(override, known)
        elif override is not None and problem.kind in _FIXES:
            told.fix = _FIXES[problem.kind](override, problem)
        yield told


def _rename(override: Override, known: list[str]) -> Fix | None:
    """Write the name that was meant: safe for a slip of the pen, since Hydra starts nothing with it.

    An option that has moved keeps its last name. One that only looks alike may be another.
    """
    from grpo_lint.fixing.values import renamed

    key, span = override.key, override.key_span
    slip = _slip(key, known)
    new = slip or _moved(key, known)
    near = new.partition(".")[0] == key.partition(".")[0] or "." not in new
    if new not in known or not near or override.package is not None or _is_set(span, new):
        return None
    return renamed(span, key, new, safe=bool(slip))


def _is_set(span: Span, key: str) -> bool:
    """Whether the file of an override sets another key somewhere, too: on this command or another one."""
    return re.search(rf"(?<![\w.]){re.escape(key)}=", span.file.text) is not None


def _without_plus(override: Override, problem: ComposeProblem) -> Fix | None:
    """Take the + away: Hydra starts nothing with it, and without it the option gets the value."""
    return Fix("remove the +", ((override.prefix_span, ""),), safe=True) if override.prefix_span.text == "+" else None


def _choice(override: Override, problem: ComposeProblem) -> Fix | None:
    """Write the choice that the one given is a slip of the pen for: Hydra starts nothing with it."""
    from grpo_lint.fixing.values import renamed
    from grpo_lint.frameworks import slips

    given = problem.span.text.strip("\"'")
    return renamed(problem.span, given, slips.meant(given, problem.choices), safe=True)


def _as_list(override: Override, problem: ComposeProblem) -> Fix | None:
    """Write `[a,b]` for `a,b`: safe where verl's tree has a list under the key, since Hydra starts nothing with it."""
    sweep, value = override.sweep, override.value
    if sweep is None or value is None or not sweep.simple or "[" in value.raw or "(" in value.raw:
        return None
    from grpo_lint.fixing.values import replaced

    listed = isinstance(tables.verl_tree(None).get(override.key), list)
    return replaced(value.span, value.raw, f"[{value.raw}]", f"write a list: [{value.raw}]", listed)


def _not_deleted(override: Override, problem: ComposeProblem) -> Fix | None:
    """Take a `~key` out whose key isn't there: the run gets what it asks for. Not if that is a slip of the pen."""
    from grpo_lint.fixing.words import without

    return without(override.span, f"remove ~{override.key}", safe=False) if override.value is None else None


_FIXES = {"exists": _without_plus, "no-choice": _choice, "no-deletion": _not_deleted, "sweep": _as_list}
"""By kind of problem."""


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
    parts = [_question(key, _meant(key, known)), _engines(section, engine), "" if section != key else _history(key)]
    return "; ".join(part for part in parts if part)


def _question(key: str, meant: str) -> str:
    parent, _, leaf = key.rpartition(".")
    if meant == leaf and parent:
        return f"did you mean {leaf}=..., without {parent}.?"
    return f"did you mean {meant}?" if meant else ""


def _engines(section: str, engine: str) -> str:
    """The engines whose tree has a section, where this one's hasn't."""
    if not engine or tables.verl_tree(None, engine).has(section):
        return ""
    having = [name for name in ("dp", "megatron", "veomni", "torchtitan") if tables.verl_tree(None, name).has(section)]
    return f"the tree of model_engine={having[0]} has {section}" if having else ""


def _meant(key: str, known: list[str]) -> str:
    """The option, or the section at the top, that was most likely meant; "" if none is near."""
    sure = _slip(key, known) or _moved(key, known)
    if sure:
        return sure
    from difflib import get_close_matches

    close = get_close_matches(key, _siblings(key, known), 1, 0.8) or get_close_matches(key, known, 1, 0.93)
    return close[0] if close else ""


def _siblings(key: str, known: list[str]) -> list[str]:
    parent = key.rpartition(".")[0]
    return [name for name in known if name.rpartition(".")[0] == parent]


def _slip(key: str, known: list[str]) -> str:
    """The option of the same section that a key is a slip of the pen for; "" if it is none."""
    from grpo_lint.frameworks import slips

    return slips.meant(key, _siblings(key, known))


def _moved(key: str, known: list[str]) -> str:
    """The one option with a key's last name, at the top or in another section; "" if there is none or more than one."""
    leaf = key.rpartition(".")[2]
    if leaf in {name.split(".", 1)[0] for name in known}:
        return leaf
    same = [name for name in known if name.rpartition(".")[2] == leaf]
    return same[0] if len(same) == 1 else ""


def _history(key: str) -> str:
    """Since and until when verl has an option, as far as the packaged releases tell."""
    option = tables.option(NAME, key)
    if option is None:
        return ""
    return f"verl has it from {option.since} to {option.until}" if option.until else f"verl has it since {option.since}"
