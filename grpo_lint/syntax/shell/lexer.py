"""Words of a shell script: quoting, expansions, here-documents.

There is no token stream: bash's lexing depends on its grammar.
"""

from __future__ import annotations

from abc import abstractmethod

from grpo_lint.patterns import lazy
from grpo_lint.syntax.shell.tree import Arith, CommandSub, Lit, Param, ProcSub, Redirection, WordNode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.syntax.shell.tree import ListNode, Part

MAX_DEPTH = 40
"""Nesting of quotes, expansions and commands that is followed; no script people write comes near it."""

MAX_LEVELS = 400
"""Brackets in brackets of one expression."""

SPECIAL = frozenset("0123456789@*#?$!-")
"""The names of one character that need no braces; other names are BRACED_NAME."""
BRACED_NAME = lazy(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]")
PARAM_OP = lazy(r":[-=+?]|##?|%%?|//|/[#%]|/|\^\^?|,,?|@[A-Za-z]|[-=+?]|:")
RESERVED = frozenset(
    ("if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "select", "function",
     "time", "in", "coproc", "!", "{", "}", "[[")
)  # fmt: skip
LONGEST_RESERVED = max(map(len, RESERVED))
RESERVED_STARTS = frozenset(word[0] for word in RESERVED)
BLANKS = lazy(r"(?:[ \t]|\\\n)+")


class ShellSyntaxError(Exception):
    """What is wrong, and where it starts."""

    def __init__(self, message: str, start: int) -> None:
        super().__init__(message)
        self.message = message
        self.start = start


class TooDeep(ShellSyntaxError):
    """Nesting beyond MAX_DEPTH."""


class Mode:
    """How text is scanned: `plain` matches what stands for itself, `stops` ends the scan."""

    __slots__ = ("escapes", "plain", "single", "stops")

    def __init__(self, plain: str, stops: str, single: bool = True, escapes: str = "") -> None:
        self.plain = lazy(plain)
        self.stops = stops
        self.single = single
        self.escapes = escapes
        """The characters that a backslash quotes; empty for all of them."""


WORD = Mode(r"""[^ \t\n"'\\$`|&;<>()]+""", " \t\n|&;<>()")
ARG = Mode(r"""[^"'\\$`}]+""", "}")
REPLACE_ARG = Mode(r"""[^"'\\$`}/]+""", "}/")
RANGE_ARG = Mode(r"""[^"'\\$`}:]+""", "}:")
QUOTED_ARG = Mode(r"""[^"\\$`}]+""", "}", single=False, escapes='$`"\\}')
DOUBLE = Mode(r"""[^"\\$`]+""", '"', single=False, escapes='$`"\\')
ARITHMETIC = Mode(r"""[^"'\\$`()]+""", "()")
SUBSCRIPT = Mode(r"""[^"'\\$`\[\]]+""", "[]")
REGEX = Mode(r"""[^ \t\n"'\\$`()]+""", " \t\n()")
"""The right side of `=~`, and extended patterns: parentheses are counted by the caller."""


