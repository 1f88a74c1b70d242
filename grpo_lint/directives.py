"""Comments that tell the linter what not to report, with what each of them covers.

    # grpo-lint: ignore[NOT07] reason              at the end of a line: that line
    # grpo-lint: ignore[NOT07, DO03:kl_coef] why   on a line of its own: what starts on the next line, to its end
    # grpo-lint: ignore-file[SRC05] reason         the whole file

They count only in comments: a string or a here-document that holds such text is none.
"""

from __future__ import annotations

import re
from bisect import bisect_left

from grpo_lint.source import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from grpo_lint.discover import Kind
    from grpo_lint.located import Value
    from grpo_lint.source import SourceFile

    Ranges = list[tuple[int, int]]

MARK = "grpo-lint:"
MAX_DIRECTIVES = 1_000
"""More of them in one file aren't read: comparing them with findings must stay bounded."""

_START = re.compile(r"(?<!\S)(?:#+|//+|/\*+)[ \t]*grpo-lint:")
_LINE_COMMENT = r"(?m)^(?:[ \t]*|[^\n'\"]*[ \t])(#[^\n]*)$"
"""Of a language in which a `#` starts a comment: on a line of its own, or after text without quotes."""
_LINES = r"(?m)^[ \t]*(?![ \t#])[^\n]+(?:\\\n[^\n]*)*"
_INSTRUCTION = re.compile(r"\s*(ignore-file|ignore)\s*\[([^\[\]]*)\]")
_ITEM = re.compile(r"[^\s,][^,]*")
_MEANT = re.compile(
    r"\s*(?:(?:ignore|disable|enable|suppress|skip|allow|noqa|nolint|off)\b|[\w-]+\s*[=\[])", re.IGNORECASE
)
"""What only an instruction starts with: `ignore NOT07`, `disable=NOT07`. Other text after the mark is prose."""


_OTHERS = re.compile(
    r"[ \t]*((?:ignore|disable|suppress|skip|noqa|nolint)(?:[ \t]*[=:][ \t]*|[ \t]+)"
    r"([A-Za-z]+\d+(?:,[ \t]*[A-Za-z]+\d+)*))(?!\S)",
    re.IGNORECASE,
)
"""An instruction in another linter's words, with the ids that it names."""


def meant(span: Span) -> tuple[Span, str] | None:
    """(place, ids) of the instruction in a comment that is none of ours but plainly meant as one: `disable=NOT07`."""
    after = span.start + span.text.index(MARK) + len(MARK)
    found = _OTHERS.match(span.file.text, after, span.end)
    return (Span(span.file, found.start(1), found.end(1)), found.group(2)) if found else None


class Item:
    """One rule of a directive, or one of its options: `NOT07`, `NOT07:rollout.n`."""

    __slots__ = ("key", "name", "span")

    def __init__(self, name: str, key: str, span: Span) -> None:
        self.name = name
        self.key = key
        self.span = span

    @property
    def text(self) -> str:
        return self.span.text

    def concerns(self, key: str) -> bool:
        """Whether it means findings about an option: one whose name is, or ends in, the item's key."""
        return not self.key or key == self.key or key.endswith("." + self.key)


class Directive:
    """A suppressing comment.

    `span` is what stands in the comment from its mark on, `scope` "line", "next" or "file", `start` and `end` the
    offsets that it covers. Without `items` it is one that can't be read.
    """

    __slots__ = ("end", "items", "reason", "removable", "scope", "span", "start")

    def __init__(self, span: Span, scope: str, items: tuple[Item, ...], reason: str) -> None:
        self.span = span
        self.scope = scope
        self.items = items
        self.reason = reason
        self.start = 0
        self.end = len(span.file.text)
        self.removable: Span | None = None
        """What to take out to be rid of it; None where that would change what surrounds it."""

    @property
    def text(self) -> str:
        """The instruction without the mark, as messages show it."""
        found = _INSTRUCTION.match(self.span.text.partition(MARK)[2])
        text = found.group().strip() if found else self.span.text
        return " ".join(text.split())

    def covers(self, span: Span) -> bool:
        """Whether a finding at a place in the same file is covered; what is found in the comment itself is, too."""
        if self.span.start <= span.start < self.span.end:
            return True
        if self.scope != "line":
            return self.start <= span.start < self.end or span.start == self.start
        first = span.line
        last = span.file.position(max(span.start, span.end - 1))[0]
        return self.span.line in (first, last)


def read(source: SourceFile, kind: Kind | None) -> list[Directive]:
    """The directives of a file, in order."""
    if MARK not in source.text:
        return []
    if kind == "shell":
        from grpo_lint.syntax.shell.comments import read as read_shell

        comments, extents = read_shell(source.text)
    elif kind in ("yaml", "json", "toml"):
        comments, extents = _document(source, kind)
    elif kind in ("python", "dockerfile", "makefile"):
        comments = [match.span(1) for match in re.finditer(_LINE_COMMENT, source.text)]
        extents = [match.span() for match in re.finditer(_LINES, source.text)]
    else:
        return []
    found: list[Directive] = []
    following = _Following(source.text, extents)
    for start, end in comments:
        end = start + len(source.text[start:end].rstrip())
        for directive in _comment(source, start, end):
            _limit(directive, start, end, following)
            _removal(directive, start, end, kind)
            found.append(directive)
            if len(found) == MAX_DIRECTIVES:
                return found
    return found


