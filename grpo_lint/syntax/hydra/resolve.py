"""Works out interpolations in a composed tree, as OmegaConf does when the program reads the value.

    resolver = Resolver(root, functions=("mul",), environment=exported)
    resolver.get("actor.optim.lr")      # a Value without interpolations, None if there is no such option
    resolver.whole()                    # the whole tree
    resolver.problems                   # references to nothing, cycles, texts that OmegaConf can't read

What the program's own code or its surroundings decide is Unknown: resolvers other than `oc.*`, environment variables
that the caller doesn't know (our own environment is never read). `functions` names the arithmetic resolvers that the
framework is known to register. Facts: omegaconf 2.3.1 (base.py, resolvers/oc).
"""

from __future__ import annotations

from grpo_lint.located import Problem, Unknown, Value
from grpo_lint.patterns import lazy
from grpo_lint.syntax.hydra.interpolation import (
    Call,
    Element,
    Malformed,
    Reference,
    is_interpolation,
    parse,
    parse_element,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeAlias

    from grpo_lint.syntax.hydra.interpolation import Part

    Place: TypeAlias = "tuple[Value, Place | None]"

MISSING = "???"
MAX_NODES = 200_000
"""Nodes that one resolver makes: references to sections can multiply a small file."""
MAX_DEPTH = 150
"""Nested sections of a resolved value."""
MAX_HOPS = 60
"""References that lead from one to the next; OmegaConf itself overflows Python's stack at about a hundred."""

_HEAD = lazy(r"(\.)*[^.[]*")
_INDEX = lazy(r"-?[0-9]{1,9}")
_STEP = lazy(r"\.([^.[]*)|\[(.*?)\]")

ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "idiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "max": max,
    "min": min,
}


class NotAnIndex(Exception):
    """A list is asked for a key."""


def split_path(key: str) -> list[str]:
    """The keys of a path, as OmegaConf splits it: `a.b[c]` is a, b, c."""
    head = _HEAD.match(key)
    end = head.end() if head else 0
    steps = [key[:end]]
    if end < len(key) and not steps[0]:
        steps = []
    return steps + [dotted or bracketed for dotted, bracketed in _STEP.findall(key[end:])]


def _child(container: Value, key: str) -> Value | None:
    if isinstance(container.data, dict):
        return container.data.get(key)
    if not isinstance(container.data, list):
        return None
    if not _INDEX.fullmatch(key):
        raise NotAnIndex(key)
    return container.data[int(key)] if 0 <= int(key) < len(container.data) else None


