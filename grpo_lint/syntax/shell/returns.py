"""Scripts whose lines end with CR LF. bash keeps the CR, and so words that it is part of are unknown.

Elsewhere (after `then`, on empty lines) such a script is read as it was meant, so that its launches are found at all:
bash itself stops at the first `then`.
"""

from __future__ import annotations

from grpo_lint.syntax.shell.compound import Parser
from grpo_lint.syntax.shell.tree import Assign, CarriageReturn, For, Simple, WordNode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.syntax.shell.parser import Fault
    from grpo_lint.syntax.shell.tree import ForC, ListNode


def parse(text: str) -> tuple[ListNode, list[Fault]]:
    """The tree of a script's text, and its faults in order of position."""
    parser = _Returns(text)
    body = parser.script()
    return body, sorted(parser.faults, key=lambda fault: fault.start)


class _Returns(Parser):
    """A parser to which a CR at a line's end is a blank, and which then finds the words that bash adds it to."""

    def __init__(self, text: str, start: int = 0, end: int | None = None) -> None:
        super().__init__(text.replace("\r\n", " \n"), start, end)
        self.original = text
        self.padded = True

    def inner(self, text: str, offsets: list[int] | None, start: int = 0, end: int | None = None) -> Parser:
        if offsets is not None:  # its offsets are those of another text
            return super().inner(text, offsets, start, end)
        parser = _Returns(self.original, start, end)
        parser.depth, parser.faults = self.depth, self.faults
        return parser

    def simple(self) -> Simple:
        node = super().simple()
        if len(node.words) > 1:  # with the CR in its first word no command is found at all
            node.words[1:] = [word if isinstance(word, Assign) else self.taken(word) for word in node.words[1:]]
        if node.words and self.original.startswith("\r\n", self.at - 1) and self.at - 1 > node.end:
            node.words.append(_alone(self.at - 1))
        return node

    def elements(self, node: Assign) -> None:
        start = self.at
        super().elements(node)
        items = node.items or []
        if "\r\n" in self.original[start : self.at]:  # on a line of its own, or after a blank, it is an element too
            items = [item if isinstance(item, Assign) else self.taken(item) for item in items] + [_alone(start, False)]
        node.items = items

    def value_word(self) -> WordNode:
        return self.taken(super().value_word())

    def loop(self, word: str) -> For | ForC:
        node = super().loop(word)
        if isinstance(node, For) and node.words:
            node.words = [self.taken(item) for item in node.words]
        return node

    def taken(self, node: WordNode) -> WordNode:
        """The word with the CR that bash takes into it; what holds line ends is unknown as a whole."""
        if "\r\n" in self.original[node.start : node.end + 1]:
            return WordNode((CarriageReturn(node.start, node.end),), node.start, node.end)
        if self.original.startswith("\r\n", node.end):
            return WordNode((*node.parts, CarriageReturn(node.end, node.end + 1)), node.start, node.end)
        return node


def _alone(at: int, quoted: bool = True) -> WordNode:
    """A word that is nothing but the CR, or, not quoted, any number of them."""
    return WordNode((CarriageReturn(at, at + 1, quoted),), at, at + 1)
