"""`[ ... ]` and `[[ ... ]]`: decided, or undecided with what they depend on."""

from __future__ import annotations

import re
from abc import abstractmethod

from grpo_lint.located import DYNAMIC, Piece, Word
from grpo_lint.source import Span
from grpo_lint.syntax.shell.compound import UNARY
from grpo_lint.syntax.shell.expand import Expander
from grpo_lint.syntax.shell.script import paths
from grpo_lint.syntax.shell.tree import Binary, Logic, Not, Unary, WordNode
from grpo_lint.syntax.shell.values import Text, Undecided, Unmatchable, World
from grpo_lint.syntax.shell.worlds import Verdict, remembered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from grpo_lint.syntax.shell.tree import Expr

    Outcome: TypeAlias = bool | Verdict

VARIABLE = r"\"?\$\{?([A-Za-z_][A-Za-z0-9_]*|[0-9#@*]+)(?::?-[^{}]*)?\}?\"?$"
NAMES = r"\$\{?[#!]?([A-Za-z_][A-Za-z0-9_]*)"
INTEGER = r"[ \t\n]*[-+]?\d{1,18}[ \t\n]*$"
COMPARE = {"-eq": "=", "-ne": "is not", "-lt": "<", "-le": "<=", "-gt": ">", "-ge": ">="}
MAX_TEST = 60


def shown(text: str) -> str:
    """A stretch of source, short enough for a message."""
    flat = " ".join(text.split())
    return flat if len(flat) <= MAX_TEST else flat[: MAX_TEST - 1] + "…"


def subject_name(source: str) -> str:
    """`X` for a word that only holds the variable X, else the word as written."""
    found = re.match(VARIABLE, source.strip())
    if not found:
        return shown(source)
    name = found.group(1)
    return name if name[0].isalpha() or name[0] == "_" else f"${name}"


class Operand:
    """One side of a test: its text, why that isn't known, and the source it was written as."""

    __slots__ = ("reason", "source", "span", "text", "word")

    def __init__(self, text: str, reason: str, span: Span, word: Word | None = None) -> None:
        self.text = text
        self.reason = reason
        self.span = span
        self.source = span.text
        self.word = word


