"""Text of one language inside a file of another: shell in YAML, in a Makefile, YAML in documentation.

with Excerpt(source, [(start, text)]) as file: ...      # a file of the same length, in which all else is blank
"""

from __future__ import annotations

import re

from grpo_lint.source import SourceFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from grpo_lint.located import Value

MAX_WORK = 50_000_000
"""Characters that the excerpts of one file may have in all, blanks included: what bounds a file of many parts."""


class Excerpt:
    """Parts of a file as a file of its own whose offsets are the same.

    `stretches` are (where a part starts, what stands there for the reader), in order; a part is as long as what it
    takes the place of. Outside the `with` block the file has its own text again, so that places read as they are
    written.
    """

    def __init__(self, source: SourceFile, stretches: Iterable[tuple[int, str]], blank: str | None = None) -> None:
        self.source = SourceFile(source.path, source.text)
        self._original = source.text
        blank = blanked(source.text) if blank is None else blank
        parts, at = [], 0
        self.start: int | None = None
        self.end = 0
        for start, text in stretches:
            self.start = start if self.start is None else self.start
            self.end = start + len(text)
            parts += [blank[at:start], text]
            at = start + len(text)
        self._text = "".join((*parts, blank[at:]))

    @property
    def bounds(self) -> tuple[int, int]:
        """Where its first part starts and its last one ends."""
        return self.start or 0, self.end

    def __enter__(self) -> SourceFile:
        self.source.text = self._text
        return self.source

    def __exit__(self, *error: object) -> None:
        self.source.text = self._original
        self.source.forget_lines()


def blanked(text: str) -> str:
    """Blanks of the same length; lines stay lines."""
    return re.sub(r"[^\n]", " ", text)


def unix(text: str) -> str:
    """A text of the same length in which lines end with LF alone; a backslash before that still continues its line."""
    return text.replace("\\\r\n", " \\\n").replace("\r\n", " \n") if "\r" in text else text


def stretch_of(value: Value) -> tuple[int, str] | None:
    """A YAML scalar's text where it stands, as its reader gets it.

    Only block scalars, plain and simply quoted ones can be taken so; None for another, such as one with escapes.
    """
    escaped = value.style == "double" and "\\" in value.raw
    if not isinstance(value.data, str) or escaped:
        return None
    start, inner = value.span.start, unix(value.span.text)  # to YAML, either line end is one
    if value.style in ("literal", "folded"):
        header = inner.find("\n") + 1
        inner = " " * (header - 1) + "\n" + inner[header:] if header else ""
        if not header:
            return None
    elif value.style in ("single", "double"):
        inner = " " + inner[1:-1] + " "
    elif value.style != "plain":
        return None
    return start, inner if value.style == "literal" else inner.replace("\n", " ")
