"""The grammar of compound commands, and the parser as a whole."""

from __future__ import annotations

import re

from grpo_lint.patterns import lazy
from grpo_lint.syntax.shell.lexer import ARITHMETIC, REGEX, ShellSyntaxError
from grpo_lint.syntax.shell.parser import FUNCTION, REDIRECT, CommandParser
from grpo_lint.syntax.shell.tree import (
    ArithCmd,
    Binary,
    Case,
    For,
    ForC,
    Function,
    Group,
    If,
    ListNode,
    Logic,
    Not,
    Test,
    Unary,
    While,
    WordNode,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.syntax.shell.parser import Fault
    from grpo_lint.syntax.shell.tree import Expr, Node

THEN = frozenset(("then",))
BRANCHES = frozenset(("elif", "else", "fi"))
FI = frozenset(("fi",))
DO = frozenset(("do",))
DONE = frozenset(("done",))
BRACE = frozenset(("}",))
ESAC = frozenset(("esac",))
NAME = lazy(r"[^ \t\n\"'\\$`|&;<>(){}]+")
UNARY = frozenset("abcdefghknoprstuvwxzGLNORS")
BINARY = lazy(r"(==|=~|!=|=|<|>|-(?:eq|ne|lt|le|gt|ge|nt|ot|ef)(?![^ \t\n]))")
SPLIT = lazy(r";")


class Parser(CommandParser):
    """Reads a text: `script()` gives its tree, `faults` what was wrong."""

    def inner(self, text: str, offsets: list[int] | None, start: int = 0, end: int | None = None) -> Parser:
        parser = Parser(text, start, end)
        parser.depth = self.depth
        parser.faults = self.faults if offsets is None else []
        return parser

    def compound(self, word: str) -> Node:
        start, depth = self.at, self.depth
        self.deeper()
        node: Node
        if word == "(":
            node = self.parenthesized()
        elif word == "{":
            node = self.group()
        elif word == "[[":
            node = self.test()
        elif word == "if":
            node = self.conditional()
        elif word in ("while", "until"):
            self.at += 5
            test = self.commands("", DO)
            node = While(test, self.body(start), word == "until", start)
        elif word in ("for", "select"):
            node = self.loop(word)
        elif word == "case":
            node = self.case()
        else:
            node = self.function()
        self.depth = depth
        node.end = self.at
        if not isinstance(node, Function):
            self.redirections(node)
        return node

    def redirections(self, node: Node) -> None:
        while True:
            self.blanks()
            found = REDIRECT.match(self.text, self.at, self.end)
            if found is None or self.ahead(2) in ("<(", ">("):
                return
            redirect = self.redirect(found)
            if hasattr(node, "redirects"):
                node.redirects.append(redirect)
            node.end = self.at

    def expect(self, word: str, opening: int) -> None:
        """Passes a reserved word; notes its absence and goes on as if it were there."""
        self.gap()
        if self.reserved() == word:
            self.at += len(word)
            return
        raise ShellSyntaxError(f"{word!r} is missing here, or {self.opener(opening)!r} is never closed", opening)

    def opener(self, start: int) -> str:
        found = NAME.match(self.text, start, self.end)
        return found.group() if found else self.text[start : start + 1]

    def body(self, opening: int) -> ListNode:
        """`do ... done`, or braces in their stead."""
        self.gap()
        if self.reserved() == "{":
            self.at += 1
            body = self.commands("", BRACE)
            self.expect("}", opening)
            return body
        self.expect("do", opening)
        body = self.commands("", DONE)
        self.expect("done", opening)
        return body

    def parenthesized(self) -> Node:
        """`((...))` or a subshell."""
        start = self.at
        if self.ahead(2) == "((" and (expression := self.arithmetic(start + 2)) is not None:
            return ArithCmd(expression, start, self.at)
        self.at = start + 1
        body = self.commands(")", BRACE)
        if self.peek() != ")":
            raise ShellSyntaxError("the parenthesis is never closed", start)
        self.at += 1
        return Group(body, True, start)

    def group(self) -> Group:
        start = self.at
        self.at += 1
        body = self.commands("", BRACE)
        self.expect("}", start)
        return Group(body, False, start)

    def conditional(self) -> If:
        node = If(self.at)
        self.at += 2
        while True:
            test = self.commands("", THEN)
            self.expect("then", node.start)
            node.clauses.append((test, self.commands("", BRANCHES)))
            word = self.reserved()
            if word != "elif":
                break
            self.at += 4
        if word == "else":
            self.at += 4
            node.otherwise = self.commands("", FI)
        self.expect("fi", node.start)
        return node

    def loop(self, word: str) -> For | ForC:
        start = self.at
        self.at += len(word)
        self.blanks()
        if self.ahead(2) == "((":
            return self.counting(start)
        found = NAME.match(self.text, self.at, self.end)
        if found is None:
            raise ShellSyntaxError(f"no name follows {word!r}", start)
        self.at = found.end()
        words: list[WordNode] | None = None
        self.gap()
        if self.reserved() == "in":
            self.at += 2
            words = []
            self.blanks()
            while self.peek() not in ("", "\n", ";", "#", "|", "&", ")"):
                words.append(self.word())
                self.blanks()
        if self.peek() == ";":
            self.at += 1
        return For(found.group(), words, self.body(start), start, word == "select")

    def counting(self, start: int) -> ForC:
        self.at += 2
        first = self.at
        expression = self.arithmetic(first)
        if expression is None:
            raise ShellSyntaxError("the (( is never closed", start)
        after = self.at
        cuts = [found.start() for found in SPLIT.finditer(self.text, first, expression.end)]
        if len(cuts) != 2:
            raise ShellSyntaxError("the loop needs three expressions", start)
        steps = []
        for low, high in zip((first, cuts[0] + 1, cuts[1] + 1), (*cuts, expression.end), strict=True):
            part, stop = low, self.end
            self.at, self.end = part, high
            steps.append(WordNode(tuple(self.counted(ARITHMETIC)), low, high))
            self.end = stop
        self.at = after
        self.blanks()
        if self.peek() == ";":
            self.at += 1
        return ForC((steps[0], steps[1], steps[2]), self.body(start), start)

    def case(self) -> Case:
        start = self.at
        self.at += 4
        self.blanks()
        node = Case(self.word(), start)
        self.expect("in", start)
        while self.gap():
            if self.reserved() == "esac":
                break
            if self.peek() == "(":
                self.at += 1
                self.blanks()
            patterns = [self.word(pattern=True)]
            self.blanks()
            while self.peek() == "|":
                self.at += 1
                self.blanks()
                patterns.append(self.word(pattern=True))
                self.blanks()
            if self.peek() != ")":
                raise ShellSyntaxError(f"unexpected {self.token()!r} in a pattern of 'case'", self.at)
            self.at += 1
            body = self.commands(";", ESAC)
            terminator = ";;&" if self.ahead(3) == ";;&" else self.ahead(2) if self.peek() == ";" else ";;"
            if self.peek() == ";":
                self.at += len(terminator)
            node.arms.append((patterns, body, terminator))
        self.expect("esac", start)
        return node

    def function(self) -> Function:
        start = self.at
        if self.reserved() == "function":
            self.at += 8
            self.blanks()
            found = NAME.match(self.text, self.at, self.end)
            if found is None:
                raise ShellSyntaxError("no name follows 'function'", start)
            name = found.group()
            self.at = found.end()
            self.blanks()
            if self.peek() == "(" and (empty := re.compile(r"\([ \t]*\)").match(self.text, self.at, self.end)):
                self.at = empty.end()
        else:
            head = FUNCTION.match(self.text, self.at, self.end)
            if head is None:
                raise ShellSyntaxError("unexpected '('", self.at)
            name = head.group().rstrip("() \t")
            self.at = head.end()
        self.gap()
        return Function(name, self.command(), start, self.at)

    # [[ ... ]]

    def test(self) -> Test:
        start = self.at
        self.at += 2
        expression = self.disjunction()
        self.gap()
        if self.ahead(2) != "]]":
            raise ShellSyntaxError("the [[ is never closed", start)
        self.at += 2
        return Test(expression, start)

    def disjunction(self) -> Expr:
        left = self.conjunction()
        while self.gap() and self.ahead(2) == "||":
            self.at += 2
            left = Logic("||", left, self.conjunction())
        return left

    def conjunction(self) -> Expr:
        left = self.negation()
        while self.gap() and self.ahead(2) == "&&":
            self.at += 2
            left = Logic("&&", left, self.negation())
        return left

    def negation(self) -> Expr:
        self.gap()
        if self.peek() == "!" and self.text[self.at + 1 : self.at + 2] in (" ", "\t", "\n"):
            self.at += 1
            self.deeper()
            inner = Not(self.negation())
            self.depth -= 1
            return inner
        if self.peek() == "(":
            start = self.at
            self.at += 1
            self.deeper()
            grouped = self.disjunction()
            self.depth -= 1
            self.gap()
            if self.peek() != ")":
                raise ShellSyntaxError("the parenthesis is never closed", start)
            self.at += 1
            return grouped
        return self.primary()

    def primary(self) -> Expr:
        left = self.word()
        plain = left.plain or ""
        self.blanks()
        if len(plain) == 2 and plain[0] == "-" and plain[1] in UNARY and self.ahead(2) not in ("]]", "&&", "||"):
            if BINARY.match(self.text, self.at, self.end) is None:
                return Unary(plain, self.word())
        found = BINARY.match(self.text, self.at, self.end)
        if found is None:
            return Unary("-n", left)
        self.at = found.end()
        self.blanks()
        if found.group() == "=~":
            start = self.at
            right = WordNode(tuple(self.counted(REGEX)), start, self.at)
        else:
            right = self.word(pattern=True)
        return Binary(found.group(), left, right)


def parse(text: str, start: int = 0, end: int | None = None) -> tuple[ListNode, list[Fault]]:
    """The tree of a script's text between two offsets, and its faults in order of position."""
    parser = Parser(text, start, end)
    body = parser.script()
    return body, sorted(parser.faults, key=lambda fault: fault.start)
