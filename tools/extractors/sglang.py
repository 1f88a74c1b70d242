"""SGLang: the flags of launch_server, in each of the layouts that its releases have used.

`ServerArgs` with hand-written `add_argument` calls (up to 0.5.x), then fields annotated `A[type, Arg(...)]`, first on
ServerArgs itself, later in srt/arg_groups/fields/*.py.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from extractors.declared import Classes, Field, Option, arguments, package, unique
from extractors.literals import MISSING, literal, parse, text, words


def options(root: Path) -> list[Option]:
    top = package(root, "sglang") / "srt"
    server = top / "server_args.py"
    classes = Classes([server, *sorted((top / "arg_groups").rglob("*.py"))])
    found = list(_annotated_fields(classes))
    fields = classes.fields("ServerArgs")
    for option in arguments(parse(server), classes.scope):
        field = fields.get(option["dest"])
        written = option["default"].get("expr", "") if isinstance(option["default"], dict) else ""
        declared = written.startswith("_declared_default")
        if field is not None and (declared or written.startswith("ServerArgs.") or option["default"] is None):
            option["default"] = _default(classes, field)
        elif declared:
            option["default"] = _declared_default(classes, option["dest"], option["default"])
        if field is not None and option["type"] in ("str", "bool"):
            option["type"] = text(field.annotation)
        found.append(option)
    return unique(found)


def _default(classes: Classes, field: Field) -> object:
    value = classes.default(field)
    return None if value is MISSING else value


def _declared_default(classes: Classes, name: str, otherwise: object) -> object:
    fields = (classes.fields(owner, inherit=False).get(name) for owner in classes.nodes)
    return next((_default(classes, field) for field in fields if field is not None), otherwise)


def _annotated_fields(classes: Classes) -> Iterator[Option]:
    for owner, path in classes.files.items():
        if owner == "ServerArgs" or path.parent.name == "fields":
            for field in classes.fields(owner, inherit=False).values():
                option = _annotated(classes, field)
                if option is not None:
                    yield option


def _annotated(classes: Classes, field: Field) -> Option | None:
    """`name: A[type, "help"]` or `name: A[type, Arg(...)]`; None for any other annotation."""
    annotation = field.annotation
    if not isinstance(annotation, ast.Subscript) or text(annotation.value).split(".")[-1] not in ("A", "Annotated"):
        return None
    inner, *marks = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
    mark = next((one for one in marks if _is_mark(one)), None)
    if mark is None or (isinstance(mark, ast.Call) and text(mark.func).endswith("Derived")):
        return None
    given = {key.arg: key.value for key in mark.keywords if key.arg} if isinstance(mark, ast.Call) else {}
    default = classes.default(field)
    option: Option = {
        "name": literal(given["cli_name"], classes.scope)
        if "cli_name" in given
        else f"--{field.name.replace('_', '-')}",
        "aliases": literal(given.get("aliases"), classes.scope),
        "dest": field.name,
        "type": text(inner),
        "default": None if default is MISSING else default,
        "choices": literal(given["choices"], classes.scope) if "choices" in given else classes.choices(inner),
    }
    if default is MISSING:
        option["required"] = True
    for key, name in (("no_cli", "no_cli"), ("resolvable", "resolved_at_start")):
        if literal(given.get(key)) is True:
            option[name] = True
    if "fallback" in given:
        option["fallback"] = literal(given["fallback"], classes.scope)
    if "action" in given:
        option["action"] = text(given["action"])
    return option | _deprecated(mark, given)


def _is_mark(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return text(node.func).endswith(("Arg", "Derived"))
    return isinstance(node, (ast.Constant, ast.JoinedStr, ast.BinOp))


def _deprecated(mark: ast.expr, given: dict[str, ast.expr]) -> Option:
    first = mark.args[0] if isinstance(mark, ast.Call) and mark.args else None if isinstance(mark, ast.Call) else mark
    told = (words(given.get("help")) or words(first)) + text(given.get("action"))
    return {"deprecated": True} if "deprecat" in told.lower() else {}
