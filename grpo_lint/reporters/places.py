"""Spans as lines and columns, for output that machines read."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.source import Span


def region(span: Span) -> tuple[int, int, int, int]:
    """(line, column, end line, end column) of a span: from 1, in code points, the end being just past it.

    Line ends at its end don't count, so that a block that ends with one doesn't reach into the next line.
    """
    text, end = span.file.text, span.end
    while end > span.start and text[end - 1 : end] in ("\n", "\r"):
        end -= 1
    return (*span.file.position(span.start), *span.file.position(end))


def exact_region(span: Span) -> tuple[int, int, int, int]:
    """As `region`, but with everything the span holds: what an edit replaces."""
    return (*span.file.position(span.start), *span.end_position)
