"""The syntax tree of a shell script. Offsets count code points in the text that was parsed."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from grpo_lint.located import Word

    Part: TypeAlias = "Lit | Param | CommandSub | Arith | ProcSub | CarriageReturn"
    Node: TypeAlias = (
        "Simple | Pipeline | AndOr | ListNode | Group | If | For | ForC | While | Case | Function | Test | ArithCmd"
    )
    Expr: TypeAlias = "Unary | Binary | Not | Logic"


class Lit:
    """Text that stands for itself, quotes and escapes already removed."""

    __slots__ = ("end", "quoted", "start", "text")

    def __init__(self, text: str, start: int, end: int, quoted: bool) -> None:
        self.text = text
        self.start = start
        self.end = end
        self.quoted = quoted


class Param:
    """`$name` or `${...}`. `index` is None, "@", "*" or a subscript; `op` the operator, or "" for none.

    The operator "bad" is one that bash can't read. `prefix` is "#" (length), "!" (indirect, or an array's keys) or "".
    """

    __slots__ = ("arg", "arg2", "end", "index", "name", "op", "prefix", "quoted", "start")

    def __init__(self, name: str, start: int, end: int, quoted: bool) -> None:
        self.name = name
        self.start = start
        self.end = end
        self.quoted = quoted
        self.index: str | WordNode | None = None
        self.op = ""
        self.arg: WordNode | None = None
        self.arg2: WordNode | None = None
        self.prefix = ""


class CommandSub:
    """`$(...)` or a pair of backticks. Where backticks held escapes, `text` is what was parsed and `offsets` says
    where each of its characters stands."""

    __slots__ = ("body", "end", "offsets", "quoted", "start", "text")

    def __init__(self, body: ListNode, start: int, end: int, quoted: bool) -> None:
        self.body = body
        self.start = start
        self.end = end
        self.quoted = quoted
        self.text = ""
        self.offsets: list[int] | None = None


class Arith:
    """`$((...))` or `$[...]`; its expression as the parts of a word."""

    __slots__ = ("end", "expression", "quoted", "start")

    def __init__(self, expression: WordNode, start: int, end: int, quoted: bool) -> None:
        self.expression = expression
        self.start = start
        self.end = end
        self.quoted = quoted


class ProcSub:
    """`<(...)` or `>(...)`."""

    __slots__ = ("body", "end", "quoted", "start")

    def __init__(self, body: ListNode, start: int, end: int) -> None:
        self.body = body
        self.start = start
        self.end = end
        self.quoted = False


class CarriageReturn:
    """What bash takes into a word where a line ends with CR LF. Not quoted, it may be any number of words."""

    __slots__ = ("end", "quoted", "start")

    def __init__(self, start: int, end: int, quoted: bool = True) -> None:
        self.start = start
        self.end = end
        self.quoted = quoted


class WordNode:
    """A word. `variants` holds what brace expansion makes of it, or None; `constant` is filled by the evaluator."""

    __slots__ = ("constant", "end", "parts", "plain", "start", "variants")

    def __init__(self, parts: tuple[Part, ...], start: int, end: int, plain: str | None = None) -> None:
        self.parts = parts
        self.start = start
        self.end = end
        self.plain = plain
        """The text of a word without any quoting or expansion."""
        self.variants: list[WordNode] | None = None
        self.constant: list[Word] | None = None


class Assign:
    """`name=value`, `name+=value`, `name[index]=value` or `name=(items)`."""

    __slots__ = ("append", "end", "index", "items", "name", "start", "value")

    def __init__(self, name: str, index: WordNode | None, append: bool, start: int) -> None:
        self.name = name
        self.index = index
        self.append = append
        self.start = start
        self.end = start
        self.value: WordNode | None = None
        self.items: list[Assign | WordNode] | None = None
        """The elements of an array literal; `[key]=value` elements are Assigns without a name."""


class Redirection:
    """`fd op target`; a here-document's text is `body`."""

    __slots__ = ("body", "end", "fd", "op", "start", "target")

    def __init__(self, op: str, fd: str, target: WordNode, start: int, end: int) -> None:
        self.op = op
        self.fd = fd
        self.target = target
        self.start = start
        self.end = end
        self.body: WordNode | None = None


class Simple:
    """Assignments, words and redirections. `words` may hold Assigns after `declare`, `export` and their like."""

    __slots__ = ("assigns", "end", "redirects", "start", "words")

    def __init__(self, start: int) -> None:
        self.start = start
        self.end = start
        self.assigns: list[Assign] = []
        self.words: list[WordNode | Assign] = []
        self.redirects: list[Redirection] = []