def _document(source: SourceFile, kind: Kind) -> tuple[Ranges, Ranges]:
    """(comments, extents of keys and items) of a YAML, JSON or TOML file."""
    if kind == "yaml":
        from grpo_lint.syntax import yaml

        documents = yaml.read(source, "pyyaml")
    elif kind == "toml":
        from grpo_lint.syntax import toml

        documents = [toml.read(source)]
    else:
        from grpo_lint.syntax import json

        documents = [json.read(source)]
    comments = {(span.start, span.end) for document in documents for span in document.comments}
    extents = set(_extents(document.root for document in documents))
    return sorted(comments), sorted(extents, key=lambda extent: (extent[0], -extent[1]))


def _extents(roots: Iterable[Value | None]) -> Iterator[tuple[int, int]]:
    """The range of each key with its value, and of each item of a list. What aliases repeat is met once."""
    stack = [root for root in roots if root is not None]
    seen = set[int]()
    while stack:
        value = stack.pop()
        if id(value.data) in seen:
            continue
        if value.is_mapping or value.is_list:
            seen.add(id(value.data))
            children = value.data.values() if value.is_mapping else value.data
            stack += children
            for child in children:
                start = child.span.start if child.key_span is None else child.key_span.start
                yield start, max(child.span.end, start if child.key_span is None else child.key_span.end)


def _comment(source: SourceFile, start: int, end: int) -> Iterator[Directive]:
    """The directives within one comment: text and other tools' marks may stand before them."""
    marks = [found.start() for found in _START.finditer(source.text, start, end)]
    for low, high in zip(marks, (*marks, end)[1:], strict=True):
        span = Span(source, low, low + len(source.text[low:high].rstrip()))
        after = source.text.index(MARK, low) + len(MARK)
        found = _INSTRUCTION.match(source.text, after, span.end)
        items = tuple(_items(source, found.start(2), found.end(2))) if found else ()
        if found and items:
            reason = source.text[found.end() : span.end].removesuffix("*/").strip().lstrip("-–—:").strip()
            yield Directive(span, "file" if found.group(1) == "ignore-file" else "", items, " ".join(reason.split()))
        elif _MEANT.match(source.text, after, span.end) or after == span.end:
            yield Directive(span, "line", (), "")


def _items(source: SourceFile, start: int, end: int) -> Iterator[Item]:
    for found in _ITEM.finditer(source.text, start, end):
        text = found.group().rstrip()
        name, _, key = text.partition(":")
        yield Item(name.strip(), key.strip(), Span(source, found.start(), found.start() + len(text)))


class _Following:
    """Finds what comes next after a comment: all that starts on one line, to its end."""

    def __init__(self, text: str, extents: Ranges) -> None:
        self._text = text
        self._extents = extents
        self._ends: dict[int, int] = {}

    def after(self, offset: int) -> tuple[int, int]:
        index = bisect_left(self._extents, offset, key=lambda extent: extent[0])
        if index == len(self._extents):
            return offset, offset
        start, end = self._extents[index]
        if start not in self._ends:
            line_end = self._text.find("\n", start)
            last = bisect_left(self._extents, line_end if line_end >= 0 else len(self._text), key=lambda one: one[0])
            self._ends[start] = max(end for _, end in self._extents[index:last] or ((start, end),))
        return start, self._ends[start]


def _limit(directive: Directive, start: int, end: int, following: _Following) -> None:
    """What a directive covers, by where its comment stands."""
    if directive.scope:
        return
    text = directive.span.file.text
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    after = text[end : line_end if line_end >= 0 else len(text)]
    if text[line_start:start].strip() or after.strip():
        directive.scope = "line"
        return
    directive.scope = "next"
    directive.start, directive.end = following.after(end)


def _removal(directive: Directive, start: int, end: int, kind: Kind) -> None:
    """What can go with a directive: its comment, and its line where nothing else is on it."""
    text, span = directive.span.file.text, directive.span
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    after = line_end + 1 if line_end >= 0 else len(text)
    first = not text[line_start:start].strip()
    if span.end < end or text.startswith("/*", start):  # more of the comment follows; text before it can stay
        return
    if span.start == start and first and kind == "shell" and text[:line_start].rstrip("\r\n").endswith("\\"):
        return  # the comment ends a command that would go on without it
    if span.start == start and first and not text[end:after].strip():
        directive.removable = Span(span.file, line_start, after)
    else:
        low = span.start
        while low > line_start and text[low - 1] in " \t":
            low -= 1
        directive.removable = Span(span.file, low, end)
