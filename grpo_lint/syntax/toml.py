"""Reads TOML 1.0 into located values.

The standard library's tomllib tells no places, and a finding needs them. Dates and times stay texts: no option of ours
is one. After a fault, reading goes on at the next line.
"""

from __future__ import annotations

import re

from grpo_lint.located import Value
from grpo_lint.syntax.document import MAX_DEPTH, MAX_NODES, MAX_PROBLEMS, Document, Problem, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.source import SourceFile, Span

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_SPACE = re.compile(r"[ \t]*")
_BETWEEN = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_LITERAL = re.compile(r"'([^'\n]*)'")
_BASIC = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_LITERALS = re.compile(r"'''(?:\r?\n)?((?:[^']|'{1,2}(?!'))*'{0,2})'''")
_BASICS = re.compile(r'"""(?:\r?\n)?((?:[^"\\]|\\[\s\S]|"{1,2}(?!"))*"{0,2})"""')
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([btnfr\"\\])|([ \t]*\r?\n[ \t\r\n]*))")
_ESCAPED = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "\\": "\\"}
_WORD = re.compile(r"[^\s,\]}#]+(?:[ ]\d\d:[^\s,\]}#]+)?")
_INTEGER = re.compile(
    r"[+-]?(?:0|[1-9](?:_?\d)*)|0x[0-9A-Fa-f](?:_?[0-9A-Fa-f])*|0o[0-7](?:_?[0-7])*|0b[01](?:_?[01])*"
)
_FLOAT = re.compile(r"[+-]?(?:0|[1-9](?:_?\d)*)(?:\.\d(?:_?\d)*)?(?:[eE][+-]?\d(?:_?\d)*)?|[+-]?(?:inf|nan)")
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?:[Tt ]\d\d:.*)?|\d\d:\d\d.*")
_COMMENT = re.compile(r"#[^\n]*")


def read(source: SourceFile) -> Document:
    """A TOML file's document; its root is a mapping."""
    reader = _Reader(source)
    reader.run()
    return Document(reader.root, reader.problems, reader.comments)


class _Fault(Exception):
    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.message = message
        self.at = at


