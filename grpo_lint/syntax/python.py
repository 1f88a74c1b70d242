"""Calls of named classes in Python source, with the literals that they get; nothing is imported or run.

module = parse(text, span_of)                       # None for what is no Python
module.imported("trl")                              # {name in the module: name in the package}
for call in module.calls({"GRPOConfig"}): ...       # a Value: a mapping of keywords, other than literals Unknown
"""

from __future__ import annotations

from grpo_lint.located import Unknown, Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterator

    from grpo_lint.source import Span

MAX_CHARACTERS = 1_000_000
"""Longer source isn't read: its syntax tree takes a hundred times its length in memory."""
MAX_DEPTH = 20
MAX_SHOWN = 40


class Call:
    """A call: the name that is called, its keywords as a mapping, and whether `**` or positions may give more."""

    __slots__ = ("arguments", "name", "open_ended")

    def __init__(self, name: str, arguments: Value, open_ended: bool) -> None:
        self.name = name
        self.arguments = arguments
        self.open_ended = open_ended


class Module:
    """A module's syntax tree, and where its nodes stand."""

    def __init__(self, tree: ast.Module, text: str, span_of: Callable[[int, int], Span]) -> None:
        self.tree = tree
        self.text = text
        self.span_of = span_of
        self._lines = [0]
        at = text.find("\n")
        while at >= 0:
            self._lines.append(at + 1)
            at = text.find("\n", at + 1)

    def imported(self, package: str) -> dict[str, str]:
        """The names that the module imports from a package and its modules; the package itself as `package.`."""
        import ast

        found: dict[str, str] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and node.module is not None and not node.level:
                if node.module == package or node.module.startswith(f"{package}."):
                    found |= {alias.asname or alias.name: alias.name for alias in node.names}
            elif isinstance(node, ast.Import):
                found |= {f"{alias.asname or alias.name}.": "" for alias in node.names if alias.name == package}
        return found

    def calls(self, names: dict[str, str] | set[str]) -> Iterator[Call]:
        """The calls of some names, `trl.GRPOConfig(...)` included where `trl.` is among them; in order."""
        import ast

        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                name = _name(node.func)
                owner, _, last = name.rpartition(".")
                if name and (name in names or f"{owner}." in names):
                    yield self._call(last, node)

    def _call(self, name: str, node: ast.Call) -> Call:
        data = {}
        for keyword in node.keywords:
            if keyword.arg is not None:
                start = self._offset(keyword.lineno, keyword.col_offset)
                value = self._value(keyword.value, 0)
                value.key_span = self.span_of(start, start + len(keyword.arg))
                data[keyword.arg] = value
        whole = self._place(node)
        open_ended = bool(node.args) or any(keyword.arg is None for keyword in node.keywords)
        return Call(name, Value(data, whole), open_ended)

    def _value(self, node: ast.expr, depth: int) -> Value:
        import ast

        span = self._place(node)
        if depth < MAX_DEPTH and isinstance(node, (ast.List, ast.Tuple)):
            return Value([self._value(item, depth + 1) for item in node.elts], span, None, "", "flow")
        if depth < MAX_DEPTH and isinstance(node, ast.Dict) and all(_is_text(key) for key in node.keys):
            pairs = zip(node.keys, node.values, strict=True)
            data = {key.value: self._value(value, depth + 1) for key, value in pairs if isinstance(key, ast.Constant)}
            return Value(data, span, None, "", "flow")
        constant = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
        if isinstance(constant, ast.Constant) and isinstance(constant.value, (str, bool, int, float, type(None))):
            if constant is node:
                return Value(constant.value, span, None, span.text)
            if isinstance(constant.value, (int, float)):
                return Value(-constant.value, span, None, span.text)
        shown = " ".join(span.text.split())
        shown = shown if len(shown) <= MAX_SHOWN else shown[: MAX_SHOWN - 3] + "..."
        return Value(Unknown(f"Python works out `{shown}`"), span, None, span.text)

    def _place(self, node: ast.expr) -> Span:
        start = self._offset(node.lineno, node.col_offset)
        end = self._offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
        return self.span_of(start, end)

    def _offset(self, line: int, column: int) -> int:
        """Of a place that Python tells by its line and the bytes before it there."""
        start = self._lines[line - 1]
        end = self._lines[line] if line < len(self._lines) else len(self.text)
        text = self.text[start:end]
        return start + (column if text.isascii() else len(text.encode()[:column].decode(errors="replace")))


def parse(text: str, span_of: Callable[[int, int], Span]) -> Module | None:
    """The module that a text is; None where it is no Python or too long. `span_of` gives the place of a range."""
    if len(text) > MAX_CHARACTERS:
        return None
    import ast
    import warnings

    try:
        with warnings.catch_warnings():  # of escapes in texts that are not ours
            warnings.simplefilter("ignore")
            return Module(ast.parse(text), text, span_of)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _name(node: ast.expr) -> str:
    import ast

    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = _name(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return ""


def _is_text(node: ast.expr | None) -> bool:
    import ast

    return isinstance(node, ast.Constant) and isinstance(node.value, str)
