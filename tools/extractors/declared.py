"""Options as argparse calls and as fields of dataclasses and pydantic models declare them.

An option is a dict: `name` as people write it, `type`, `default` (a JSON value, {"expr": text} where it is computed),
and where they apply `choices`, `aliases`, `deprecated`, `instead`, `dest`, `action`, `nargs`, `required`. `line` and
`owner` say where it was found; they aren't stored.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from extractors.literals import MISSING, Scope, literal, parse, text, words

Option = dict[str, Any]

_INSTEAD = re.compile(r"(?:[Uu]se|replaced by|in favou?r of)\s+[`'\"]?(-{0,2}[\w.\-{},=]+)")
_NEW_PARAMETER = re.compile(r"['\"]new_param['\"]:\s*['\"]([\w.]+)['\"]")


def package(root: Path, name: str) -> Path:
    """A package's directory in an unpacked wheel, an sdist or a repository. Raises SystemExit if there is none."""
    wheels = root.glob(f"*.data/purelib/{name}")
    for place in (root / name, *sorted(wheels), *sorted(root.glob(f"*/{name}")), root / "python" / name):
        if place.is_dir():
            return place
    raise SystemExit(f"no package {name} under {root}")


def nested(classes: Classes, owner: str, prefix: str = "", above: tuple[str, ...] = ()) -> Iterator[Option]:
    """The dotted options of a tree of dataclasses: a field whose annotation names a class holds that one's."""
    for leaf, field in classes.fields(owner).items():
        if leaf.startswith("_"):
            continue
        name = f"{prefix}.{leaf}" if prefix else leaf
        option = {**classes.option(field, name), "config_class": owner}
        option.pop("required", None)
        yield option
        inner = next((word for word in re.findall(r"\w+", option["type"]) if word in classes.nodes), "")
        if inner and inner != owner and inner not in above and len(above) < 5:
            yield from nested(classes, inner, name, (*above, owner))


def unique(options: Iterable[Option]) -> list[Option]:
    """The first option of each name."""
    found: dict[str, Option] = {}
    for option in options:
        found.setdefault(option["name"], option)
    return list(found.values())


def arguments(
    tree: ast.Module, scope: Scope | None = None, callables: tuple[str, ...] = ("add_argument",)
) -> list[Option]:
    """Every `x.add_argument("--name", ...)` in a module, or a call of another function of that form."""
    scope = scope or Scope.of_modules(tree)
    found = []
    for owner, call in _calls(tree, ""):
        function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        names = [name for name in map(_flag, call.args) if name.startswith("-")]
        if function in callables and names:
            found.append(_argument(call, sorted(names, key=lambda name: not name.startswith("--")), owner, scope))
    return found


def _calls(node: ast.AST, owner: str) -> Iterator[tuple[str, ast.Call]]:
    """(qualified name of the function around it, call)."""
    for child in ast.iter_child_nodes(node):
        inner = owner
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            inner = f"{owner}.{child.name}" if owner else child.name
        if isinstance(child, ast.Call):
            yield inner, child
        yield from _calls(child, inner)


def _flag(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            "{" + text(part.value) + "}" if isinstance(part, ast.FormattedValue) else words(part)
            for part in node.values
        )
    return ""


def _argument(call: ast.Call, names: list[str], owner: str, scope: Scope) -> Option:
    given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    action = words(given.get("action"))
    switch = action in ("store_true", "store_false")
    default = literal(given["default"], scope) if "default" in given else action == "store_false" if switch else None
    kind = "bool" if switch or "BooleanOptional" in action else text(given.get("type")) or action or "str"
    dest = words(given["dest"]) if "dest" in given else names[0].lstrip("-").replace("-", "_")
    option: Option = {
        "name": names[0],
        "type": kind,
        "default": default,
        "dest": dest,
        "owner": owner,
        "line": call.lineno,
    }
    if len(names) > 1:
        option["aliases"] = names[1:]
    if "choices" in given:
        option["choices"] = literal(given["choices"], scope)
    if action:
        option["action"] = action
    if "nargs" in given:
        option["nargs"] = literal(given["nargs"], scope)
    if "required" in given and literal(given["required"], scope) is True:
        option["required"] = True
    help_text = words(given.get("help"))
    if re.search(r"deprecat", f"{help_text} {action}", re.IGNORECASE):
        option["deprecated"] = True
        instead = _INSTEAD.search(help_text)
        if instead:
            option["instead"] = instead[1]
    return option


class Field:
    """A field of a class: its annotation, its default as written, and the docstring after it."""

    def __init__(self, name: str, annotation: ast.expr | None, value: ast.expr | None, line: int, owner: str) -> None:
        self.name = name
        self.annotation = annotation
        self.value = value
        self.line = line
        self.owner = owner
        self.doc = ""

    @property
    def keywords(self) -> dict[str, ast.expr]:
        """The arguments of `field(...)` or `Field(...)`."""
        if not isinstance(self.value, ast.Call):
            return {}
        return {keyword.arg: keyword.value for keyword in self.value.keywords if keyword.arg}

    @property
    def metadata(self) -> dict[str, ast.expr]:
        found = self.keywords.get("metadata")
        if not isinstance(found, ast.Dict):
            return {}
        pairs = zip(found.keys, found.values, strict=True)
        return {str(key.value): value for key, value in pairs if isinstance(key, ast.Constant)}


