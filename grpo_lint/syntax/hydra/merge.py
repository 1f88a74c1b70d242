"""Merging configs and applying overrides, with OmegaConf's rules for untyped nodes.

Facts: omegaconf 2.3.1 (basecontainer.py `_map_merge`, omegaconf.py `update`) and hydra-core 1.3.2
(config_loader_impl.py `_apply_overrides_to_config`).
"""

from __future__ import annotations

from grpo_lint.located import Unknown, Value
from grpo_lint.syntax.hydra.config import ComposeProblem, Refused
from grpo_lint.syntax.hydra.interpolation import Malformed, is_interpolation, parse
from grpo_lint.syntax.hydra.primitives import Sweep
from grpo_lint.syntax.hydra.resolve import MISSING, Resolver, split_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.source import Span
    from grpo_lint.syntax.hydra.overrides import Override


class Merger:
    """Builds one tree. `shadowed` keeps, by dotted path, what a later layer replaced, oldest first."""

    def __init__(self, root: Value) -> None:
        self.root = root
        self.shadowed: dict[str, list[Value]] = {}

    def fork(self, blame: Span) -> Merger:
        """Another one with the same tree so far, for a run at another place."""
        other = Merger(Value(copy(self.root).data, blame))
        other.shadowed = {path: list(values) for path, values in self.shadowed.items()}
        return other

    def merge_at(self, package: str, body: Value) -> None:
        """Merges a config's body at its package. Raises Refused where a list meets a mapping."""
        for key in reversed(package.split(".") if package else ()):
            body = Value({key: body}, body.span)
        self._merge(self.root, body, "")

    def _merge(self, dest: Value, src: Value, path: str, override: Override | None = None) -> None:
        """Merges one mapping into another; an `override` that isn't forced may not add keys."""
        for key, value in src.data.items():
            here = f"{path}.{key}" if path else key
            old = dest.data.get(key)
            if old is None:
                if override is not None and override.prefix == "":
                    raise self._no_option(override, here)
                dest.data[key] = copy(value)
                continue
            if is_interpolation(old.data):
                target = Resolver(self.root).target(here)
                if target is not None and isinstance(target.data, (dict, list)):
                    old = dest.data[key] = copy(target)
            if isinstance(old.data, dict) and isinstance(value.data, dict):
                self._merge(old, value, here, override)
            elif isinstance(old.data, (dict, list)) and isinstance(value.data, (dict, list)):
                if type(old.data) is not type(value.data):
                    raise self._mismatch(here, value, override)
                self._set(dest, key, value, here)
            elif value.data != MISSING:
                self._set(dest, key, value, here)

    def _set(self, container: Value, key: str, value: Value, path: str) -> None:
        old = container.data.get(key) if isinstance(container.data, dict) else container.data[int(key)]
        if old is not None:
            self.shadowed.setdefault(path, []).append(old)
        container.data[key if isinstance(container.data, dict) else int(key)] = copy(value)

    def apply(self, override: Override) -> None:
        """Applies an override of an option. Raises Refused where Hydra does; the tree is then as it was."""
        if override.package is not None:
            message = f"there is no config group {override.key!r} for `{override.text}` to choose from"
            raise Refused(ComposeProblem("no-group", message, override.key_span, override))
        if override.prefix == "~":
            self._delete(override)
            return
        value = override.value
        if value is None:
            return
        _check(value, override)
        if override.prefix == "+":
            self._check_absent(override, value)
        self._update(override, value)

    def _look(self, override: Override) -> Value | None:
        """What is at the override's key, interpolations followed. Raises Refused where they lead nowhere."""
        resolver = Resolver(self.root)
        found = resolver.target(override.key)
        if resolver.problems:
            message = f"hydra can't read {override.key} to apply `{override.text}`: {resolver.problems[0].message}"
            raise Refused(ComposeProblem("interpolation", message, override.key_span, override))
        return found

    def _check_absent(self, override: Override, value: Value) -> None:
        found = self._look(override)
        if isinstance(value.data, (dict, list)):
            return
        if found is None or found.data is None or found.data == MISSING or isinstance(found.data, Unknown):
            return
        message = f"hydra refuses `{override.text}`: {override.key} is there already"
        help = "remove the +, or write ++ to set it whether it is there or not"
        raise Refused(ComposeProblem("exists", message, override.key_span, override, help))

    def _update(self, override: Override, value: Value) -> None:
        *steps, last = split_path(override.key)
        forced = override.prefix != ""
        container, path = self.root, ""
        for step in steps:
            child = _child(container, step)
            path = f"{path}.{step}" if path else step
            if child is None or not isinstance(child.data, (dict, list)):
                if not forced:  # a plain value becomes an empty mapping, to which nothing may be added
                    raise self._no_option(override, path, child)
                if isinstance(container.data, list):
                    raise self._not_in_list(override, step)
                child = Value({}, value.span, override.key_span)
                container.data[step] = child
            container = child
        old = _child(container, last)
        path = f"{path}.{last}" if path else last
        if old is None and isinstance(container.data, list):
            raise self._not_in_list(override, last)
        if old is not None and isinstance(old.data, (dict, list)) and isinstance(value.data, (dict, list)):
            if type(old.data) is not type(value.data):
                raise self._mismatch(path, value, override)
            if isinstance(old.data, dict):
                self._merge(old, value, path, override)
                return
        if old is None and not forced:
            raise self._no_option(override, path)
        self._set(container, last, value, path)

    def _delete(self, override: Override) -> None:
        found = self._look(override)
        if found is None or found.data is None or found.data == MISSING:
            message = f"hydra can't delete {override.key}: it isn't there"
            raise Refused(ComposeProblem("no-deletion", message, override.key_span, override))
        value = override.value
        if value is not None and value.data is not None and not isinstance(value.data, Unknown):
            if value.plain() != found.plain() and not isinstance(found.data, Unknown):
                message = f"hydra can't delete {override.key}: its value is {found.plain()!r}, not {value.raw}"
                raise Refused(ComposeProblem("no-deletion", message, value.span, override))
        parent, _, last = override.key.rpartition(".")
        container = Resolver(self.root).target(parent)
        if container is None or not isinstance(container.data, dict):
            raise self._not_in_list(override, last)
        self.shadowed.setdefault(override.key, []).append(container.data.pop(last))

    def _no_option(self, override: Override, path: str, found: Value | None = None) -> Refused:
        if found is None:
            message = f"hydra refuses `{override.text}`: there is no option {path}"
        else:
            message = f"hydra refuses `{override.text}`: {path} is no section but {found.raw or found.plain()!r}"
        return Refused(ComposeProblem("no-option", message, override.key_span, override))

    def _not_in_list(self, override: Override, step: str) -> Refused:
        message = f"hydra refuses `{override.text}`: {step!r} isn't in the list"
        return Refused(ComposeProblem("no-option", message, override.key_span, override))

    def _mismatch(self, path: str, value: Value, override: Override | None) -> Refused:
        what = ("a list", "a mapping") if isinstance(value.data, list) else ("a mapping", "a list")
        return Refused(ComposeProblem("value", f"{path} gets {what[0]}, but it is {what[1]}", value.span, override))