class Conditions(Expander):
    @abstractmethod
    def exists(self, word: Word, world: World) -> bool:
        """Whether the repository surely has the file."""

    # [ ... ]

    def bracket(self, words: list[Word], world: World, span: Span, unsure: list[int]) -> Outcome:
        """The outcome of `test` with these arguments."""
        if len(words) > 200:
            return self.doubt(f"`{shown(span.text)}`", span, world)
        if unsure and len(words) not in (2, 3):
            return self.doubt(f"`{shown(span.text)}`", span, world)
        operands = [Operand(word.text, word.reason, word.span, word) for word in words]
        return self.combine(operands, world, span)

    def combine(self, operands: list[Operand], world: World, span: Span) -> Outcome:
        texts = [operand.text for operand in operands]
        if not operands:
            return False
        if len(operands) > 1 and texts[0] == "!" and not (len(operands) == 3 and texts[1] in ("=", "!=", "==")):
            return negated(self.combine(operands[1:], world, span))
        if len(operands) == 1:
            return self.unary("-n", operands[0], world)
        if len(operands) == 2:
            return self.unary(texts[0], operands[1], world)
        if len(operands) == 3 and texts[1] not in ("-a", "-o"):
            return self.binary(texts[1], operands[0], operands[2], world)
        for operator in ("-o", "-a"):
            if operator in texts[1:-1]:
                at = texts.index(operator, 1)
                left = self.combine(operands[:at], world, span)
                right = self.combine(operands[at + 1 :], world, span)
                return either(left, right) if operator == "-o" else both(left, right)
        return False  # "too many arguments" is an error, whose status is not 0

    # [[ ... ]]

    def judge(self, expression: Expr, world: World) -> Outcome:
        if isinstance(expression, Not):
            return negated(self.judge(expression.inner, world))
        if isinstance(expression, Logic):
            left = self.judge(expression.left, world)
            if left is (expression.op == "||"):
                return left
            right = self.judge(expression.right, world)
            return either(left, right) if expression.op == "||" else both(left, right)
        if isinstance(expression, Unary):
            return self.unary(expression.op, self.operand_of(expression.word, world), world)
        left_side = self.operand_of(expression.left, world)
        if expression.op in ("=", "==", "!="):
            return self.fits(expression, left_side, world)
        if expression.op == "=~":
            return self.regex(expression, left_side, world)
        return self.binary(expression.op, left_side, self.operand_of(expression.right, world), world, arithmetic=True)

    def operand_of(self, node: WordNode, world: World) -> Operand:
        value = self.text(node, world)
        span = self.place.span(node.start, node.end)
        return Operand(value.text, value.reason, span, Word(tuple(value.pieces()), span))

    def fits(self, expression: Binary, left: Operand, world: World) -> Outcome:
        """`[[ left == pattern ]]`."""
        atoms, reason = self.atoms(expression.right, world)
        span = self.place.span(expression.right.start, expression.right.end)
        right = Operand("".join(text for text, _ in atoms), reason, span)
        wild = any(not quoted and any(char in text for char in "*?[(") for text, quoted in atoms)
        equal: Outcome
        if wild and not left.reason and not reason:
            from grpo_lint.syntax.shell.patterns import matches

            try:
                equal = matches(atoms, left.text)
            except Unmatchable:
                equal = self.compared("=", left, right, world)
        else:
            equal = self.compared("=", left, right, world)
        return equal if expression.op != "!=" else negated(equal)

    def regex(self, expression: Binary, left: Operand, world: World) -> Outcome:
        atoms, reason = self.atoms(expression.right, world)
        span = self.place.span(expression.left.start, expression.right.end)
        doubt = self.doubt(f"`{shown(span.text)}`", span, world, left, reason)
        pattern = "".join(re.escape(text) if quoted else text for text, quoted in atoms)
        # Only expressions that Python and POSIX read alike, and that can't backtrack without end.
        repeats = sum(pattern.count(char) for char in "*+{")
        if left.reason or reason or re.search(r"\[[:.=]|\\[A-Za-z]|[+*}?)][+*{]|\(\?", pattern):
            return doubt
        from grpo_lint.syntax.shell.patterns import MAX_EFFORT

        if (len(left.text) + 2) ** min(repeats + 1, 30) > MAX_EFFORT:
            return doubt
        try:
            found = re.search(pattern, left.text)
        except re.error:
            return doubt
        self.captured(found, world, span)
        return found is not None

    @abstractmethod
    def captured(self, found: re.Match[str] | None, world: World, span: Span) -> None:
        """Sets BASH_REMATCH."""

    # single tests

    def unary(self, op: str, operand: Operand, world: World) -> Outcome:
        if op in ("-n", "-z"):
            return self.empty(operand, world) if op == "-z" else negated(self.empty(operand, world))
        if op == "-v":
            known = not operand.reason and operand.text in world.vars
            return True if known else self.doubt(f"{operand.text} is set", operand.span, world, operand)
        if op in ("-f", "-e", "-s", "-r", "-d") and operand.word is not None and self.exists(operand.word, world):
            return op != "-d"
        span = operand.span
        if op == "-t" or len(op) != 2 or op[0] != "-" or op[1] not in UNARY:
            return False  # "unary operator expected" is an error, whose status is not 0
        return self.doubt(f"`{op} {shown(operand.source)}`", span, world, operand)

    def empty(self, operand: Operand, world: World) -> Outcome:
        if not operand.reason:
            return not operand.text
        if operand.text.replace(DYNAMIC, "") or (operand.word is not None and paths(operand.word)):
            return False
        name = subject_name(operand.source)
        missing = operand.reason.endswith(("is not set in the script", "given by the caller", "which is not here"))
        texts = (f"{name} is not set", f"{name} is set") if missing else (f"{name} is empty", f"{name} is not empty")
        outcome = self.verdict_for(("z", operand.source), *texts, operand.span, world, operand)
        if missing and isinstance(outcome, Verdict) and re.match(VARIABLE, operand.source):
            outcome.fills = (
                name,
                f"unless {operand.reason.split(' ', 1)[0]} is {'given' if '$' in operand.reason else 'set'}",
            )
        return outcome

    def binary(self, op: str, left: Operand, right: Operand, world: World, arithmetic: bool = False) -> Outcome:
        if op in ("=", "==", "!="):
            equal = self.compared("=", left, right, world)
            return equal if op != "!=" else negated(equal)
        if op in COMPARE:
            return self.numbers(op, left, right, world, arithmetic)
        if op in ("<", ">") and not left.reason and not right.reason:
            return left.text < right.text if op == "<" else left.text > right.text
        return self.doubt(f"`{shown(left.source)} {op} {shown(right.source)}`", left.span, world, left, right.reason)

    def compared(self, op: str, left: Operand, right: Operand, world: World) -> Outcome:
        if not left.reason and not right.reason:
            return left.text == right.text
        if differ(left.text, right.text):
            return False
        if left.reason and not right.reason:
            return self.equals(left, right.text, world)
        if right.reason and not left.reason:
            return self.equals(right, left.text, world)
        return self.doubt(f"{subject_name(left.source)} {op} {subject_name(right.source)}", left.span, world, left)

    def equals(self, operand: Operand, value: str, world: World) -> Outcome:
        """An unknown text against a known one."""
        if not value:
            return self.empty(operand, world)
        for condition in world.when:  # DEVICE=npu, once assumed, settles DEVICE=gpu
            key = condition.key
            if (
                isinstance(key, tuple)
                and len(key) == 3
                and key[:2] == (("eq", operand.source), self.facts(operand, world))
            ):
                return bool(key[2] == value)
        name = subject_name(operand.source)
        return self.verdict_for(
            ("eq", operand.source), f"{name}={value}", f"{name} is not {value}", operand.span, world, operand, value
        )

    def numbers(self, op: str, left: Operand, right: Operand, world: World, arithmetic: bool) -> Outcome:
        sides = []
        for operand in (left, right):
            if operand.reason:
                name, other = subject_name(left.source), subject_name(right.source)
                relation = {"-eq": f"{name}={other}", "-ne": f"{name} is not {other}"}.get(
                    op, f"{name} {COMPARE[op]} {other}"
                )
                return self.doubt(relation, left.span, world, operand)
            try:
                if re.match(INTEGER, operand.text) or (arithmetic and not operand.text.strip()):
                    sides.append(int(operand.text.strip() or 0))
                elif arithmetic:
                    sides.append(self.number(Text((Piece(operand.text, operand.span),)), world))
                else:
                    return False  # "integer expression expected"
            except Undecided:
                return self.doubt(
                    f"{shown(left.source)} {COMPARE[op]} {shown(right.source)}", left.span, world, operand
                )
        first, second = sides
        return {
            "-eq": first == second, "-ne": first != second, "-lt": first < second,
            "-le": first <= second, "-gt": first > second, "-ge": first >= second,
        }[op]  # fmt: skip

    def doubt(self, text: str, span: Span, world: World, operand: Operand | None = None, reason: str = "") -> Outcome:
        return self.verdict_for(("test", text), text, f"not ({text})", span, world, operand, reason=reason)

    def verdict_for(
        self, key: tuple[str, str], yes: str, no: str, span: Span, world: World, operand: Operand | None,
        value: str | None = None, reason: str = "",
    ) -> Outcome:  # fmt: skip
        full: object = (key, self.facts(operand, world)) if value is None else (key, self.facts(operand, world), value)
        known = remembered(world, full)
        if known is not None:
            return known
        verdict = Verdict(yes, no, span, full)
        why = operand.reason if operand is not None else reason
        verdict.caller = why.endswith("the caller")
        return verdict

    def facts(self, operand: Operand | None, world: World) -> object:
        """What a test's outcome rests on: the values of the variables it names, as they are now."""
        if operand is None:
            return ()
        names = re.findall(NAMES, operand.source)
        found = [world.vars[name].value if name in world.vars else None for name in names[:8]]
        return (*found, world.shifted, len(world.frames), *world.args[:3])


