"""The grammar of a shell script, as far as simple commands: lists, pipelines, assignments, redirections.

A fault never ends the reading: it is noted, and reading goes on at the next line.
"""

from __future__ import annotations

import re
from abc import abstractmethod

from grpo_lint.patterns import lazy
from grpo_lint.syntax.shell.heredocs import HereDocuments
from grpo_lint.syntax.shell.lexer import REGEX, SUBSCRIPT, WORD, ShellSyntaxError, TooDeep
from grpo_lint.syntax.shell.tree import AndOr, Assign, ListNode, Lit, Pipeline, Redirection, Simple, WordNode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.syntax.shell.tree import Node, Part

MAX_TEXT = 1_000_000
"""Characters of one script that are read; the longest launch script we know of has 60,000."""
MAX_FAULTS = 100
MAX_RESUMED = 10
"""Times that reading goes back to the line after an opening that has no end."""

DECLARE = frozenset(("declare", "local", "export", "readonly", "typeset"))
STARTERS = frozenset(("if", "for", "while", "until", "case", "select", "function", "{", "[["))
FUNCTION = lazy(r"[^ \t\n\"'\\$`|&;<>(){}=]+[ \t]*\([ \t]*\)")
ASSIGN = lazy(r"([A-Za-z_][A-Za-z0-9_]*)(\+?=|\[)")
REDIRECT = lazy(r"(\d{1,9}|\{[A-Za-z_][A-Za-z0-9_]*\})?(<<<|<<-|<<|<>|<&|>&|>>|>\||<|>)|&>>?")
EXTGLOB = lazy(r"[?*+@!]$")


class Fault:
    """A syntax problem as the parser meets it."""

    __slots__ = ("end", "kind", "message", "start")

    def __init__(self, kind: str, message: str, start: int, end: int) -> None:
        self.kind = kind
        self.message = message
        self.start = start
        self.end = end


def _expand_braces(node: WordNode) -> None:
    from grpo_lint.syntax.shell.braces import expand_braces  # here, since most scripts have none

    expand_braces(node)