def copy(value: Value) -> Value:
    """A copy of which mappings and lists can be changed; scalars are shared."""
    data = value.data
    if isinstance(data, dict):
        data = {key: copy(child) if isinstance(child.data, _NESTED) else child for key, child in data.items()}
    elif isinstance(data, list):
        data = [copy(child) if isinstance(child.data, _NESTED) else child for child in data]
    else:
        return value
    return Value(data, value.span, value.key_span, value.raw, value.style, value.tag, value.via)


_NESTED = (dict, list)


def _child(container: Value, key: str) -> Value | None:
    if isinstance(container.data, dict):
        return container.data.get(key)
    at = int(key) if key.isdecimal() and len(key) < 10 else len(container.data)
    return container.data[at] if at < len(container.data) else None


def _check(value: Value, override: Override) -> None:
    """Refuses what OmegaConf refuses to hold: a broken interpolation, a sweep inside a list or dict."""
    data = value.data
    if isinstance(data, dict):
        for child in data.values():
            _check_inside(child, override)
    elif isinstance(data, list):
        for child in data:
            _check_inside(child, override)
    elif is_interpolation(data):
        try:
            parse(data)
        except Malformed as error:
            message = f"OmegaConf can't read `{data}`: {error.message}"
            raise Refused(ComposeProblem("interpolation", message, value.span, override)) from None


def _check_inside(value: Value, override: Override) -> None:
    if isinstance(value.data, Sweep):
        message = f"a sweep can't stand inside a list or dict: {value.raw}"
        raise Refused(ComposeProblem("sweep", message, value.span, override))
    _check(value, override)
