"""Cells of a notebook: Python, and what it hands to a shell (`!command`, `%%bash`).

for cell in cells(source): cell.python, cell.scripts     # words: each part of them knows where it stands

Read: the format of notebooks 4.5 (a cell's source is one text or a list of lines) and IPython 9's magics.
"""

from __future__ import annotations

import re

from grpo_lint.located import Piece, Value, Word
from grpo_lint.patterns import lazy
from grpo_lint.source import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.source import SourceFile

_ESCAPE = lazy(r"""\\(?:u([0-9a-fA-F]{4})|(.))""")
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_SHELL_CELL = lazy(r"\s*%%(?:bash|sh|script\s+(?:bash|sh))\b[^\n]*")
_SHELL_LINE = lazy(r"(?m)^[ \t]*!{1,2}((?:[^\n\\]|\\\n|\\.)*)")
_MAGIC_LINE = lazy(r"(?m)^[ \t]*[!%]")
MAX_CELLS = 5_000


class Cell:
    """A code cell: `text`, all of it; its `scripts` for a shell; whether it is Python besides."""

    __slots__ = ("is_python", "scripts", "text")

    def __init__(self, text: Word) -> None:
        self.text = text
        whole = text.text
        shell = _SHELL_CELL.match(whole)
        self.is_python = not whole.lstrip().startswith("%%")
        if shell is not None:
            self.scripts = [text.cut(shell.end())]
        else:
            self.scripts = [text.cut(match.start(1), match.end(1)) for match in _SHELL_LINE.finditer(whole)]

    @property
    def python(self) -> str:
        """The cell as Python of the same length: lines that are no Python are comments."""
        text = _SHELL_LINE.sub(lambda match: re.sub(r"[^\n]", "#", match[0]), self.text.text)
        return _MAGIC_LINE.sub(lambda match: match[0][:-1] + "#", text)

    def place(self, start: int, end: int) -> Span:
        """The place in the notebook of a range of the cell's text."""
        return self.text.cut(start, end).span


def cells(source: SourceFile) -> Iterator[Cell]:
    """The code cells of a notebook, in order."""
    from grpo_lint.syntax import json

    root = json.read(source, False).root
    listed = root.get("cells") if root is not None and root.is_mapping else None
    for cell in listed.data[:MAX_CELLS] if listed is not None and listed.is_list else ():
        kind, text = cell.get("cell_type"), cell.get("source")
        if kind is None or kind.data != "code" or text is None:
            continue
        lines = text.data if text.is_list else [text]
        pieces = [piece for line in lines if isinstance(line.data, str) for piece in _pieces(line)]
        if pieces:
            yield Cell(Word(tuple(pieces), text.span))


def _pieces(value: Value) -> Iterator[Piece]:
    """A JSON text in pieces of which each stands in the file as it is, or is one escape."""
    span = value.span
    raw, first, at = span.text[1:-1], span.start + 1, 0
    for match in _ESCAPE.finditer(raw):
        if match.start() > at:
            yield Piece(raw[at : match.start()], Span(span.file, first + at, first + match.start()))
        at = match.end()
        text = chr(int(match[1], 16)) if match[1] else _PLAIN.get(match[2], match[2])
        yield Piece(text, Span(span.file, first + match.start(), first + at))
    if at < len(raw):
        yield Piece(raw[at:], Span(span.file, first + at, first + len(raw)))
