"""Reads JSON into located values, either as Python's json module takes it or as hjson does.

DeepSpeed reads its configs with hjson (`deepspeed/runtime/config.py`, 0.19.8): comments, trailing or missing commas,
unquoted keys and strings, `'''` strings. Source of the grammar: `hjson/decoder.py` of hjson 3.1.0, its oddities
included: an unquoted string goes on to the end of its line, whatever is on it, and `1.0` is an integer.
"""

from __future__ import annotations

import re

from grpo_lint.located import Unknown, Value
from grpo_lint.source import SourceFile, Span
from grpo_lint.syntax.document import MAX_DEPTH, MAX_NODES, MAX_PROBLEMS, Document, Problem, shown
from grpo_lint.syntax.json_scalars import BadScalar, multiline, quoted, strict_word, unquoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

_SPACE = re.compile(r"[ \t\n\r]*")
_COMMENT = re.compile(r"(?:#|//)[^\r\n]*|/\*(?s:.*?)\*/")
_EASY_KEY = re.compile(r'[ \t\n\r]*"([^"\\\x00-\x1f]*)"[ \t\n\r]*:[ \t\n\r]*')
_KEY = re.compile(r"([^ \t\n\r:{}\[\],]+)([ \t\n\r]*):")
_RECOVERY = re.compile(r"[,\r\n}\]]")
_BROKEN = Unknown("syntax error")
_CLOSERS = {"{": "}", "[": "]"}


def read(source: SourceFile, relaxed: bool = True) -> Document:
    """A JSON file's document. `relaxed` reads it as hjson does; otherwise every deviation from JSON is a problem."""
    return read_text(source.text, source.span, relaxed)


def read_text(text: str, span_of: Callable[[int, int], Span], relaxed: bool = True) -> Document:
    """The document in a text that stands somewhere else; `span_of` gives the place of a range of its offsets."""
    reader = _Reader(text, span_of, relaxed)
    try:
        reader.run()
    except _Stop:
        reader.close_all()
        return Document(reader.root, reader.problems, reader.comments)
    first = next((problem.kind for problem in reader.problems if problem.kind != "duplicate-key"), "")
    if reader.root is not None and reader.root.style == "block" and first == "syntax":
        reader = _line_as_string(text, span_of) or reader
    return Document(reader.root, reader.problems, reader.comments)


def _line_as_string(text: str, span_of: Callable[[int, int], Span]) -> _Reader | None:
    """Reads a line as a string, as hjson does where it seemed to start an object without braces, and there was none."""
    reader = _Reader(text, span_of, True)
    try:
        reader.skip()
        if reader.text[reader.at] in "\"'":
            return None
        reader.value(None)
        reader.skip()
    except _Stop:
        return None
    return None if reader.stack or reader.problems or reader.at < len(text) else reader


class _Stop(Exception):
    """Reading can't go on, or a limit was reached."""


class _Open:
    """A collection that is being read; `closer` is empty for a root object without braces."""

    __slots__ = ("closer", "comma", "start", "value")

    def __init__(self, value: Value, start: int, closer: str) -> None:
        self.value = value
        self.start = start
        self.closer = closer
        self.comma = -1  # where the comma before the next item is; -1 for none


