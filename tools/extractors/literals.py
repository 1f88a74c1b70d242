"""Values of Python expressions, as far as the source text alone tells them."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

MISSING: Any = object()
MAX_DEPTH = 6
OPERATORS: dict[type[ast.operator], Any] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.LShift: lambda a, b: a << b,
    ast.Pow: lambda a, b: a**b,
}


class Scope:
    """The assignments at the top of modules, by which `choices=FOO` and `default=FOO` are resolved."""

    def __init__(self, names: dict[str, ast.expr] | None = None) -> None:
        self.names = dict(names or {})

    @classmethod
    def of_modules(cls, *trees: ast.Module) -> Scope:
        names: dict[str, ast.expr] = {}
        for statement in (statement for tree in trees for statement in tree.body):
            if isinstance(statement, ast.Assign):
                names.update(
                    {target.id: statement.value for target in statement.targets if isinstance(target, ast.Name)}
                )
            elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
                if isinstance(statement.target, ast.Name):
                    names[statement.target.id] = statement.value
        return cls(names)


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def text(node: ast.AST | None) -> str:
    """The source text of a node."""
    return ast.unparse(node) if node is not None else ""


def words(node: ast.AST | None) -> str:
    """The text that a string expression gives: constants, `+`, f-strings with {} for what is computed."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(words(part) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    if isinstance(node, ast.BinOp):
        return words(node.left) + words(node.right)
    return text(node)


def literal(node: ast.AST | None, scope: Scope | None = None, depth: int = 0) -> Any:
    """The JSON value of a node; {"expr": its text} where that can't be known from the text."""
    if node is None:
        return None
    try:
        return _jsonable(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, MemoryError):
        pass
    value = _from_scope(node, scope, depth) if scope is not None and depth < MAX_DEPTH else MISSING
    if value is MISSING and isinstance(node, ast.BinOp):
        value = _fold(node)
    return {"expr": text(node)} if value is MISSING else value


def _from_scope(node: ast.AST, scope: Scope, depth: int) -> Any:
    if isinstance(node, ast.Name) and node.id in scope.names:
        return literal(scope.names[node.id], scope, depth + 1)
    if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        items: list[Any] = []
        for element in node.elts:
            inner = literal(element.value if isinstance(element, ast.Starred) else element, scope, depth + 1)
            items.extend(inner if isinstance(element, ast.Starred) and isinstance(inner, list) else [inner])
        return items
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = (literal(side, scope, depth + 1) for side in (node.left, node.right))
        return left + right if isinstance(left, list) and isinstance(right, list) else MISSING
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        if node.func.id in ("list", "set", "tuple", "sorted") and len(node.args) == 1:
            return literal(node.args[0], scope, depth + 1)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "keys":
        target = scope.names.get(node.func.value.id) if isinstance(node.func.value, ast.Name) else None
        if isinstance(target, ast.Dict):
            return [literal(key, scope, depth + 1) for key in target.keys]
    return MISSING


def _fold(node: ast.AST) -> Any:
    """Arithmetic on plain numbers, such as `64 * 1024`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _fold(node.operand)
        return MISSING if inner is MISSING else -inner
    if not isinstance(node, ast.BinOp) or type(node.op) not in OPERATORS:
        return MISSING
    left, right = _fold(node.left), _fold(node.right)
    if left is MISSING or right is MISSING or (isinstance(node.op, ast.Pow) and not 0 <= right <= 64):
        return MISSING
    return OPERATORS[type(node.op)](left, right)


def _jsonable(value: Any) -> Any:
    if isinstance(value, (set, frozenset)):
        return sorted((_jsonable(item) for item in value), key=str)
    if isinstance(value, (list, tuple)):
        return [_jsonable(item) for item in value]
    if isinstance(value, dict):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return str(value)
    return {"expr": "..."} if value is Ellipsis else value
