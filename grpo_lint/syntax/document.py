"""What a reader hands back: a document's values, and what is wrong with its text."""

from __future__ import annotations

from grpo_lint import located
from grpo_lint.located import Value
from grpo_lint.source import Span

MAX_DEPTH = 200
"""Collections nested deeper than this are not read: real configs stay under 30, and walking a tree must not overflow
Python's stack. PyYAML and hjson themselves fail between 200 and 350."""

MAX_NODES = 500_000
"""Nodes of one file, those that aliases repeat counted each time: the bound on memory, and on walking the tree."""

MAX_PROBLEMS = 50
"""A file with more faults than this isn't what we took it for; the rest are not listed."""

MAX_DIGITS = 4300
"""Python refuses to read longer integers (`sys.int_info.default_max_str_digits`), since that takes quadratic time."""


class Problem(located.Problem):
    """A fault of the text itself. Reading goes on after it wherever that makes sense.

    `kind` is one of
    - "syntax": the text breaks the grammar;
    - "template": it does so because it holds template code (`{{ ... }}`, `{% ... %}`);
    - "duplicate-key", "duplicate-anchor", "undefined-alias", "alias-cycle": as they say; for a duplicate key, the first
      of `related` is the earlier key;
    - "merge": a merge key that has no mapping;
    - "key": a mapping key that the consumer can't use (a list, a mapping);
    - "value": a scalar that the consumer's reader can't turn into the type that it recognises (`0x_`, `2024-13-45`);
    - "tag": a YAML tag that the consumer's reader doesn't know;
    - "too-deep", "gave-up": a limit of ours was reached, and what follows was not read.

    `fatal` says whether the consumer's own reader refuses the file because of it.
    """

    __slots__ = ("fatal", "kind", "related")

    def __init__(
        self,
        kind: str,
        message: str,
        span: Span,
        related: tuple[tuple[Span, str], ...] = (),
        fatal: bool = True,
        help: str = "",
    ) -> None:
        super().__init__(message, span, help)
        self.kind = kind
        self.related = related
        self.fatal = fatal

    def __repr__(self) -> str:
        return f"Problem({self.kind}, {self.message!r}, {self.span.start}:{self.span.end})"


def shown(text: str) -> str:
    """Text of any length as a message shows it."""
    return text if len(text) <= 40 else text[:37] + "..."


class Document:
    """One document: its root (None when there is none), its problems, and the comments of the file it is in."""

    __slots__ = ("comments", "problems", "root")

    def __init__(self, root: Value | None, problems: list[Problem], comments: list[Span]) -> None:
        self.root = root
        self.problems = problems
        self.comments = comments

    def __repr__(self) -> str:
        return f"Document({self.root!r}, {self.problems!r})"
