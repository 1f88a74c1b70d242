"""Hydra's defaults lists: from a primary config and the choices of a command line to the configs to merge, in order.

Follows hydra-core 1.3.2, hydra/_internal/defaults_list.py and core/default_element.py, with version_base 1.2 or later
(None, as verl gives it). Hydra's own groups (`hydra/launcher` and its like) are left out: they don't reach the program.
"""

from __future__ import annotations

from grpo_lint.located import Unknown, Value
from grpo_lint.patterns import lazy
from grpo_lint.syntax.hydra.config import ComposeProblem, Refused, Repository, Uncertain
from grpo_lint.syntax.hydra.interpolation import is_interpolation
from grpo_lint.syntax.hydra.resolve import Resolver

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from grpo_lint.source import Span
    from grpo_lint.syntax.hydra.config import Config
    from grpo_lint.syntax.hydra.overrides import Override

MAX_NODES = 5_000
MAX_DEPTH = 60

SELF = "_self_"
MISSING = "???"
_LEGACY = lazy(r"\${defaults\.\d\.")


class Default:
    """An item of a defaults list: a config (`group` is "") or a choice for a group.

    `value` is the config's path, the choice, several choices, or None. `source` is the override that decides it.
    """

    __slots__ = (
        "base", "deleted", "external", "group", "header", "is_override", "optional", "package", "parent_package",
        "primary", "source", "span", "value",
    )  # fmt: skip

    def __init__(self, group: str, value: str | list[str] | None, package: str | None, span: Span) -> None:
        self.group = group
        self.value = value
        self.package = "" if package == "_here_" else package
        self.span = span
        self.base = ""
        self.parent_package = ""
        self.header: str | None = None
        self.optional = self.is_override = self.external = self.primary = self.deleted = False
        self.source: Override | None = None

    @property
    def is_self(self) -> bool:
        return self.value == SELF

    @property
    def is_interpolated(self) -> bool:
        return is_interpolation(self.value if self.group else self.config_path)

    @property
    def name(self) -> str | None:
        if self.group or not isinstance(self.value, str):
            return self.value if isinstance(self.value, str) else None
        return self.value.rpartition("/")[2]

    @property
    def group_path(self) -> str:
        own = self.group or str(self.value).rpartition("/")[0]
        if own.startswith("/") or (not self.group and str(self.value).startswith("/")):
            return own.removeprefix("/")
        return f"{self.base}/{own}" if self.base and own else self.base or own

    @property
    def config_path(self) -> str:
        if self.group:
            return f"{self.group_path}/{self.name}"
        value = str(self.value)
        return value[1:] if value.startswith("/") else f"{self.base}/{value}" if self.base else value

    @property
    def hidden(self) -> bool:
        """Whether it belongs to Hydra's own configuration."""
        return f"{self.group_path}/".startswith("hydra/")

    def set_parent(self, base: str, package: str) -> None:
        self.base = base
        self.parent_package = package
        if self.package is not None and "_group_" in self.package:
            self.package = "_global_." + self.package.replace("_group_", self.group_path.replace("/", "."))

    def set_header(self, header: str | None) -> None:
        if header is None or header == "_group_":
            return
        absolute = header == "_global_" or header.startswith("_global_.")
        self.header = header if absolute else f"_global_.{header}" if header else "_global_"

    def final_package(self, with_header: bool = True) -> str:
        """Where the config's content goes, from the root."""
        package = self.package if self.package is not None or not with_header else self.header
        if package is None:
            own = self.group or str(self.value).removeprefix("/").rpartition("/")[0]
            package = own.removeprefix("/").replace("/", ".")
        joined = (
            f"{self.parent_package}.{package}" if self.parent_package and package else self.parent_package or package
        )
        at = joined.rfind("_global_")
        return joined if at < 0 else joined[at + len("_global_") + 1 :]

    @property
    def override_key(self) -> str:
        """What names this choice on a command line: `group`, or `group@package` if it isn't in its usual place."""
        final = self.final_package(with_header=False)
        if self.group_path.replace("/", ".") == final:
            return self.group_path
        return f"{self.group_path}@{final or '_global_'}"


