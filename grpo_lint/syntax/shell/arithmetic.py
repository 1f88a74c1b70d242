"""Shell arithmetic: 64-bit integers, C's operators."""

from __future__ import annotations

import re

from grpo_lint.patterns import lazy
from grpo_lint.syntax.shell.values import Undecided

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    Lookup: TypeAlias = Callable[[str, "int | None"], "str"]
    """The text of a variable (or of its element); raises Undecided."""
    Store: TypeAlias = Callable[[str, "int | None", int], None]

MAX_TOKENS = 2_000
MAX_NESTED = 25

TOKEN = lazy(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F]+|\d+#[0-9a-zA-Z@_]+|\d+)|(?P<name>[A-Za-z_]\w*)|"
    r"(?P<op>\*\*|<<=|>>=|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[-+*/%<>=!~&|^?:(),\[\]]))",
    re.ASCII,
)
LEVELS: tuple[tuple[str, ...], ...] = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<=", ">=", "<", ">"), ("<<", ">>"), ("+", "-"),
    ("*", "/", "%"), ("**",),
)  # fmt: skip
ASSIGNING = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "^=", "|="))


class Malformed(Exception):
    """Not an arithmetic expression."""


def wrap(number: int) -> int:
    """The number as a signed 64-bit integer."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def evaluate(text: str, lookup: Lookup, store: Store | None = None, nested: int = 0) -> int:
    """The expression's value. Raises Undecided or Malformed."""
    stripped = text.strip()
    if stripped.isascii() and stripped.isdigit() and (stripped[0] != "0" or len(stripped) == 1):
        return wrap(int(stripped)) if len(stripped) < 20 else 0
    if nested > MAX_NESTED:
        raise Undecided("its variables refer to each other without end")
    return Expression(text, lookup, store, nested).value()


