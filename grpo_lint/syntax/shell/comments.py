"""Where the comments of a script are, and how far each of its statements and array elements goes."""

from __future__ import annotations

from grpo_lint.syntax.shell.compound import Parser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.syntax.shell.lexer import ShellSyntaxError
    from grpo_lint.syntax.shell.tree import Assign, Node, WordNode

    Ranges = list[tuple[int, int]]


def read(text: str) -> tuple[Ranges, Ranges]:
    """(comments, extents) of a script's text, in order; of extents that start together the longest comes first.

    A statement reaches to the end of its last line, here-documents included; a compound command is one, and so is each
    command in it. What breaks the grammar reaches to where reading goes on.
    """
    marker = _Marker(text)
    marker.script()
    comments = sorted(marker.found.comments.items())
    extents = marker.found.extents
    for start, (low, high) in sorted(marker.found.documents.items()):
        extents |= {(low, high)} | {(begin, max(end, high)) for begin, end in extents if begin <= start < end}
    return comments, sorted(extents, key=lambda extent: (extent[0], -extent[1]))


class _Found:
    __slots__ = ("comments", "documents", "extents")

    def __init__(self) -> None:
        self.comments: dict[int, int] = {}
        self.extents: set[tuple[int, int]] = set()
        self.documents: dict[int, tuple[int, int]] = {}


class _Marker(Parser):
    """A parser that notes places on its way. It may go over a text twice, so places are kept in sets."""

    def __init__(self, text: str, start: int = 0, end: int | None = None, found: _Found | None = None) -> None:
        super().__init__(text, start, end)
        self.found = found or _Found()
        self.in_array = False

    def inner(self, text: str, offsets: list[int] | None, start: int = 0, end: int | None = None) -> Parser:
        if offsets is not None:  # its offsets are those of another text
            return super().inner(text, offsets, start, end)
        parser = _Marker(text, start, end, self.found)
        parser.depth, parser.faults = self.depth, self.faults
        return parser

    def comment(self) -> None:
        start = self.at
        super().comment()
        self.found.comments[start] = self.at

    def item(self) -> tuple[Node, bool]:
        start, outer = self.at, self.in_array
        self.in_array = False
        try:
            node, background = super().item()
        finally:
            self.in_array = outer
        self.found.extents.add((start, node.end))
        return node, background

    def fault(self, error: ShellSyntaxError, began: int) -> bool:
        goes_on = super().fault(error, began)
        self.found.extents.add((began, self.at))
        return goes_on

    def elements(self, node: Assign) -> None:
        outer, self.in_array = self.in_array, True
        try:
            super().elements(node)
        finally:
            self.in_array = outer

    def element(self) -> Assign | None:
        found = super().element()
        if found is not None:
            self.found.extents.add((found.start, found.end))
        return found

    def word(self, pattern: bool = False) -> WordNode:
        node = super().word(pattern)
        if self.in_array:
            self.found.extents.add((node.start, node.end))
        return node

    def documents(self) -> None:
        waiting = [redirect for redirect, _, _ in self.pending]
        super().documents()
        for redirect in waiting:
            if redirect.body is not None:
                self.found.documents[redirect.start] = (redirect.body.start, redirect.body.end)