class Node:
    __slots__ = ("children", "default", "depth", "parent")

    def __init__(self, default: Default, parent: Node | None = None) -> None:
        self.default = default
        self.parent = parent
        self.depth: int = parent.depth + 1 if parent is not None else 0
        self.children: list[Node] = []


class Load:
    """A config to merge: its path in the search path, and the package that its content goes to."""

    __slots__ = ("key", "package", "path", "primary")

    def __init__(self, path: str, package: str, key: str | None, primary: bool) -> None:
        self.path = path
        self.package = package
        self.key = key
        self.primary = primary


class Expansion:
    """One expansion. Raises Refused for what Hydra refuses, Uncertain for what can't be known."""

    def __init__(self, repository: Repository, skip_missing: bool = False) -> None:
        self.repository = repository
        self.skip_missing = skip_missing
        self.choices: dict[str, str | None] = {}
        self._keys: dict[str, set[str]] = {}  # the keys by which a group is chosen
        self._chosen: dict[str, Default] = {}  # choices of overrides, in files or on the command line
        self._used: set[str] = set()
        self._appended: list[Default] = []
        self._deletions: dict[str, Override] = {}
        self._left = MAX_NODES

    def choose(self, override: Override) -> None:
        """Takes an override of a group from the command line."""
        value = override.value
        data = value.data if value is not None else None
        span = value.span if value is not None else override.span
        if isinstance(data, Unknown):
            raise Uncertain(f"the choice of {override.target} isn't known: {data.reason}")
        if override.prefix == "++":
            self._refuse("value", f"hydra can't force-add a choice: `{override.text}`", span, override)
        if override.prefix == "~":
            if value is not None and not isinstance(data, str):
                self._refuse("value", f"{override.target} is a group: its choice is a name", span, override)
            self._deletions[override.target] = override
            return
        names: list[Any] = [item.data for item in data] if isinstance(data, list) else [data]
        if not all(isinstance(name, str) for name in names):
            unknown = next((name for name in names if isinstance(name, Unknown)), None)
            if unknown is not None:
                raise Uncertain(f"the choice of {override.target} isn't known: {unknown.reason}")
            message = f"{override.key} is a config group here: its choice is a name, not {value.raw if value else ''}"
            self._refuse("value", message, span, override)
        default = Default(override.key, names if isinstance(data, list) else names[0], override.package, span)
        default.source = override
        if override.prefix == "+":
            default.external = True
            self._appended.append(default)
        else:
            self._chosen[override.target] = default

    def run(self, name: str, span: Span) -> list[Load]:
        """The configs of a primary config, in merge order."""
        primary = Default("", name, None, span)
        primary.primary = True
        root = Node(primary)
        if self.repository.load(primary.config_path) is None:
            self._refuse("no-config", f"there is no config {name!r} in {self._searched()}", span)
        self._expand(root, False)
        loads: list[Load] = []
        self._collect(root, loads)
        seen = set()
        for load in loads:
            if load.key is not None and load.key in seen:
                self._refuse("defaults", f"{load.key} is chosen more than once in the final defaults list", span)
            seen.add(load.key)
        self._check_used()
        return loads

    def _expand(self, node: Node, interpolated: bool) -> None:
        default = node.default
        self._left -= 1
        if node.depth > MAX_DEPTH or self._left < 0:
            self._refuse(
                "defaults", f"the defaults lists around {default.config_path} include each other", default.span
            )
        if not self._is_open(default):
            return
        config = self.repository.load(default.config_path)
        if config is None:
            if default.optional:
                default.deleted = True
                return
            self._not_found(node)
            return
        items = self._items(config, default)
        self._note_overrides(items, default, interpolated)
        for item in reversed(items):
            if item.is_self:
                node.children.append(Node(item, node))
            elif not item.is_override and not item.hidden:
                self._add(item, node, default, interpolated)
        for child in node.children:
            if not child.default.is_self and child.default.is_interpolated:
                self._resolve(child.default)
                child.default.set_parent(default.group_path, default.final_package())
                self._expand(child, True)
        node.children.reverse()

    def _add(self, item: Default, node: Node, parent: Default, interpolated: bool) -> None:
        chosen = self._chosen.get(item.override_key) if item.group else None
        if chosen is not None:
            item.value, item.source, item.span = chosen.value, chosen.source, chosen.span
            self._used.add(item.override_key)
        if item.group and isinstance(item.value, list):
            for name in reversed(item.value):
                if "${" in name:
                    self._refuse("defaults", f"an interpolation can't stand in a list of choices: {name}", item.span)
                config = Default("", f"{item.group}/{name}", item.package, item.span)
                config.optional, config.source = item.optional, item.source
                config.set_parent(parent.group_path, parent.final_package())
                node.children.append(child := Node(config, node))
                self._expand(child, interpolated)
            return
        node.children.append(child := Node(item, node))
        if not item.is_interpolated:
            self._expand(child, interpolated)

    def _is_open(self, default: Default) -> bool:
        """Whether a default leads to a config; notes its choice."""
        named = default.value is not None
        if named and default.name != MISSING:
            config = self.repository.load(default.config_path)
            default.set_header(config.package if config is not None else None)
        deletion = self._deletions.get(default.override_key) if default.group else None
        if deletion is not None and (deletion.value is None or deletion.value.data == default.name):
            default.deleted = True
            self._used.add("~" + default.override_key)
            return False
        self._note_choice(default)
        if default.name == MISSING and not self.skip_missing:
            choices = ", ".join(self.repository.choices(default.group_path))
            message = f"{default.override_key} must be chosen: {choices}"
            self._refuse("no-choice", message, default.span, help=f"add `{default.override_key}=...`")
        return named and default.name != MISSING

    def _note_choice(self, default: Default) -> None:
        if not default.group:
            return
        key, name = default.override_key, default.name
        if self.choices.setdefault(key, name) != name:
            message = f"{key} is chosen twice: {self.choices[key]} and {name}"
            help = f"write `override {key}: {name}`"
            self._refuse("defaults", message, default.span, default.source, help)
        self._keys.setdefault(default.group_path, set()).add(key)

    def _items(self, config: Config, default: Default) -> list[Default]:
        items = [_default(entry, config) for entry in config.entries]
        if items or (default.primary and self._appended):
            if sum(item.is_self for item in items) > 1:
                self._refuse("defaults", f"_self_ stands twice in the defaults list of {config.path}", items[0].span)
            if not items or not (any(item.is_self for item in items) or all(item.is_override for item in items)):
                items.append(Default("", SELF, None, default.span))
        if default.primary:
            items.extend(self._appended)
        return items

    def _note_overrides(self, items: list[Default], parent: Default, interpolated: bool) -> None:
        seen: Default | None = None
        for item in items:
            if item.is_self:
                continue
            item.set_parent(parent.group_path, parent.final_package())
            if seen is not None and not (item.is_override or item.external):
                message = f"`override {seen.override_key}` must come after {item.override_key} in the defaults list"
                self._refuse("defaults", message, seen.span)
            if not item.is_override:
                continue
            seen = item
            if interpolated:
                message = f"a config that is chosen by interpolation can't override {item.override_key}"
                self._refuse("defaults", message, item.span)
            if not item.hidden:
                self._chosen.setdefault(item.override_key, item)

    def _resolve(self, default: Default) -> None:
        text = str(default.value) if default.group else default.config_path
        if _LEGACY.match(text):
            self._refuse("defaults", f"`{text}` is how hydra 1.0 wrote it", default.span)
        near = Value(text, default.span)
        choices = {key: Value(name, default.span) for key, name in self.choices.items()}
        resolver = Resolver(Value(choices, default.span))
        found = resolver.value(text, near)
        if resolver.problems:
            message = f"`{text}` in a defaults list names no group that is chosen before it"
            self._refuse("defaults", message, default.span, help=f"it can use {', '.join(self.choices)}")
        if not isinstance(found.data, str):
            reason = found.data.reason if isinstance(found.data, Unknown) else f"{text} is no name"
            raise Uncertain(reason)
        default.value = found.data

    def _collect(self, node: Node, loads: list[Load]) -> None:
        """Walks the leaves in order; a node without children stands for itself."""
        if node.children:
            for child in node.children:
                self._collect(child, loads)
            return
        default = node.default
        if default.deleted or default.name == MISSING or (default.name is None and default.value is None):
            return
        if default.is_self and node.parent is not None:
            owner = node.parent.default
            loads.append(Load(owner.config_path, owner.final_package(), None, owner.primary))
        else:
            key = default.override_key if default.group else None
            loads.append(Load(default.config_path, default.final_package(), key, default.primary))

    def _not_found(self, node: Node) -> None:
        default = node.default
        where = f"{node.parent.default.config_path}: " if node.parent is not None else ""
        if default.group:
            choices = self.repository.choices(default.group_path)
            message = f"{where}{default.group_path} has no choice {default.name!r}"
            help = f"choose one of {', '.join(choices)}" if choices else ""
            raise Refused(ComposeProblem("no-choice", message, default.span, default.source, help, choices or ()))
        self._refuse("no-config", f"{where}there is no config {default.config_path!r}", default.span, default.source)

    def _check_used(self) -> None:
        for key, chosen in self._chosen.items():
            if key in self._used:
                continue
            known = sorted(self._keys.get(key.split("@")[0], ()))
            message = f"{key} isn't in the defaults list, so hydra can't override its choice"
            help = f"did you mean {' or '.join(known)}?" if known else ""
            if chosen.source is not None and not known:
                help = f"append it with `+{chosen.source.text}`"
            span = chosen.source.key_span if chosen.source is not None else chosen.span
            self._refuse("no-group", message, span, chosen.source, help)
        for key, override in self._deletions.items():
            if "~" + key not in self._used:
                message = f"hydra can't delete {override.text[1:]}: it isn't in the defaults list"
                self._refuse("no-deletion", message, override.key_span, override)

    def _searched(self) -> str:
        return ", ".join(place.name for place in self.repository.places) or "an empty search path"

    def _refuse(self, kind: str, message: str, span: Span, override: Override | None = None, help: str = "") -> None:
        raise Refused(ComposeProblem(kind, message, span, override, help))