class Classes:
    """The classes of some modules, found by bare name; `scope` holds all their constants."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self.nodes: dict[str, ast.ClassDef] = {}
        self.files: dict[str, Path] = {}
        self.scope = Scope()
        for path in paths:
            try:
                tree = parse(path)
            except (SyntaxError, UnicodeDecodeError, FileNotFoundError):
                continue
            self.scope.names.update(Scope.of_modules(tree).names)
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef) and node.name not in self.nodes:
                    self.nodes[node.name] = node
                    self.files[node.name] = path

    def fields(self, name: str, inherit: bool = True, seen: frozenset[str] = frozenset()) -> dict[str, Field]:
        """A class's fields, its bases' first, by name."""
        if name not in self.nodes or name in seen:
            return {}
        node = self.nodes[name]
        found: dict[str, Field] = {}
        for base in reversed(node.bases) if inherit else ():
            found.update(self.fields(text(base).split(".")[-1].split("[")[0], seen=seen | {name}))
        for at, statement in enumerate(node.body):
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                if text(statement.annotation).startswith(("ClassVar", "typing.ClassVar", "InitVar")):
                    continue
                one = Field(statement.target.id, statement.annotation, statement.value, statement.lineno, name)
                following = node.body[at + 1] if at + 1 < len(node.body) else None
                one.doc = words(following.value) if isinstance(following, ast.Expr) else ""
                found[one.name] = one
            elif isinstance(statement, ast.Assign) and len(statement.targets) == 1:
                target = statement.targets[0]  # an inherited field gets another default
                if isinstance(target, ast.Name) and target.id in found:
                    old = found[target.id]
                    found[target.id] = Field(old.name, old.annotation, statement.value, statement.lineno, name)
        return found

    def default(self, one: Field) -> Any:
        """A field's default; MISSING if it must be given."""
        if not isinstance(one.value, ast.Call) or text(one.value.func).split(".")[-1] not in ("field", "Field"):
            return literal(one.value, self.scope) if one.value is not None else MISSING
        given = one.keywords
        if "default" in given:
            return literal(given["default"], self.scope)
        if "default_factory" in given:
            factory = given["default_factory"]
            if isinstance(factory, ast.Lambda):
                return literal(factory.body, self.scope)
            empty: dict[str, Any] = {"list": [], "dict": {}, "tuple": []}
            return empty.get(text(factory), {"expr": f"{text(factory)}()"})
        if one.value.args and text(one.value.func).endswith("Field"):
            found = literal(one.value.args[0], self.scope)
            return MISSING if found == {"expr": "..."} else found
        return MISSING

    def option(self, one: Field, name: str) -> Option:
        """A field as an option of the given name."""
        default = self.default(one)
        option: Option = {
            "name": name,
            "type": text(one.annotation),
            "default": default,
            "owner": one.owner,
            "line": one.line,
        }
        if default is MISSING:
            option.update(default=None, required=True)
        choices = self.choices(one.annotation) or literal(one.metadata.get("choices"), self.scope)
        if isinstance(choices, list):
            option["choices"] = choices
        alias = literal(one.keywords.get("alias"), self.scope)
        if isinstance(alias, str):
            option["aliases"] = [alias]
        return option | _deprecation(one)

    def choices(self, annotation: ast.expr | None, depth: int = 0) -> list[Any] | None:
        """The members of the Literals in an annotation, aliases resolved."""
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            try:
                annotation = ast.parse(annotation.value, mode="eval").body
            except SyntaxError:
                return None
        found: list[Any] = []
        for node in ast.walk(annotation) if annotation is not None and depth < 5 else ():
            if isinstance(node, ast.Subscript) and text(node.value).split(".")[-1] == "Literal":
                values = literal(node.slice, self.scope)
                found.extend(values if isinstance(values, list) else [values])
            elif isinstance(node, ast.Name) and isinstance(self.scope.names.get(node.id), ast.Subscript):
                found.extend(self.choices(self.scope.names[node.id], depth + 1) or [])
        return [value for at, value in enumerate(found) if value not in found[:at]] or None


def _deprecation(one: Field) -> Option:
    given = one.keywords
    marks = [text(given[key]) + key for key in ("deprecated", "json_schema_extra") if key in given]
    instead = next((match[1] for mark in marks if (match := _NEW_PARAMETER.search(mark))), "")
    told = [one.doc, *map(words, one.metadata.values())]
    if "metadata" in given and not isinstance(given["metadata"], ast.Dict):
        told.append(words(given["metadata"]))
    if any("deprecated" in mark.lower() for mark in marks) or re.search(r"deprecat", " ".join(told), re.IGNORECASE):
        return {"deprecated": True, "instead": instead} if instead else {"deprecated": True}
    return {}