class _Reader:
    def __init__(self, text: str, span_of: Callable[[int, int], Span], relaxed: bool) -> None:
        self.text = text
        self.span_of = span_of
        self.relaxed = relaxed
        self.at = 0
        self.end = 0  # of what was read last
        self.nodes = 0
        self.root: Value | None = None
        self.stack: list[_Open] = []
        self.problems: list[Problem] = []
        self.comments: list[Span] = []

    def run(self) -> None:
        self.skip()
        first = self.text[self.at : self.at + 1]
        if first == "" and self.relaxed:
            self.root = Value({}, self.span_of(0, 0), None, "", "block")
            return
        if first not in _CLOSERS and self.relaxed and self.key_ahead():
            self.open_without_braces()
        else:
            self.value(None)
        while self.stack:
            top = self.stack[-1]
            if isinstance(top.value.data, dict):
                self.member(top, top.value.data)
            else:
                self.item(top, top.value.data)
        self.skip()
        if self.at < len(self.text):
            self.problem("syntax", "there is more text after the end of the document", self.at, self.at + 1)

    # -- between values

    def skip(self) -> None:
        """Goes past white space and comments."""
        text = self.text
        while True:
            self.at = _SPACE.match(text, self.at).end()  # type: ignore[union-attr]
            if text[self.at : self.at + 1] not in ("#", "/"):
                return
            match = _COMMENT.match(text, self.at)
            if match is None:
                if text.startswith("/*", self.at):
                    self.stop("this comment is not closed", self.at, self.at + 2)
                return
            if not self.relaxed and not self.comments:
                self.problem("syntax", "JSON has no comments", *match.span())
            self.comments.append(self.span_of(*match.span()))
            self.at = match.end()

    def next_in(self, top: _Open) -> bool:
        """Goes to the next item of a collection; False when there is none (any more) here."""
        self.skip()
        char = self.text[self.at : self.at + 1]
        if char == "":
            if top.closer:
                related = ((self.span_of(top.start, top.start + 1), "opened here"),)
                self.problem("syntax", f"the end of the text, where {top.closer} is missing", self.at, self.at, related)
            self.close_all()
            return False
        if char != top.closer:
            return not (char in ("]", "}") and self.stray_closer(char))
        if top.comma >= 0 and not self.relaxed:
            self.problem("syntax", f"JSON allows no comma before {char}", top.comma, top.comma + 1)
        self.at = self.end = self.at + 1
        self.close()
        return False

    def stray_closer(self, char: str) -> bool:
        """Deals with a bracket that doesn't close the innermost collection."""
        top = self.stack[-1]
        expected = f"expected {top.closer}" if top.closer else "expected a key"
        related = ((self.span_of(top.start, top.start + 1), "opened here"),) if top.closer else ()
        self.problem("syntax", f"{expected}, not {char}", self.at, self.at + 1, related)
        if any(open.closer == char for open in self.stack):
            while self.stack[-1].closer != char:
                self.close()
        else:
            self.at += 1
        return True

    def after_value(self, top: _Open) -> None:
        """Goes past the comma after an item, if there is one."""
        self.skip()
        char = self.text[self.at : self.at + 1]
        top.comma = self.at if char == "," else -1
        if char == ",":
            self.at += 1
        elif not self.relaxed and char not in ("", "}", "]"):
            self.problem("syntax", "a comma is missing before this", self.at, self.at + 1)

    # -- collections

    def item(self, top: _Open, data: list[Value]) -> None:
        if self.next_in(top):
            self.value(data.append)

    def member(self, top: _Open, data: dict[str, Value]) -> None:
        match = _EASY_KEY.match(self.text, self.at)
        if match is None:
            if not self.next_in(top):
                return
            match = _EASY_KEY.match(self.text, self.at)
        if match is not None:
            name, start, end = match[1], match.start(1) - 1, match.end(1) + 1
            self.at = match.end()
        else:
            key = self.hard_key()
            if key is None:
                self.recover()
                return
            name, start, end = key
        self.skip()
        key_span = self.span_of(start, end)
        earlier = data.get(name)

        def add(value: Value) -> None:
            value.key_span = key_span
            data[name] = value

        if not self.value(add):
            add(Value(_BROKEN, self.span_of(end, end)))
        elif earlier is not None and earlier.key_span is not None:
            self.duplicate(name, earlier.key_span, key_span)

    def duplicate(self, name: str, earlier: Span, span: Span) -> None:
        outcome = "the file is refused" if self.relaxed else "the last one wins, silently"
        self.add_problem(
            Problem(
                "duplicate-key",
                f"key {shown(name)} is set twice: {outcome}",
                span,
                ((earlier, "first set here"),),
                self.relaxed,
            )
        )

    def hard_key(self) -> tuple[str, int, int] | None:
        """(name, start, end) of a key that isn't just a plain string; None, and a problem, if there is none."""
        start = self.at
        if self.text[start] in "\"'":
            data, end = self.quoted(start)
            if isinstance(data, Unknown):
                return None
            self.at = end
            self.skip()
            if self.text[self.at : self.at + 1] != ":":
                self.problem(
                    "syntax", f"a : is missing after the key {shown(data)}", self.at, min(self.at + 1, len(self.text))
                )
                return None
            self.at += 1
            return data, start, end
        match = _KEY.match(self.text, start)
        if match is None:
            message = "expected a key, then a :" if self.relaxed else "expected a key in double quotes"
            self.problem("syntax", message, start, start + 1)
            return None
        self.at = match.end()
        if not self.relaxed:
            self.problem("syntax", f"JSON wants the key {shown(match[1])} in double quotes", *match.span(1))
        return (match[1].rstrip() if match[2] else match[1]), start, match.end(1)

    def key_ahead(self) -> bool:
        """Whether a key and a colon come next, as at the start of an object without braces."""
        start, problems, comments = self.at, len(self.problems), len(self.comments)
        found = start < len(self.text) and self.hard_key() is not None
        self.at = start
        del self.problems[problems:], self.comments[comments:]
        return found

    def recover(self) -> None:
        """Goes to a place where the next item may start."""
        match = _RECOVERY.search(self.text, self.at)
        self.at = match.start() if match is not None else len(self.text)
        if self.text[self.at : self.at + 1] == ",":
            self.at += 1

    def open_without_braces(self) -> None:
        self.root = Value({}, self.span_of(self.at, self.at), None, "", "block")
        self.stack.append(_Open(self.root, self.at, ""))

    def open(self, data: Any, start: int, closer: str) -> Value:
        if len(self.stack) >= MAX_DEPTH:
            self.problem("too-deep", f"nested more than {MAX_DEPTH} deep; the rest was not read", start, start + 1)
            raise _Stop
        value = Value(data, self.span_of(start, start + 1), None, "", "flow")
        self.stack.append(_Open(value, start, closer))
        self.at = start + 1
        return value

    def close(self) -> None:
        top = self.stack.pop()
        top.value.span = self.span_of(top.start, max(self.end, top.start))
        if self.stack:
            self.after_value(self.stack[-1])

    def close_all(self) -> None:
        while self.stack:
            top = self.stack.pop()
            top.value.span = self.span_of(top.start, max(self.end, top.start))

    # -- values

    def value(self, add: Callable[[Value], object] | None) -> bool:
        """Reads a scalar, or opens a collection; False, and a problem, if there is none here."""
        start = self.at
        char = self.text[start : start + 1]
        self.nodes += 1
        if self.nodes > MAX_NODES:
            self.problem("gave-up", f"more than {MAX_NODES:,} values; the rest was not read", start, start)
            raise _Stop
        if char in _CLOSERS:
            value = self.open({} if char == "{" else [], start, _CLOSERS[char])
        elif char == "" or char in "}],:":
            found = f"not {char}" if char else "not the end of the text"
            self.problem("syntax", f"expected a value, {found}", start, start + len(char))
            self.at += char in (",", ":")
            return False
        else:
            value = self.scalar(start, char)
        if add is not None:
            add(value)
        else:
            self.root = value
        if char not in _CLOSERS and self.stack and value.data is not _BROKEN:
            self.after_value(self.stack[-1])
        return True

    def scalar(self, start: int, char: str) -> Value:
        text = self.text
        if char == '"' or char == "'":
            if char == "'" and text.startswith("'''", start):
                return self.multiline(start)
            data, end = self.quoted(start)
            raw = text[start + 1 : end if isinstance(data, Unknown) else end - 1]
            style = "double" if char == '"' else "single"
        else:
            try:
                data, end, resume = unquoted(text, start) if self.relaxed else strict_word(text, start)
            except BadScalar as bad:
                data, end, resume = bad.data, bad.end, bad.end
                self.problem(bad.kind, bad.message, start, end)
            self.at = resume
            self.end = end
            return Value(data, self.span_of(start, end), None, text[start:end])
        self.at = self.end = end
        return Value(data, self.span_of(start, end), None, raw, style)

    def quoted(self, start: int) -> tuple[Any, int]:
        if not self.relaxed and self.text[start] == "'":
            self.problem("syntax", "JSON wants double quotes", start, start + 1)
        data, end, faults = quoted(self.text, start, self.relaxed)
        for message, at in faults:
            self.problem("syntax", message, at, at + 1)
        return (_BROKEN if data is None else data), end

    def multiline(self, start: int) -> Value:
        if not self.relaxed:
            self.problem("syntax", "JSON has no ''' strings", start, start + 3)
        found = multiline(self.text, start)
        if found is None:
            self.stop("this ''' string is not closed", start, start + 3)
        data, end = found
        self.at = self.end = end
        return Value(data, self.span_of(start, end), None, self.text[start + 3 : end - 3], "literal")

    # -- problems

    def problem(
        self, kind: str, message: str, start: int, end: int, related: tuple[tuple[Span, str], ...] = ()
    ) -> None:
        self.add_problem(Problem(kind, message, self.span_of(start, min(end, len(self.text))), related))

    def add_problem(self, problem: Problem) -> None:
        self.problems.append(problem)
        if len(self.problems) == MAX_PROBLEMS - 1:
            self.problems.append(Problem("gave-up", "too many faults; the rest was not read", problem.span))
            raise _Stop

    def stop(self, message: str, start: int, end: int) -> NoReturn:
        self.problem("syntax", message, start, end)
        raise _Stop