def _default(entry: Value, config: Config) -> Default:
    """An entry of a defaults list. Raises Refused for a shape that Hydra doesn't take."""
    if isinstance(entry.data, str):
        path, _, package = entry.data.partition("@")
        if path == SELF and "@" in entry.data:
            raise Refused(ComposeProblem("defaults", "_self_ takes no package", entry.span))
        return Default("", path, package.partition(":")[0] if "@" in entry.data else None, entry.span)
    if not isinstance(entry.data, dict) or len(entry.data) != 1:
        what = "has more than one key" if isinstance(entry.data, dict) and entry.data else "is no name and no choice"
        raise Refused(ComposeProblem("defaults", f"an item in the defaults list of {config.path} {what}", entry.span))
    ((key, value),) = entry.data.items()
    target, at, package = key.partition("@")
    *keywords, group = target.split(" ")
    data = [item.data for item in value.data] if isinstance(value.data, list) else value.data
    names = data if isinstance(data, list) else [data]
    if not all(isinstance(name, str) or (name is None and data is None) for name in names):
        raise Refused(ComposeProblem("defaults", f"the choice of {key} must be a name or a list of names", value.span))
    default = Default(group, data, package.partition(":")[0] if at else None, value.span)
    for keyword in keywords:
        if keyword not in ("optional", "override"):
            break
        default.optional |= keyword == "optional"
        default.is_override |= keyword == "override"
    return default