def negated(outcome: Outcome) -> Outcome:
    return outcome.negated() if isinstance(outcome, Verdict) else not outcome


def both(left: Outcome, right: Outcome) -> Outcome:
    """Logical and, with undecided sides."""
    if left is False or right is False:
        return False
    if left is True:
        return right
    if right is True or not isinstance(right, Verdict) or not isinstance(left, Verdict):
        return left
    return _joined(left, right, "and")


def either(left: Outcome, right: Outcome) -> Outcome:
    if left is True or right is True:
        return True
    if left is False:
        return right
    if right is False or not isinstance(right, Verdict) or not isinstance(left, Verdict):
        return left
    return _joined(left, right, "or")


def _joined(left: Verdict, right: Verdict, word: str) -> Verdict:
    opposite = "or" if word == "and" else "and"
    verdict = Verdict(
        f"{left.yes} {word} {right.yes}", f"{left.no} {opposite} {right.no}", left.span, (word, left.key, right.key)
    )
    verdict.caller = left.caller or right.caller
    return verdict


def differ(left: str, right: str) -> bool:
    """Whether two texts can't be equal, whatever stands for their unknown parts."""
    first, second = left.split(DYNAMIC), right.split(DYNAMIC)
    if len(first) > 1 and len(second) > 1:
        start, stop = (first[0], second[0]), (first[-1], second[-1])
        return not (start[0].startswith(start[1]) or start[1].startswith(start[0])) or not (
            stop[0].endswith(stop[1]) or stop[1].endswith(stop[0])
        )
    parts, whole = (first, right) if len(first) > 1 else (second, left)
    if not whole.startswith(parts[0]) or not whole.endswith(parts[-1]):
        return True
    return sum(len(part) for part in parts) > len(whole)