class Lexer:
    """A cursor over a text, with what reads words from it."""

    def __init__(self, text: str, start: int = 0, end: int | None = None) -> None:
        self.text = text
        self.at = start
        self.end = len(text) if end is None else end
        self.depth = 0
        self.pending: list[tuple[Redirection, str, bool]] = []
        """Here-documents whose bodies start at the next line: redirection, delimiter, quoted."""
        self.not_arithmetic: set[int] = set()
        self.padded = False
        """Lines end with a blank that the script doesn't have (where a carriage return was)."""

    @abstractmethod
    def commands(self, closers: str) -> ListNode:
        """The commands up to one of the closing characters, or the end of the text."""

    def deeper(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise TooDeep("nested too deeply to follow", self.at)

    def peek(self) -> str:
        """The next character; empty at the end."""
        return self.text[self.at] if self.at < self.end else ""

    def ahead(self, length: int) -> str:
        """The next characters, fewer at the end."""
        return self.text[self.at : min(self.at + length, self.end)]

    def blanks(self) -> None:
        if self.at < self.end and self.text[self.at] in " \t\\":
            if found := BLANKS.match(self.text, self.at, self.end):
                self.at = found.end()

    def reserved(self) -> str:
        """The reserved word at the cursor; empty where the word there is longer, or is none."""
        word = self.ahead(LONGEST_RESERVED + 1)
        if word[:1] not in RESERVED_STARTS:
            return ""
        for length, char in enumerate(word):
            if char in " \t\n;&|()<>":
                word = word[:length]
                break
        return word if word in RESERVED else ""

    def scan(self, mode: Mode, quoted: bool = False) -> list[Part]:
        """The parts up to one of the mode's stops, or the end."""
        text, end, match = self.text, self.end, mode.plain.match
        parts: list[Part] = []
        while self.at < end:
            if found := match(text, self.at, end):
                parts.append(Lit(found.group(), self.at, found.end(), quoted))
                self.at = found.end()
                if self.at >= end:
                    break
            char = text[self.at]
            if char in mode.stops:
                break
            if char == "$":
                self.dollar(parts, quoted)
            elif char == "\\":
                self.escape(parts, mode, quoted)
            elif char == '"':
                self.double(parts)
            elif char == "'":
                self.single(parts)
            else:
                parts.append(self.backticks(quoted))
        return parts

    def escape(self, parts: list[Part], mode: Mode, quoted: bool) -> None:
        start, after = self.at, self.text[self.at + 1 : min(self.at + 2, self.end)]
        if after == "\n":
            self.at += 2
        elif after and (not mode.escapes or after in mode.escapes):
            self.at += 2
            parts.append(Lit(after, start, self.at, True))
        elif after or mode.escapes:
            self.at += 1
            parts.append(Lit("\\", start, self.at, True))
        else:  # at the very end bash drops it
            self.at += 1

    def single(self, parts: list[Part]) -> None:
        close = self.text.find("'", self.at + 1, self.end)
        if close < 0:
            raise ShellSyntaxError("the single quote is never closed", self.at)
        parts.append(Lit(self.text[self.at + 1 : close], self.at + 1, close, True))
        self.at = close + 1

    def double(self, parts: list[Part]) -> None:
        start = self.at
        self.deeper()
        self.at += 1
        inner = self.scan(DOUBLE, True)
        if self.peek() != '"':
            raise ShellSyntaxError("the double quote is never closed", start)
        self.depth -= 1
        if inner:
            parts.extend(inner)
        else:
            parts.append(Lit("", start + 1, self.at, True))
        self.at += 1

    def dollar(self, parts: list[Part], quoted: bool) -> None:
        start = self.at
        after = self.text[start + 1 : min(start + 2, self.end)]
        if after == "{":
            parts.append(self.braced(quoted))
        elif after == "(":
            parts.append(self.parenthesis(quoted))
        elif after == "[":
            parts.append(self.old_arithmetic(quoted))
        elif after in SPECIAL:
            self.at += 2
            parts.append(Param(after, start, self.at, quoted))
        elif found := BRACED_NAME.match(self.text, start + 1, self.end):
            self.at = found.end()
            parts.append(Param(found.group(), start, self.at, quoted))
        elif after == "'" and not quoted:
            parts.append(self.ansi())
        else:
            self.at += 1
            if after != '"' or quoted:
                parts.append(Lit("$", start, self.at, quoted))

    def ansi(self) -> Lit:
        start, at = self.at, self.at + 2
        while (char := self.text[at : min(at + 1, self.end)]) != "'":
            if not char:
                raise ShellSyntaxError("the single quote is never closed", start)
            at += 2 if char == "\\" else 1
        self.at = at + 1
        from grpo_lint.syntax.shell.escapes import unescaped

        return Lit(unescaped(self.text[start + 2 : at]), start, self.at, True)

    def parenthesis(self, quoted: bool) -> Part:
        """`$((...))` or `$(...)`."""
        start = self.at
        if self.ahead(3) == "$((" and (expression := self.arithmetic(start + 3)) is not None:
            return Arith(expression, start, self.at, quoted)
        self.deeper()
        self.at = start + 2
        body = self.commands(")")
        if self.peek() != ")":
            raise ShellSyntaxError("the command substitution is never closed", start)
        self.at += 1
        self.depth -= 1
        return CommandSub(body, start, self.at, quoted)

    def arithmetic(self, start: int) -> WordNode | None:
        """The expression from `start` up to `))`, which is passed; None if it is no arithmetic after all."""
        if start in self.not_arithmetic:
            return None
        before, depth, waiting = self.at, self.depth, len(self.pending)
        self.at = start
        try:
            self.deeper()
            parts = self.counted(ARITHMETIC)
            if self.ahead(2) == "))":
                self.at += 2
                self.depth = depth
                return WordNode(tuple(parts), start, self.at - 2)
        except TooDeep:
            raise
        except ShellSyntaxError:
            pass
        self.not_arithmetic.add(start)
        del self.pending[waiting:]
        self.at, self.depth = before, depth
        return None

    def counted(self, mode: Mode) -> list[Part]:
        """The parts up to the closing bracket (or blank) that has no opening one."""
        opening = "[" if "[" in mode.stops else "("
        closing = "]" if opening == "[" else ")"
        parts, level = self.scan(mode), 0
        while self.at < self.end:
            char = self.text[self.at]
            if char == opening:
                level += 1
                if level > MAX_LEVELS:
                    raise TooDeep("nested too deeply to follow", self.at)
            elif char == closing and level:
                level -= 1
            elif char == closing or not level:
                break
            parts.append(Lit(char, self.at, self.at + 1, False))
            self.at += 1
            parts.extend(self.scan(mode))
        return parts

    def old_arithmetic(self, quoted: bool) -> Part:
        start = self.at
        self.at += 2
        self.deeper()
        parts = self.counted(SUBSCRIPT)
        if self.peek() != "]":
            raise ShellSyntaxError("the arithmetic expansion is never closed", start)
        self.depth -= 1
        self.at += 1
        return Arith(WordNode(tuple(parts), start + 2, self.at - 1), start, self.at, quoted)

    def backticks(self, quoted: bool) -> CommandSub:
        start, at = self.at, self.at + 1
        text, offsets, escaped = [], [], False
        while (char := self.text[at : min(at + 1, self.end)]) != "`":
            if not char:
                raise ShellSyntaxError("the backtick is never closed", start)
            if char == "\\" and self.text[at + 1 : at + 2] in ('$`\\"' if quoted else "$`\\"):
                at, escaped = at + 1, True
                char = self.text[at : min(at + 1, self.end)]
            text.append(char)
            offsets.append(at)
            at += 1
        self.deeper()
        inner = self.inner("".join(text), offsets) if escaped else self.inner(self.text, None, start + 1, at)
        node = CommandSub(inner.commands(""), start, at + 1, quoted)
        if escaped:
            node.text, node.offsets = "".join(text), offsets
        self.at = at + 1
        self.depth -= 1
        return node

    @abstractmethod
    def inner(self, text: str, offsets: list[int] | None, start: int = 0, end: int | None = None) -> Lexer:
        """Given by the class that puts the evaluator together."""

    def braced(self, quoted: bool) -> Param:
        """`${...}`. What follows no rule becomes an operator "bad": bash too complains only when it gets there."""
        start = self.at
        self.deeper()
        self.at += 2
        prefix = ""
        if self.peek() == "!" and BRACED_NAME.match(self.text, self.at + 1, self.end):
            prefix = "!"
        elif self.peek() == "#" and (found := BRACED_NAME.match(self.text, self.at + 1, self.end)):
            prefix = "#" if self.text[found.end() : found.end() + 1] in ("}", "[") else ""
        self.at += len(prefix)
        name = BRACED_NAME.match(self.text, self.at, self.end)
        node = Param(name.group() if name else "", start, start, quoted)
        node.prefix = prefix
        self.at += len(node.name)
        if name and self.peek() == "[":
            self.index(node)
        if self.peek() != "}":
            self.operator(node)
        if self.peek() != "}":
            node.op = "bad"
            self.scan(QUOTED_ARG if quoted else ARG, quoted)
        if self.peek() != "}":
            raise ShellSyntaxError("the ${ is never closed", start)
        self.depth -= 1
        self.at += 1
        node.end = self.at
        return node

    def index(self, node: Param) -> None:
        start = self.at + 1
        self.at = start
        parts = self.counted(SUBSCRIPT)
        if self.peek() != "]":
            raise ShellSyntaxError("the subscript is never closed", start - 1)
        raw = self.text[start : self.at]
        node.index = raw if raw in ("@", "*") else WordNode(tuple(parts), start, self.at)
        self.at += 1

    def operator(self, node: Param) -> None:
        op = self.ahead(2) if node.name else ""
        if op != ":-" and op:  # by far the most frequent
            found = PARAM_OP.match(self.text, self.at, self.end)
            op = found.group() if found else ""
        if not op:
            if not (node.prefix == "!" and self.peek() in ("@", "*")):
                node.op = "bad"
            else:  # ${!prefix@}: the names that start so
                node.op = "names"
                self.at += 1
            return
        node.op = op
        self.at = start = self.at + len(op)
        patterns = node.op[0] in "#%/^,"
        plain = QUOTED_ARG if node.quoted and not patterns else ARG
        mode = {"/": REPLACE_ARG, ":": RANGE_ARG}.get(
            node.op[0] if len(node.op) == 1 or node.op[0] == "/" else "", plain
        )
        parts = self.scan(mode, node.quoted and not patterns)
        if node.op in ("/", "//") and not parts and self.peek() == "/":  # ${x////-}: the pattern is a slash
            self.at += 1
            parts = [Lit("/", start, self.at, False), *self.scan(mode)]
        node.arg = WordNode(tuple(parts), start, self.at)
        if mode is not plain and self.peek() in ("/", ":"):
            self.at += 1
            start = self.at
            node.arg2 = WordNode(tuple(self.scan(QUOTED_ARG if node.quoted else ARG, node.quoted)), start, self.at)

    def process(self) -> ProcSub:
        """`<(...)` or `>(...)`, with the cursor at its first character."""
        start = self.at
        self.deeper()
        self.at += 2
        body = self.commands(")")
        if self.peek() != ")":
            raise ShellSyntaxError("the process substitution is never closed", start)
        self.depth -= 1
        self.at += 1
        return ProcSub(body, start, self.at)