class CommandParser(HereDocuments):
    def __init__(self, text: str, start: int = 0, end: int | None = None) -> None:
        super().__init__(text, start, end)
        self.faults: list[Fault] = []
        self.resumed = 0
        self.extglob = "extglob" in text
        self.functions = any(text.find(empty, self.at, self.end) >= 0 for empty in ("()", "( ", "(\t"))
        """Whether a function may be defined as `name()`."""

    def script(self) -> ListNode:
        """The whole text. Faults are in `faults`."""
        limit = self.end
        if limit - self.at > MAX_TEXT:
            self.end = self.at + MAX_TEXT
        body = self.commands("")
        if self.end < limit and len(self.faults) <= MAX_FAULTS:
            self.faults.append(Fault("gave-up", "the script is too long; the rest is not read", self.end, limit))
        return body

    @abstractmethod
    def compound(self, word: str) -> Node:
        """The compound command that starts with this reserved word (or parenthesis)."""

    # lists

    def commands(self, closers: str, words: frozenset[str] = frozenset()) -> ListNode:
        """Commands up to a closing character, a reserved word of `words`, or the end; neither is passed.

        Inside `$(...)` (closers without words) a fault ends the reading of the whole command.
        """
        start = self.at
        items: list[tuple[Node, bool]] = []
        while self.gap():
            char = self.text[self.at]
            if char in closers or (words and (found := self.reserved()) and found in words):
                break
            if char == ";" and closers == ";" and self.ahead(2) in (";;", ";&"):
                break
            at, depth, waiting = self.at, self.depth, len(self.pending)
            try:
                items.append(self.item())
            except Stop:
                if closers or words:
                    raise
                break
            except ShellSyntaxError as error:
                if closers == ")" and not words:
                    raise
                self.depth = depth
                del self.pending[waiting:]
                if not self.fault(error, at):
                    if closers or words:
                        raise Stop(error.message, self.at) from None
                    break
        return ListNode(items, start, self.at)

    def gap(self) -> bool:
        """Passes blanks, comments and line ends; False at the end of the text."""
        while True:
            self.blanks()
            char = self.peek()
            if char == "#":
                self.comment()
            elif char == "\n":
                self.at += 1
                if self.pending:
                    self.documents()
            else:
                return bool(char)

    def comment(self) -> None:
        stop = self.text.find("\n", self.at, self.end)
        self.at = self.end if stop < 0 else stop

    def item(self) -> tuple[Node, bool]:
        """A list's next command, with its terminator passed."""
        node = self.and_or()
        self.blanks()
        char = self.peek()
        background = False
        if char == "&":
            self.at += 1
            background = True
        elif char == ";" and self.ahead(2) not in (";;", ";&"):
            self.at += 1
        elif char and char not in "\n#);":
            raise ShellSyntaxError(f"unexpected {self.token()!r}", self.at)
        return node, background

    def token(self) -> str:
        stop = self.at
        while stop < self.end and self.text[stop] not in " \t\n" and stop - self.at < 20:
            stop += 1
        return self.text[self.at : stop]

    def too_deep(self, error: TooDeep) -> None:
        self.faults.append(Fault("gave-up", error.message, error.start, min(error.start + 1, self.end)))

    def fault(self, error: ShellSyntaxError, began: int) -> bool:
        """Notes a fault and moves to where reading can go on; whether it may, after so many."""
        if isinstance(error, TooDeep):
            self.too_deep(error)
        else:
            self.faults.append(Fault("syntax", error.message, error.start, max(self.at, error.start)))
        at = max(self.at, began + 1)
        line_end = self.text.find("\n", error.start, self.end)
        if 0 <= line_end < at and self.resumed < MAX_RESUMED:  # an opening without its end: only its own line is lost
            self.resumed += 1
            at = max(error.start, began)
        stop = self.text.find("\n", at, self.end)
        self.at = self.end if stop < 0 else stop
        if len(self.faults) > MAX_FAULTS:
            self.faults.append(Fault("gave-up", "too many syntax errors; the rest is not read", self.at, self.end))
            self.at = self.end
            return False
        return True

    def and_or(self) -> Node:
        first = self.pipeline()
        rest: list[tuple[str, Node]] = []
        while True:
            self.blanks()
            operator = self.ahead(2)
            if operator not in ("&&", "||"):
                break
            self.at += 2
            self.gap()
            rest.append((operator, self.pipeline()))
        return AndOr(first, rest, first.start, rest[-1][1].end) if rest else first

    def pipeline(self) -> Node:
        start, negated = self.at, False
        while (word := self.reserved()) in ("!", "time"):
            self.at += len(word)
            negated ^= word == "!"
            self.blanks()
            if word == "time" and self.ahead(3) in ("-p ", "-- "):
                self.at += 2
                self.blanks()
        nodes = [self.command()]
        while True:
            self.blanks()
            if self.peek() != "|" or self.ahead(2) == "||":
                break
            self.at += 2 if self.ahead(2) == "|&" else 1
            self.gap()
            nodes.append(self.command())
        if len(nodes) == 1 and not negated:
            return nodes[0]
        return Pipeline(nodes, negated, start, nodes[-1].end)

    def command(self) -> Node:
        char = self.peek()
        if not char:
            raise ShellSyntaxError("the script ends where a command should follow", self.at)
        if char == "(":
            return self.compound("(")
        if word := self.reserved():
            if word in STARTERS:
                return self.compound(word)
            if word == "coproc":
                self.at += len(word)
                self.blanks()
                return self.command()
            if word != "in":
                raise ShellSyntaxError(f"unexpected {word!r}", self.at)
        if (
            self.functions
            and FUNCTION.match(self.text, self.at, self.end)
            and not ASSIGN.match(self.text, self.at, self.end)
        ):
            return self.compound("function")
        return self.simple()

    # simple commands

    def simple(self) -> Simple:
        node = Simple(self.at)
        declares = False
        while True:
            char = self.peek()
            if char in ("", "\n", ";", "|", ")", "#"):
                break
            if char in "<>&0123456789{" and (found := REDIRECT.match(self.text, self.at, self.end)):
                if self.ahead(2) not in ("<(", ">("):
                    node.redirects.append(self.redirect(found))
                    node.end = self.at
                    self.blanks()
                    continue
            elif char == "&":
                break
            if (not node.words or declares) and (found := ASSIGN.match(self.text, self.at, self.end)):
                assign = self.assign(found)
                if assign is not None:
                    (node.words if declares else node.assigns).append(assign)
                    node.end = self.at
                    self.blanks()
                    continue
            word = self.word()
            if not node.words:
                declares = word.plain in DECLARE
            node.words.append(word)
            node.end = self.at
            self.blanks()
        if node.end == node.start and not node.redirects:
            raise ShellSyntaxError(f"unexpected {self.token()!r}", self.at)
        return node

    def word(self, pattern: bool = False) -> WordNode:
        """The word at the cursor. In a pattern, `@(a|b)` and its like are part of it."""
        start = self.at
        found = WORD.plain.match(self.text, start, self.end)
        if found:  # most words are plain
            stop = found.end()
            if stop >= self.end or self.text[stop] in " \t\n;)":
                self.at = stop
                plain = found.group()
                node = WordNode((Lit(plain, start, stop, False),), start, stop, plain)
                if "{" in plain and "}" in plain:
                    _expand_braces(node)
                return node
        parts = self.scan(WORD)
        while self.at < self.end:
            char = self.text[self.at]
            if char in "<>" and self.text[self.at + 1 : self.at + 2] == "(":
                parts.append(self.process())
            elif char == "(" and (pattern or self.extglob) and _extended(parts):
                self.extended(parts)
            else:
                break
            parts.extend(self.scan(WORD))
        if self.at == start:
            raise ShellSyntaxError(f"unexpected {self.token()!r}", self.at)
        node = WordNode(tuple(parts), start, self.at)
        if any(isinstance(part, Lit) and not part.quoted and "{" in part.text for part in parts):
            _expand_braces(node)
        return node

    def extended(self, parts: list[Part]) -> None:
        """`(a|b)` of an extended pattern."""
        start = self.at
        parts.append(Lit("(", start, start + 1, False))
        self.at += 1
        parts.extend(self.counted(REGEX))
        if self.peek() != ")":
            raise ShellSyntaxError("the pattern is never closed", start)
        parts.append(Lit(")", self.at, self.at + 1, False))
        self.at += 1

    def assign(self, found: re.Match[str]) -> Assign | None:
        """The assignment that the match begins, or None if it turns out to be none."""
        start, at = self.at, found.end()
        index, operator = None, found.group(2)
        if operator == "[":
            self.at = at
            parts = self.counted(SUBSCRIPT)
            index = WordNode(tuple(parts), at, self.at)
            if self.ahead(2) == "]=":
                operator, at = "=", self.at + 2
            elif self.ahead(3) == "]+=":
                operator, at = "+=", self.at + 3
            else:
                self.at = start
                return None
        node = Assign(found.group(1), index, operator == "+=", start)
        self.at = at
        char = self.peek()
        if char == "(" and index is None:
            self.at += 1
            self.elements(node)
        elif char and char not in " \t\n;|&)" and (char not in "<>" or self.ahead(2) in ("<(", ">(")):
            node.value = self.value_word()
        node.end = self.at
        return node

    def value_word(self) -> WordNode:
        """The word after `=`: it is not split, and braces stand for themselves."""
        start = self.at
        parts = self.scan(WORD)
        while self.ahead(2) in ("<(", ">("):
            parts.append(self.process())
            parts.extend(self.scan(WORD))
        if self.peek() == "(":
            raise ShellSyntaxError("unexpected '('", self.at)
        only = parts[0] if len(parts) == 1 else None
        plain = only.text if isinstance(only, Lit) and not only.quoted else None
        return WordNode(tuple(parts), start, self.at, plain)

    def elements(self, node: Assign) -> None:
        """The elements of an array literal, up to and past its closing parenthesis."""
        opening = self.at - 1
        items: list[Assign | WordNode] = []
        while self.gap():
            char = self.text[self.at]
            if char == ")":
                self.at += 1
                node.items = items
                return
            if char == "[" and (item := self.element()) is not None:
                items.append(item)
            elif char in "|&;(" or (char in "<>" and self.ahead(2) not in ("<(", ">(")):
                raise ShellSyntaxError(f"unexpected {char!r} in an array", self.at)
            else:
                items.append(self.word())
        raise ShellSyntaxError("the array is never closed", opening)

    def element(self) -> Assign | None:
        """`[key]=value`, or None."""
        start = self.at
        self.at += 1
        parts = self.counted(SUBSCRIPT)
        if self.ahead(2) != "]=" and self.ahead(3) != "]+=":
            self.at = start
            return None
        node = Assign("", WordNode(tuple(parts), start + 1, self.at), self.ahead(2) != "]=", start)
        self.at += 3 if node.append else 2
        if self.peek() and self.peek() not in " \t\n)":
            node.value = self.value_word()
        node.end = self.at
        return node

    def redirect(self, found: re.Match[str]) -> Redirection:
        start = self.at
        operator = found.group(2) or found.group()
        self.at = found.end()
        self.blanks()
        if self.peek() in ("", "\n", ";", "|", "&", ")") or (self.peek() in "<>" and self.ahead(2) not in ("<(", ">(")):
            raise ShellSyntaxError(f"no file follows {operator!r}", start)
        target = self.word()
        node = Redirection(operator, (found.group(1) or "").strip("{}"), target, start, self.at)
        if operator in ("<<", "<<-"):
            raw = self.text[target.start : target.end]
            quoted = any(char in raw for char in "'\"\\")
            if quoted:
                delimiter = "".join(part.text for part in target.parts if isinstance(part, Lit))
            else:
                delimiter = raw
            self.pending.append((node, delimiter, quoted))
        return node


class Stop(ShellSyntaxError):
    """Too many faults: the whole reading ends."""


def _extended(parts: list[Part]) -> bool:
    last = parts[-1] if parts else None
    return isinstance(last, Lit) and not last.quoted and EXTGLOB.search(last.text) is not None
