"""Fixes and the runs that share what they edit.

A value of a file, a variable or an array may reach several runs. Its fix is offered only if each of them has the
finding: what removes a fault from one run must not change another that is right.
"""

from __future__ import annotations

from grpo_lint.diagnostics import Fix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grpo_lint.diagnostics import Diagnostic
    from grpo_lint.located import Word
    from grpo_lint.runconfig import RunConfig
    from grpo_lint.source import Span

    Key = tuple[str, Span]
    Judged = tuple[RunConfig, RunConfig, set[Key]]
    """A run, a variant of it, and what was found in that."""


def agreed(one: Fix, other: Fix | None) -> Fix | None:
    """The fix of a finding that two runs share: None unless both have the same, and safe if it is for both."""
    if other is None or one.edits != other.edits:
        return None
    return one if other.safe or not one.safe else Fix(one.title, one.edits, False, one.reach)


def keep(found: dict[Key, Diagnostic], judged: Iterable[Judged], times: dict[Key, int]) -> None:
    """Take the fixes of findings away that would change a run which doesn't have the finding.

    A problem with the text is not known by its run: the runs that read its place must be no more than the `times`
    that it was told.
    """
    wanted = {
        span.file.path for one in found.values() for span in (one.fix.reach if one.fix is not None else ()) if one.fix
    }
    places = _Places(judged, wanted)
    for key, diagnostic in found.items():
        if diagnostic.fix is None:
            continue
        readers = places.readers(diagnostic.fix.reach)
        if key in times:
            shared = len({id(run) for run, _, _ in readers}) > times[key]
        else:
            shared = any(key not in keys for _, _, keys in readers)
        if shared:
            diagnostic.fix = None


class _Places:
    """Which variants of runs read what, in the files that matter."""

    def __init__(self, judged: Iterable[Judged], paths: set[str]) -> None:
        self._read: dict[str, list[tuple[int, int, int]]] = {}
        self._judged = list(judged)
        for at, (_, variant, _) in enumerate(self._judged):
            places = {(place.file.path, place.start, place.end) for place in _places(variant)}
            for path, start, end in places:
                if path in paths:
                    self._read.setdefault(path, []).append((start, end, at))

    def readers(self, reach: tuple[Span, ...]) -> list[Judged]:
        """The variants that read a place. A config that others read is no run of its own besides."""
        found = {
            at
            for span in reach
            for start, end, at in self._read.get(span.file.path, ())
            if (start < span.end and span.start < end) or (span.start == span.end and start <= span.start <= end)
        }
        readers = [self._judged[at] for at in sorted(found)]
        files = {span.file.path for span in reach}
        return [one for one in readers if one[1].command or one[1].anchor.file.path not in files] or readers


def _places(run: RunConfig) -> Iterator[Span]:
    """Every place that a run's options, arguments and environment come from."""
    for chain in run.options.chains():
        for origin in chain:
            if origin.span is not None:
                yield origin.span
            yield from origin.via
    for word in run.command:
        yield from _of_word(word)
    for variable in run.env.values():
        for origin in variable.chain:
            if origin.span is not None:
                yield origin.span
            yield from origin.via


def _of_word(word: Word) -> Iterator[Span]:
    yield word.span
    yield from word.via
    for piece in word.pieces:
        yield piece.span
        yield from piece.via