class Resolver:
    """Resolves values of one tree, which must not change meanwhile."""

    def __init__(
        self,
        root: Value,
        functions: Iterable[str] = (),
        environment: Callable[[str], Value | None] | None = None,
    ) -> None:
        self.root = root
        self.problems: list[Problem] = []
        self._functions = {name: ARITHMETIC[name] for name in functions}
        self._environment = environment
        self._open: list[int] = []  # the values that are being resolved
        self._left = MAX_NODES
        self._depth = 0
        self._told: set[tuple[str, int, str]] = set()

    def get(self, path: str) -> Value | None:
        """The resolved value at a dotted path, in the place where it is written; None if nothing is there."""
        section, _, last = path.rpartition(".")
        try:
            base = self._select(section, (self.root, None))
            value = _child(base[0], last) if base is not None else None
            return None if value is None else self._deep(value, base)
        except NotAnIndex:
            return None

    def target(self, path: str) -> Value | None:
        """What is at a dotted path once interpolations on the way and at its end are followed; None if nothing is."""
        try:
            found = self._select(path, (self.root, None))
        except NotAnIndex:
            return None
        return None if found is None else found[0]

    def whole(self) -> Value:
        """A resolved copy of the tree."""
        return self._deep(self.root, None)

    def value(self, text: str, near: Value) -> Value:
        """The resolved value of a text as if it stood at the root of the tree, in the place of `near`."""
        return self._deep(Value(text, near.span, near.key_span, near.raw, near.style), (self.root, None))

    def _deep(self, value: Value, place: Place | None) -> Value:
        """A copy without interpolations; `place` is where the value stands, None for the root and computed values."""
        self._left -= 1
        self._depth += 1
        try:
            if self._left < 0 or self._depth > MAX_DEPTH:
                return self._like(value, Unknown("what it refers to is too large"))
            if is_interpolation(value.data) and place is not None:
                found, at = self._follow(value, place)
                return self._moved(value, self._deep(found, at) if at is not None else found)
            here = (value, place)
            if isinstance(value.data, dict):
                return self._like(value, {key: self._deep(child, here) for key, child in value.data.items()})
            if isinstance(value.data, list):
                return self._like(value, [self._deep(child, here) for child in value.data])
            return value
        finally:
            self._depth -= 1

    def _follow(self, value: Value, place: Place | None) -> tuple[Value, Place | None]:
        """What an interpolation stands for, and where that stands; None if it stands nowhere in the tree."""
        if id(value) in self._open:
            return self._fail(value, f"`{value.data}` refers to itself"), None
        if len(self._open) >= MAX_HOPS:
            return self._like(value, Unknown(f"`{value.data}` leads on too many times")), None
        self._open.append(id(value))
        try:
            parts = parse(value.data)
            if len(parts) == 1 and isinstance(parts[0], Reference):
                return self._reference(parts[0], value, place)
            return self._join(parts, value, place), None
        except Malformed as error:
            return self._fail(value, f"OmegaConf can't read `{value.data}`: {error.message}"), None
        except NotAnIndex as error:
            return self._fail(value, f"`{value.data}` asks a list for {error}"), None
        finally:
            self._open.pop()

    def _part(self, part: Part, value: Value, place: Place | None) -> Value:
        if isinstance(part, Reference):
            found, at = self._reference(part, value, place)
            return self._deep(found, at)
        if isinstance(part, Call):
            return self._call(part, value, place)
        return self._like(value, part)

    def _join(self, parts: list[Part], value: Value, place: Place | None, quoted: bool = False) -> Value:
        """A single interpolation keeps its type (unless quoted); several parts make text."""
        found = [self._part(part, value, place) for part in parts]
        if len(found) == 1 and not quoted:
            return found[0]
        for piece in found:
            if isinstance(piece.data, Unknown):
                return self._like(value, piece.data)
            if isinstance(piece.data, (dict, list)):
                return self._like(value, Unknown(f"`{value.data}` puts a whole section into text"))
        return self._like(value, "".join(str(piece.data) for piece in found))

    def _name(self, parts: list[Part], value: Value, place: Place | None) -> Value:
        """The text of a key or of a resolver's name; what is interpolated into it must be text."""
        names = []
        for part in parts:
            found = self._part(part, value, place)
            if isinstance(found.data, Unknown):
                return found
            if not isinstance(found.data, str):
                return self._fail(value, f"`{value.data}` uses {found.plain()!r} as a name, which isn't text")
            names.append(found.data)
        return self._like(value, "".join(names))

    def _reference(self, part: Reference, value: Value, place: Place | None) -> tuple[Value, Place | None]:
        key = self._name(part.parts, value, place)
        if not isinstance(key.data, str):
            return key, None
        path = key.data.lstrip(".")
        found = self._lookup(key.data, place)
        if found is None:
            return self._fail(value, f"`{value.data}` refers to {path}, which doesn't exist"), None
        target, at = found
        if target.data == MISSING:
            return self._fail(value, f"`{value.data}` refers to {path}, which has no value yet (???)"), None
        up = place
        while up is not None:
            if up[0] is target:
                return self._fail(value, f"`{value.data}` refers to a section that it is in"), None
            up = up[1]
        return target, at

    def _select(self, path: str, base: Place) -> tuple[Value, Place | None] | None:
        """The value at a path below a place, interpolations on the way followed, and where it stands."""
        if not path:
            return base[0], base[1]
        found: tuple[Value, Place | None] = base
        for key in split_path(path):
            container, _ = found
            if isinstance(container.data, Unknown):
                return found
            child = _child(container, key)
            if child is None:
                return None
            found = (child, found)
            if is_interpolation(child.data):
                target, at = self._follow(child, found[1])
                found = (self._moved(child, target) if at is None else target, at)
        return found

    def _call(self, call: Call, value: Value, place: Place | None) -> Value:
        name = self._name(call.name, value, place)
        if not isinstance(name.data, str):
            return name
        args = [self._element(arg, value, place) for arg in call.args]
        unknown = next((arg.data for arg in args if isinstance(arg.data, Unknown)), None)
        if unknown is not None:
            return self._like(value, unknown)
        known = {
            "oc.env": self._env,
            "oc.select": self._oc_select,
            "oc.decode": self._decode,
            "oc.create": self._create,
            "oc.deprecated": self._oc_deprecated,
            "oc.dict.keys": self._keys,
            "oc.dict.values": self._values,
        }
        if name.data in known:
            if not args or len(args) > 2:
                return self._fail(value, f"`{value.data}`: {name.data} doesn't take {len(args)} arguments")
            return known[name.data](args, value, place)
        if name.data in self._functions:
            return self._compute(name.data, args, value)
        return self._like(value, Unknown(f"`{value.data}`: what {name.data} gives isn't known before the run"))

    def _element(self, element: Element, value: Value, place: Place | None) -> Value:
        if element.kind == "scalar":
            return self._like(value, element.parts[0])
        if element.kind in ("text", "quoted"):
            return self._join(element.parts, value, place, element.kind == "quoted" or len(element.parts) != 1)
        if element.kind == "list":
            return self._like(value, [self._element(item, value, place) for item in element.parts])
        entries = {}
        for key, item in element.parts:
            name = self._element(key, value, place).data
            entries[name if isinstance(name, str) else str(name)] = self._element(item, value, place)
        return self._like(value, entries)

    def _env(self, args: list[Value], value: Value, place: Place | None) -> Value:
        name = str(args[0].data)
        known = self._environment(name) if self._environment is not None else None
        if known is not None:
            return known
        if len(args) == 1:
            return self._like(value, Unknown(f"the environment variable {name}"))
        default = args[1].data
        return self._like(value, default if default is None else str(default))

    def _lookup(self, key: str, place: Place | None) -> tuple[Value, Place | None] | None:
        """What a key names that is given as text: from the root, or with leading dots from the place."""
        base: Place | None = place if key.startswith(".") else (self.root, None)
        path = key.removeprefix(".")
        while path.startswith(".") and base is not None:
            path, base = path[1:], base[1]
        return self._select(path, base) if base is not None else None

    def _oc_select(self, args: list[Value], value: Value, place: Place | None) -> Value:
        key = args[0].data
        if not isinstance(key, str):
            return self._fail(value, f"`{value.data}`: oc.select needs a key")
        found = self._lookup(key, place)
        if found is None or found[0].data == MISSING:
            return args[1] if len(args) > 1 else self._like(value, None)
        return self._deep(*found)

    def _decode(self, args: list[Value], value: Value, place: Place | None) -> Value:
        text = args[0].data
        if text is None:
            return args[0]
        if not isinstance(text, str):
            return self._fail(value, f"`{value.data}`: oc.decode needs text")
        try:
            return self._element(parse_element(text), value, place)
        except Malformed as error:
            return self._fail(value, f"`{value.data}`: oc.decode can't read {text!r}: {error.message}")

    def _create(self, args: list[Value], value: Value, place: Place | None) -> Value:
        if isinstance(args[0].data, (dict, list)):
            return args[0]
        return self._like(value, Unknown(f"`{value.data}`: oc.create makes it from text"))

    def _oc_deprecated(self, args: list[Value], value: Value, place: Place | None) -> Value:
        found = self._select(str(args[0].data), (self.root, None))
        if found is None:
            return self._fail(value, f"`{value.data}` refers to {args[0].data}, which doesn't exist")
        return self._deep(*found)

    def _section(self, args: list[Value], value: Value, place: Place | None) -> tuple[Value, Place | None]:
        found = self._lookup(str(args[0].data), place)
        if found is None:
            return self._fail(value, f"`{value.data}` refers to {args[0].data}, which doesn't exist"), None
        if not isinstance(found[0].data, (dict, Unknown)):
            return self._fail(value, f"`{value.data}`: {args[0].data} is no section"), None
        return found

    def _keys(self, args: list[Value], value: Value, place: Place | None) -> Value:
        found, _ = self._section(args, value, place)
        if not isinstance(found.data, dict):
            return found
        return self._like(value, [self._like(value, key) for key in found.data])

    def _values(self, args: list[Value], value: Value, place: Place | None) -> Value:
        found = self._deep(*self._section(args, value, place))
        return self._like(value, list(found.data.values())) if isinstance(found.data, dict) else found

    def _compute(self, name: str, args: list[Value], value: Value) -> Value:
        numbers = [arg.data for arg in args]
        if len(numbers) == 2 and all(type(number) in (int, float) for number in numbers):
            try:
                return self._like(value, self._functions[name](*numbers))
            except (ArithmeticError, ValueError):
                pass
        return self._like(value, Unknown(f"`{value.data}`: {name} can't be worked out"))

    def _fail(self, value: Value, message: str) -> Value:
        told = (value.span.file.path, value.span.start, str(value.data))
        if told not in self._told:
            self._told.add(told)
            self.problems.append(Problem(message, value.span))
        return self._like(value, Unknown(message))

    def _like(self, value: Value, data: Any) -> Value:
        """New data in the place of a value."""
        return Value(data, value.span, value.key_span, value.raw, value.style, value.tag, value.via)

    def _moved(self, value: Value, found: Value) -> Value:
        """What was found, in the place of the interpolation that led there."""
        via = value.via if found.span == value.span else (*value.via, found.span, *found.via)
        return Value(found.data, value.span, value.key_span, value.raw, value.style, value.tag, via)