class Pipeline:
    __slots__ = ("commands", "end", "negated", "start")

    def __init__(self, commands: list[Node], negated: bool, start: int, end: int) -> None:
        self.commands = commands
        self.negated = negated
        self.start = start
        self.end = end


class AndOr:
    """Pipelines joined by `&&` and `||`; `rest` holds (operator, pipeline)."""

    __slots__ = ("end", "first", "rest", "start")

    def __init__(self, first: Node, rest: list[tuple[str, Node]], start: int, end: int) -> None:
        self.first = first
        self.rest = rest
        self.start = start
        self.end = end


class ListNode:
    """Commands in sequence, each with whether it runs in the background."""

    __slots__ = ("end", "items", "start")

    def __init__(self, items: list[tuple[Node, bool]], start: int, end: int) -> None:
        self.items = items
        self.start = start
        self.end = end


class Group:
    """`{ ...; }` or `( ... )`."""

    __slots__ = ("body", "end", "redirects", "start", "subshell")

    def __init__(self, body: ListNode, subshell: bool, start: int) -> None:
        self.body = body
        self.subshell = subshell
        self.start = start
        self.end = start
        self.redirects: list[Redirection] = []


class If:
    __slots__ = ("clauses", "end", "otherwise", "redirects", "start")

    def __init__(self, start: int) -> None:
        self.start = start
        self.end = start
        self.clauses: list[tuple[ListNode, ListNode]] = []
        self.otherwise: ListNode | None = None
        self.redirects: list[Redirection] = []


class For:
    """`for` and `select`; `words` is None where the positional parameters are meant."""

    __slots__ = ("body", "end", "name", "redirects", "select", "start", "words")

    def __init__(self, name: str, words: list[WordNode] | None, body: ListNode, start: int, select: bool) -> None:
        self.name = name
        self.words = words
        self.body = body
        self.start = start
        self.end = start
        self.select = select
        self.redirects: list[Redirection] = []


class ForC:
    """`for ((first; test; step))`."""

    __slots__ = ("body", "end", "redirects", "start", "steps")

    def __init__(self, steps: tuple[WordNode, WordNode, WordNode], body: ListNode, start: int) -> None:
        self.steps = steps
        self.body = body
        self.start = start
        self.end = start
        self.redirects: list[Redirection] = []


class While:
    __slots__ = ("body", "end", "redirects", "start", "test", "until")

    def __init__(self, test: ListNode, body: ListNode, until: bool, start: int) -> None:
        self.test = test
        self.body = body
        self.until = until
        self.start = start
        self.end = start
        self.redirects: list[Redirection] = []


class Case:
    """`arms` holds (patterns, body, terminator); the terminator is `;;`, `;&` or `;;&`."""

    __slots__ = ("arms", "end", "redirects", "start", "subject")

    def __init__(self, subject: WordNode, start: int) -> None:
        self.subject = subject
        self.start = start
        self.end = start
        self.arms: list[tuple[list[WordNode], ListNode, str]] = []
        self.redirects: list[Redirection] = []


class Function:
    __slots__ = ("body", "end", "name", "redirects", "start")

    def __init__(self, name: str, body: Node, start: int, end: int) -> None:
        self.name = name
        self.body = body
        self.start = start
        self.end = end
        self.redirects: list[Redirection] = []


class Unary:
    """`-f word`, or a word alone (`op` is "-n")."""

    __slots__ = ("op", "word")

    def __init__(self, op: str, word: WordNode) -> None:
        self.op = op
        self.word = word


class Binary:
    __slots__ = ("left", "op", "right")

    def __init__(self, op: str, left: WordNode, right: WordNode) -> None:
        self.op = op
        self.left = left
        self.right = right


class Not:
    __slots__ = ("inner",)

    def __init__(self, inner: Expr) -> None:
        self.inner = inner


class Logic:
    """`&&` or `||` inside `[[ ]]`."""

    __slots__ = ("left", "op", "right")

    def __init__(self, op: str, left: Expr, right: Expr) -> None:
        self.op = op
        self.left = left
        self.right = right


class Test:
    """`[[ ... ]]`."""

    __slots__ = ("end", "expression", "redirects", "start")

    def __init__(self, expression: Expr, start: int) -> None:
        self.expression = expression
        self.start = start
        self.end = start
        self.redirects: list[Redirection] = []


class ArithCmd:
    """`(( ... ))`."""

    __slots__ = ("end", "expression", "redirects", "start")

    def __init__(self, expression: WordNode, start: int, end: int) -> None:
        self.expression = expression
        self.start = start
        self.end = end
        self.redirects: list[Redirection] = []