class _Reader:
    def __init__(self, source: SourceFile) -> None:
        self.source = source
        self.text = source.text
        self.at = 0
        self.nodes = 0
        self.root = Value({}, source.span(0, 0), None, "", "block")
        self.table = self.root
        self.closed: set[int] = set()  # ids of tables that a header or an inline table has made
        self.problems: list[Problem] = []
        self.comments: list[Span] = []

    def run(self) -> None:
        while self.at < len(self.text) and len(self.problems) < MAX_PROBLEMS:
            try:
                self.skip(_BETWEEN)
                if self.at < len(self.text):
                    self.header() if self.text[self.at] == "[" else self.pair(self.table, 0)
                    self.line_end()
            except _Fault as fault:
                self.problem(fault.message, fault.at)
                end = self.text.find("\n", max(self.at, fault.at))
                self.at = len(self.text) if end < 0 else end + 1
            if self.nodes > MAX_NODES:
                self.problem(f"more than {MAX_NODES:,} values; the rest is not read", self.at, "gave-up")
                return

    def problem(self, message: str, at: int, kind: str = "syntax") -> None:
        self.problems.append(Problem(kind, message, self.source.span(at, min(at + 1, len(self.text)))))

    def skip(self, pattern: re.Pattern[str]) -> None:
        """Past blanks, and with `_BETWEEN` past line ends and comments, which are noted."""
        match = pattern.match(self.text, self.at)
        start, self.at = self.at, match.end() if match is not None else self.at
        if "#" in self.text[start : self.at]:
            found = _COMMENT.finditer(self.text, start, self.at)
            self.comments += [self.source.span(comment.start(), comment.end()) for comment in found]

    def line_end(self) -> None:
        self.skip(_SPACE)
        if self.text.startswith("#", self.at):
            match = _COMMENT.match(self.text, self.at)
            self.comments.append(self.source.span(self.at, match.end() if match else self.at))
            self.at = match.end() if match else self.at
        if self.at < len(self.text) and self.text[self.at] not in "\r\n":
            raise _Fault("a value ends here, and the line goes on", self.at)

    # -- keys and tables

    def key(self) -> list[tuple[str, Span]]:
        """A dotted key's parts, each with its place."""
        parts = []
        while True:
            self.skip(_SPACE)
            start = self.at
            if self.text[start : start + 1] in ("'", '"'):
                text = self.string().data
            else:
                match = _BARE.match(self.text, start)
                if match is None:
                    raise _Fault("a key is missing here", start)
                text, self.at = match[0], match.end()
            parts.append((str(text), self.source.span(start, self.at)))
            self.skip(_SPACE)
            if self.text[self.at : self.at + 1] != "." or len(parts) > MAX_DEPTH:
                return parts
            self.at += 1

    def header(self) -> None:
        """`[a.b]` opens a table, `[[a.b]]` adds one to a list."""
        start = self.at
        double = self.text.startswith("[[", start)
        self.at += 2 if double else 1
        parts = self.key()
        if not self.text.startswith("]]" if double else "]", self.at):
            raise _Fault("the header of a table has no end", self.at)
        self.at += 2 if double else 1
        node = self.below(self.root, parts[:-1], True)
        name, span = parts[-1]
        if double:
            self.table = self.added(node, name, span)
            return
        known = node.data.get(name)
        if known is not None and (not known.is_mapping or id(known) in self.closed):
            raise _Fault(f"{shown(name)} is there already", span.start)
        self.table = known if known is not None else self.new_table(node, name, span)
        self.closed.add(id(self.table))

    def added(self, node: Value, name: str, span: Span) -> Value:
        listed = node.data.get(name)
        if listed is None:
            listed = node.data[name] = Value([], span, span, "", "block")
        if not listed.is_list or id(listed) in self.closed:
            raise _Fault(f"{shown(name)} is there already, and is no list of tables", span.start)
        table = Value({}, span, None, "", "block")
        listed.data.append(table)
        self.nodes += 1
        return table

    def new_table(self, node: Value, name: str, span: Span) -> Value:
        self.nodes += 1
        node.data[name] = table = Value({}, span, span, "", "block")
        return table

    def below(self, node: Value, parts: list[tuple[str, Span]], through_lists: bool) -> Value:
        """The table that keys lead to, made where it isn't there."""
        for name, span in parts:
            child = node.data.get(name)
            if child is None:
                child = self.new_table(node, name, span)
            elif through_lists and child.is_list and child.data and child.data[-1].is_mapping:
                child = child.data[-1]
            if not child.is_mapping or child.style == "flow":
                raise _Fault(f"{shown(name)} is there already, and is no table", span.start)
            node = child
        return node

    def pair(self, table: Value, depth: int) -> None:
        parts = self.key()
        if self.text[self.at : self.at + 1] != "=":
            raise _Fault("a `=` is missing after the key", self.at)
        self.at += 1
        node = self.below(table, parts[:-1], False)
        name, span = parts[-1]
        value = self.value(depth)
        if name in node.data:
            earlier = node.data[name].key_span
            related = ((earlier, "the earlier one"),) if earlier is not None else ()
            message = f"{shown(name)} is there twice"
            self.problems.append(Problem("duplicate-key", message, span, related))
            return
        value.key_span = span
        node.data[name] = value

    # -- values

    def value(self, depth: int) -> Value:
        self.skip(_SPACE)
        self.nodes += 1
        first = self.text[self.at : self.at + 1]
        if depth > MAX_DEPTH:
            raise _Fault(f"nested more than {MAX_DEPTH} deep", self.at)
        if first in ("'", '"'):
            return self.string()
        if first == "[":
            return self.array(depth)
        if first == "{":
            return self.inline_table(depth)
        return self.word()

    def string(self) -> Value:
        start, double = self.at, self.text[self.at] == '"'
        if self.text.startswith('"""' if double else "'''", start):
            match = (_BASICS if double else _LITERALS).match(self.text, start)
        else:
            match = (_BASIC if double else _LITERAL).match(self.text, start)
        if match is None:
            raise _Fault("a text has no end", start)
        self.at = match.end()
        text = _ESCAPE.sub(_unescaped, match[1]) if double and "\\" in match[1] else match[1]
        span = self.source.span(start, self.at)
        return Value(text, span, None, match[1], "double" if double else "single")

    def array(self, depth: int) -> Value:
        start = self.at
        items: list[Value] = []
        self.at += 1
        while True:
            self.skip(_BETWEEN)
            if self.text.startswith("]", self.at):
                break
            items.append(self.value(depth + 1))
            self.skip(_BETWEEN)
            if self.text.startswith(",", self.at):
                self.at += 1
            elif not self.text.startswith("]", self.at):
                raise _Fault("a list has no end", start if self.at >= len(self.text) else self.at)
        self.at += 1
        return Value(items, self.source.span(start, self.at), None, "", "flow")

    def inline_table(self, depth: int) -> Value:
        start = self.at
        table = Value({}, self.source.span(start, start), None, "", "block")
        self.at += 1
        self.skip(_SPACE)
        while not self.text.startswith("}", self.at):
            self.pair(table, depth + 1)
            self.skip(_SPACE)
            if self.text.startswith(",", self.at):
                self.at += 1
            elif not self.text.startswith("}", self.at):
                raise _Fault("a table in one line has no end", self.at)
        self.at += 1
        table.span = self.source.span(start, self.at)
        table.style = "flow"
        return table

    def word(self) -> Value:
        match = _WORD.match(self.text, self.at)
        if match is None:
            raise _Fault("a value is missing here", self.at)
        text, span = match[0], self.source.span(match.start(), match.end())
        data: object
        if text in ("true", "false"):
            data = text == "true"
        elif len(text) < 400 and _INTEGER.fullmatch(text):
            data = int(text.replace("_", ""), 0 if text[:1] == "0" and len(text) > 1 else 10)
        elif len(text) < 400 and _FLOAT.fullmatch(text):
            data = float(text.replace("_", ""))
        elif _TIME.fullmatch(text):
            data = text
        else:
            raise _Fault(f"{shown(text)} is no value; a text needs quotes", self.at)
        self.at = match.end()
        return Value(data, span, None, text)


def _unescaped(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    if code:
        number = int(code, 16)
        return chr(number) if number < 0x110000 else "\ufffd"
    return _ESCAPED.get(match[3] or "", "")
