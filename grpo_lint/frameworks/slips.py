"""Slips of the pen in option names: what may have been meant by a name that no table has."""

from __future__ import annotations

from grpo_lint.patterns import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_SEPARATORS = lazy(r"[-_.]+")
_OPPOSITE = lazy(r"--no[-_]")
SHORT, LONG = 4, 8
"""Letters of a word from which one, and from which two, may be wrong."""


def meant(name: str, known: Iterable[str]) -> str:
    """The one known name of which `name` is a slip; "" if it is none.

    A slip has the same words with a letter or two wrong, left out, doubled or swapped, in another order, or with other
    separators. Another word, or one more or less, is another option: other releases and forks have such.
    """
    parts = _words(name)
    joined = "".join(parts)
    found: dict[str, int] = {}
    for other in known:
        if abs(len(other) - len(name)) > LONG or (_OPPOSITE.match(other) and not _OPPOSITE.match(name)):
            continue
        words = _words(other)
        wrong = 0 if "".join(words) == joined or sorted(words) == sorted(parts) else _wrong(parts, words)
        if wrong is not None:
            found[other] = wrong
    if not found:
        return ""
    least = min(found.values())
    best = [other for other, wrong in found.items() if wrong == least]
    return best[0] if len({_SEPARATORS.sub("", other) for other in best}) == 1 else ""


def _words(name: str) -> list[str]:
    return _SEPARATORS.sub(" ", name).lower().split()


def _wrong(parts: list[str], words: list[str]) -> int | None:
    """How many letters are wrong in all; None if too many are, or in more than one word."""
    if len(parts) != len(words):
        return None
    differing = [(part, word) for part, word in zip(parts, words, strict=True) if part != word]
    if len(differing) != 1:
        return None
    part, word = differing[0]
    size = max(len(part), len(word))
    allowed = 0 if size < SHORT else 1 if size < LONG else 2
    if part.strip("0123456789") == word.strip("0123456789") or abs(len(part) - len(word)) > allowed:
        return None
    distance = edits(part, word, allowed)
    return distance if distance <= allowed else None


def edits(one: str, other: str, limit: int) -> int:
    """The letters to insert, leave out, replace or swap with the next between two words; `limit` + 1 for more."""
    if abs(len(one) - len(other)) > limit:
        return limit + 1
    before, row = list[int](), list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        new = [at]
        for to, other_letter in enumerate(other, 1):
            cost = min(row[to] + 1, new[-1] + 1, row[to - 1] + (letter != other_letter))
            if at > 1 and to > 1 and letter == other[to - 2] and one[at - 2] == other_letter:
                cost = min(cost, before[to - 2] + 1)
            new.append(cost)
        if min(new) > limit:
            return limit + 1
        before, row = row, new
    return row[-1] if row[-1] <= limit else limit + 1
