"""Brace expansion: `{a,b}` and `{1..9}`."""

from __future__ import annotations

import re

from grpo_lint.patterns import lazy
from grpo_lint.syntax.shell.tree import Lit, Param, WordNode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.syntax.shell.tree import Part

MAX_WORDS = 1_000
"""Words that one word may become; beyond it the word is left as it is, marked by `variants == []`."""

SEQUENCE = r"(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?$"
NAME_MORE = lazy(r"[A-Za-z0-9_]+")
SPECIAL = lazy(r"[{},]")


class TooMany(Exception):
    """The expansion is longer than MAX_WORDS."""


def expand_braces(node: WordNode) -> None:
    """Sets `variants` of a word that braces turn into others."""
    atoms = _atoms(node.parts)
    try:
        if len(atoms) > 2 * MAX_WORDS:
            raise TooMany
        variants = _expand(atoms, 0)
    except TooMany:
        node.variants = []
        return
    if len(variants) == 1 and variants[0] == atoms:
        return
    node.variants = [WordNode(tuple(_rejoined(parts)), node.start, node.end) for parts in variants]


def _rejoined(parts: list[Part]) -> list[Part]:
    """The parts as bash reads them after the expansion: `{$v,2}x` asks for `$vx`."""
    done: list[Part] = []
    for part in parts:
        last = done[-1] if done else None
        if (
            type(last) is Param
            and type(part) is Lit
            and not part.quoted
            and last.end - last.start == len(last.name) + 1
        ):
            found = NAME_MORE.match(part.text)
            if found is not None and last.name[:1] not in "0123456789@*#?$!-":
                longer = Param(last.name + found.group(), last.start, last.end, last.quoted)
                done[-1] = longer
                part = Lit(part.text[found.end() :], part.start + found.end(), part.end, False)
        if not (type(part) is Lit and not part.text and not part.quoted):
            done.append(part)
    return done


def _atoms(parts: tuple[Part, ...]) -> list[Part]:
    """The parts with unquoted braces and commas on their own."""
    done: list[Part] = []
    for part in parts:
        if not isinstance(part, Lit) or part.quoted or not SPECIAL.search(part.text):
            done.append(part)
            continue
        at = 0
        for found in SPECIAL.finditer(part.text):
            for low, high in ((at, found.start()), (found.start(), found.end())):
                if low < high:
                    done.append(Lit(part.text[low:high], part.start + low, part.start + high, False))
            at = found.end()
        if at < len(part.text):
            done.append(Lit(part.text[at:], part.start + at, part.end, False))
    return done


def _is(part: Part, char: str) -> bool:
    return isinstance(part, Lit) and not part.quoted and part.text == char


def _expand(atoms: list[Part], depth: int) -> list[list[Part]]:
    """Every word that the atoms stand for, in bash's order."""
    if depth > 20:
        raise TooMany
    results: list[list[Part]] = [[]]
    at = 0
    while at < len(atoms):
        choices, after = _choices(atoms, at, depth) if _is(atoms[at], "{") else (None, at + 1)
        if choices is None:
            for result in results:
                result.append(atoms[at])
            at += 1
            continue
        if len(results) * len(choices) > MAX_WORDS:
            raise TooMany
        results = [[*result, *choice] for result in results for choice in choices]
        at = after
    return results


def _choices(atoms: list[Part], opening: int, depth: int) -> tuple[list[list[Part]] | None, int]:
    """What the brace at `opening` stands for and where it ends; None if it stands for itself."""
    level, start = 0, opening + 1
    fields: list[list[Part]] = []
    for at in range(opening, len(atoms)):
        if _is(atoms[at], "{"):
            level += 1
        elif _is(atoms[at], "}"):
            level -= 1
            if level == 0:
                fields.append(atoms[start:at])
                break
        elif level == 1 and _is(atoms[at], ","):
            fields.append(atoms[start:at])
            start = at + 1
    else:
        return None, opening
    if len(fields) == 1:
        return _sequence(fields[0]), at + 1
    return [choice for field in fields for choice in _expand(field, depth + 1)], at + 1


def _sequence(field: list[Part]) -> list[list[Part]] | None:
    only = field[0] if len(field) == 1 else None
    found = re.match(SEQUENCE, only.text) if isinstance(only, Lit) and not only.quoted else None
    if only is None or found is None:
        return None
    low, high, step = found.groups()
    if low.isalpha() != high.isalpha() or len(low) > 18 or len(high) > 18 or len(step or "") > 18:
        return None
    letters = low.isalpha()
    first, last = (ord(low), ord(high)) if letters else (int(low), int(high))
    stride = max(abs(int(step or 1)), 1)
    if abs(last - first) // stride >= MAX_WORDS:
        raise TooMany
    width = 0
    if not letters and any(len(text.lstrip("-")) > 1 and text.lstrip("-")[0] == "0" for text in (low, high)):
        width = max(len(low), len(high))
    numbers = range(first, last + 1, stride) if first <= last else range(first, last - 1, -stride)
    texts = [chr(number) if letters else f"{number:0{width}d}" for number in numbers]
    return [[Lit(text, only.start, only.end, False)] for text in texts]