class Expression:
    """One expression, read and evaluated in one pass; `skip` is set where C would not evaluate."""

    def __init__(self, text: str, lookup: Lookup, store: Store | None, nested: int) -> None:
        self.lookup, self.store, self.nested = lookup, store, nested
        self.tokens: list[tuple[str, str]] = []
        at, end = 0, len(text.rstrip())
        while at < end:
            found = TOKEN.match(text, at)
            if found is None or len(self.tokens) > MAX_TOKENS:
                raise Malformed(f"{text[at:].strip()[:20]!r} is no arithmetic")
            self.tokens.append((str(found.lastgroup), found.group(str(found.lastgroup))))
            at = found.end()
        self.at = 0
        self.skip = 0
        self.depth = 0

    def value(self) -> int:
        if not self.tokens:
            return 0
        result = self.comma()
        if self.at < len(self.tokens):
            raise Malformed(f"unexpected {self.tokens[self.at][1]!r}")
        return result

    def take(self, *texts: str) -> str:
        if self.at < len(self.tokens) and self.tokens[self.at][0] == "op" and self.tokens[self.at][1] in texts:
            self.at += 1
            return self.tokens[self.at - 1][1]
        return ""

    def comma(self) -> int:
        result = self.assignment()
        while self.take(","):
            result = self.assignment()
        return result

    def assignment(self) -> int:
        self.depth += 1
        if self.depth > MAX_NESTED:
            raise Undecided("its arithmetic is nested too deeply")
        start = self.at
        if self.at + 1 < len(self.tokens) and self.tokens[self.at][0] == "name":
            name, index = self.reference()
            operator = self.take(*ASSIGNING)
            if operator:
                value = self.assignment()
                if operator != "=":
                    value = self.binary(operator[:-1], self.read(name, index), value)
                self.write(name, index, value)
                self.depth -= 1
                return value
            self.at = start
        result = self.ternary()
        self.depth -= 1
        return result

    def ternary(self) -> int:
        test = self.level(0)
        if not self.take("?"):
            return test
        yes = self.unevaluated(test == 0, self.assignment)
        if not self.take(":"):
            raise Malformed("a ':' is missing")
        no = self.unevaluated(test != 0, self.assignment)
        return yes if test else no

    def unevaluated(self, skip: bool, part: Callable[[], int]) -> int:
        self.skip += skip
        try:
            return part()
        finally:
            self.skip -= skip

    def level(self, number: int) -> int:
        if number == len(LEVELS):
            return self.unary()
        left = self.level(number + 1)
        if LEVELS[number] == ("**",):
            if self.take("**"):
                return self.binary("**", left, self.level(number))
            return left
        while operator := self.take(*LEVELS[number]):
            known = (operator == "&&" and not left) or (operator == "||" and bool(left))
            right = self.unevaluated(known, lambda: self.level(number + 1))
            left = self.binary(operator, left, right)
        return left

    def unary(self) -> int:
        self.depth += 1
        if self.depth > 4 * MAX_NESTED:
            raise Undecided("its arithmetic is nested too deeply")
        try:
            operator = self.take("+", "-", "!", "~", "++", "--")
            if operator in ("++", "--") and self.at < len(self.tokens) and self.tokens[self.at][0] == "name":
                name, index = self.reference()
                value = wrap(self.read(name, index) + (1 if operator == "++" else -1))
                self.write(name, index, value)
                return value
            if operator:
                value = self.unary()
                return wrap({"+": value, "-": -value, "!": int(not value), "~": ~value}.get(operator, value))
            return self.primary()
        finally:
            self.depth -= 1

    def primary(self) -> int:
        if self.take("("):
            value = self.comma()
            if not self.take(")"):
                raise Malformed("a ')' is missing")
            return value
        if self.at >= len(self.tokens):
            raise Malformed("the expression ends early")
        kind, text = self.tokens[self.at]
        if kind == "number":
            self.at += 1
            return _number(text)
        if kind != "name":
            raise Malformed(f"unexpected {text!r}")
        name, index = self.reference()
        value = self.read(name, index)
        if operator := self.take("++", "--"):
            self.write(name, index, wrap(value + (1 if operator == "++" else -1)))
        return value

    def reference(self) -> tuple[str, int | None]:
        name = self.tokens[self.at][1]
        self.at += 1
        if not self.take("["):
            return name, None
        index = self.comma()
        if not self.take("]"):
            raise Malformed("a ']' is missing")
        return name, index

    def read(self, name: str, index: int | None) -> int:
        if self.skip:
            return 0
        text = self.lookup(name, index)
        return evaluate(text, self.lookup, self.store, self.nested + 1) if text.strip() else 0

    def write(self, name: str, index: int | None, value: int) -> None:
        if not self.skip and self.store is not None:
            self.store(name, index, value)

    def binary(self, operator: str, left: int, right: int) -> int:
        if operator in ("/", "%", "**") and not self.skip:
            if operator == "**":
                if right < 0:
                    raise Malformed("a negative exponent")
                return wrap(pow(left, right, 1 << 64))
            if right == 0:
                raise Malformed("a division by 0")
            quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
            return wrap(quotient if operator == "/" else left - quotient * right)
        return 0 if operator in ("/", "%", "**") else wrap(_simple(operator, left, right))


def _simple(operator: str, left: int, right: int) -> int:
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "<<":
            return left << (right & 63)
        case ">>":
            return left >> (right & 63)
        case "&":
            return left & right
        case "|":
            return left | right
        case "^":
            return left ^ right
        case "&&":
            return int(bool(left) and bool(right))
        case "||":
            return int(bool(left) or bool(right))
        case "==":
            return int(left == right)
        case "!=":
            return int(left != right)
        case "<":
            return int(left < right)
        case "<=":
            return int(left <= right)
        case ">":
            return int(left > right)
        case _:
            return int(left >= right)


def _number(text: str) -> int:
    try:
        if "#" in text:
            base, _, digits = text.partition("#")
            return wrap(int(digits, int(base))) if 2 <= int(base) <= 36 else 0
        if text[:2] in ("0x", "0X"):
            return wrap(int(text, 16))
        return wrap(int(text, 8) if text[0] == "0" and len(text) > 1 else int(text[:25]))
    except ValueError:
        raise Malformed(f"{text!r} is no number") from None
