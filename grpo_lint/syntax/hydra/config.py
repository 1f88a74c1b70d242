"""Config files as Hydra sees them, and the search path that they are found on."""

from __future__ import annotations

import posixpath

from grpo_lint.located import Problem, Value
from grpo_lint.patterns import lazy
from grpo_lint.source import SourceFile, Span
from grpo_lint.syntax.hydra.interpolation import Malformed, is_interpolation, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

_HEADER = lazy(r"\s*#\s*@")


class ComposeProblem(Problem):
    """What Hydra refuses. `override` is the command-line override that causes it, where one does, `choices` what may
    stand in its place.

    `kind` is one of
    - "syntax": the override breaks the grammar; "sweep": it sweeps, without --multirun;
    - "no-option": it sets an option that isn't there, without `+`; "exists": `+` on one that is there;
    - "no-deletion": `~` of one that isn't there, or has another value;
    - "no-group": it chooses for a group that isn't in the defaults list; "no-choice": the group lacks that choice;
    - "value": a group is given no name, or a list meets a mapping;
    - "no-config": a config that a defaults list or the command line names isn't there;
    - "defaults": a defaults list breaks a rule; "header": a `# @package` line does;
    - "interpolation": an interpolation that OmegaConf can't read.
    """

    __slots__ = ("choices", "kind", "override")

    def __init__(
        self,
        kind: str,
        message: str,
        span: Span,
        override: Any = None,
        help: str = "",
        choices: Sequence[str] = (),
    ) -> None:
        super().__init__(message, span, help)
        self.kind = kind
        self.override = override
        self.choices = choices

    def __repr__(self) -> str:
        return f"ComposeProblem({self.kind}, {self.message!r})"


class Refused(Exception):
    """Hydra stops composing."""

    def __init__(self, problem: ComposeProblem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class Uncertain(Exception):
    """What is composed can't be known; the message says why."""


class Config:
    """A config: the `entries` of its defaults list, the rest as `body`, and the package that its header names."""

    __slots__ = ("body", "entries", "file", "package", "path")

    def __init__(
        self, path: str, file: SourceFile, body: Value, entries: list[Value], package: str | None = None
    ) -> None:
        self.path = path
        self.file = file
        self.body = body
        self.entries = entries
        self.package = package

    def __repr__(self) -> str:
        return f"Config({self.path!r})"


class Folder:
    """A directory on the search path, read through the caller's functions; paths are POSIX, joined to `root`.

    `load` gives the file at a path, or None; `names` the names in a directory, or None where there is none.
    """

    def __init__(
        self, root: str, load: Callable[[str], SourceFile | None], names: Callable[[str], list[str] | None]
    ) -> None:
        self.name = root
        self._root = root
        self._load = load
        self._names = names

    def config(self, path: str) -> Config | None:
        """The config at a path such as "db/mysql". Raises Refused and Uncertain for a file that can't be read."""
        name = path if path.endswith(".yaml") else f"{path}.yaml"
        source = self._load(posixpath.normpath(posixpath.join(self._root, name)))
        return None if source is None else read_config(source, path)

    def choices(self, group: str) -> list[str] | None:
        """The configs of a group, None if there is no such directory."""
        names = self._names(posixpath.normpath(posixpath.join(self._root, group)))
        return None if names is None else sorted(name[:-5] for name in names if name.endswith(".yaml"))


class Packaged:
    """A framework's own configs, from our tables: {path: {"body", "defaults", "package"}}.

    They have no text to point to: their spans are empty, in a file whose path starts with `label` ("verl 0.9.1:
    trainer/config").
    """

    def __init__(self, label: str, configs: dict[str, dict[str, Any]]) -> None:
        self.name = label
        self._configs = configs
        self._read: dict[str, Config] = {}
        self._groups: dict[str, list[str]] = {"": []}
        for path in configs:
            group, _, name = path.rpartition("/")
            self._groups.setdefault(group, []).append(name)

    def config(self, path: str) -> Config | None:
        path = posixpath.normpath(path.removesuffix(".yaml"))
        entry = self._configs.get(path)
        if entry is None:
            return None
        if path not in self._read:
            file = SourceFile(f"{self.name}/{path}.yaml", "")
            body = _packaged(entry.get("body", {}), file.span(0, 0))
            entries = [_packaged(item, file.span(0, 0)) for item in entry.get("defaults", ())]
            self._read[path] = Config(path, file, body, entries, entry.get("package"))
        return self._read[path]

    def choices(self, group: str) -> list[str] | None:
        return self._groups.get(posixpath.normpath(group) if group else "")


def _packaged(data: Any, span: Span) -> Value:
    if isinstance(data, dict):
        data = {key: _packaged(child, span) for key, child in data.items()}
    elif isinstance(data, list):
        data = [_packaged(child, span) for child in data]
    return Value(data, span)


class Repository:
    """The search path: the first place that has a config wins. `gaps` are places that couldn't be looked into."""

    def __init__(self, places: list[Folder | Packaged], gaps: list[str]) -> None:
        self.places = places
        self.gaps = gaps
        self.used: list[Config] = []
        self._cache: dict[str, Config | None] = {}

    def load(self, path: str) -> Config | None:
        """The config at a path. Raises Uncertain where it isn't found but a place couldn't be looked into."""
        if path not in self._cache:
            found = next((config for place in self.places if (config := place.config(path)) is not None), None)
            self._cache[path] = found
            if found is not None:
                self.used.append(found)
        if self._cache[path] is None and self.gaps:
            raise Uncertain(f"{path} may be in {self.gaps[0]}, which isn't at hand")
        return self._cache[path]

    def forget_missing(self) -> None:
        """Looks again for what wasn't found, since places were added; what was found stays as it was."""
        self._cache = {path: config for path, config in self._cache.items() if config is not None}

    def is_group(self, path: str) -> bool:
        return bool(path) and any(place.choices(path) is not None for place in self.places)

    def choices(self, group: str) -> list[str]:
        return sorted({name for place in self.places for name in place.choices(group) or ()})


def read_config(source: SourceFile, path: str) -> Config:
    """A config from its text. Raises Refused for what only Hydra refuses, Uncertain for text that isn't YAML."""
    root = read_document(source)
    package = _header_package(source)
    if root is None:
        return Config(path, source, Value({}, source.span(0, 0)), [], package)
    body = Value(dict(root.data), root.span, style=root.style)
    defaults = body.data.pop("defaults", None)
    if defaults is None:
        return Config(path, source, body, [], package)
    if not isinstance(defaults.data, list):
        message = f"defaults must be a list in {source.path}"
        raise Refused(ComposeProblem("defaults", message, defaults.span, help="write it as a list: `- name`"))
    return Config(path, source, body, defaults.data, package)


def read_document(source: SourceFile) -> Value | None:
    """The mapping that OmegaConf loads from a file, None from an empty one. Raises Refused and Uncertain likewise."""
    from grpo_lint.syntax import yaml

    documents = yaml.read(source, "omegaconf")
    root = documents[0].root
    if len(documents) > 1 or any(problem.fatal for document in documents for problem in document.problems):
        raise Uncertain(f"{source.path} can't be read")
    if root is None or root.data is None:
        return None
    if not isinstance(root.data, dict):
        raise Refused(ComposeProblem("value", f"{source.path} is no mapping, so hydra can't compose it", root.span))
    _check_interpolations(root)
    return root


def _header_package(source: SourceFile) -> str | None:
    """The package of a `# @package name` line; only the lines before any other line count."""
    package, at = None, 0
    for line in source.text.splitlines(keepends=True):
        text = line.strip()
        if text and not _HEADER.match(text):
            break
        words = text.lstrip("#").strip().split(" ")
        words = [word for word in words if word]
        if text and len(words) != 2:
            start = at + line.index(text)
            message = f"hydra reads `{text}` as a header and expects a key and a value"
            raise Refused(ComposeProblem("header", message, source.span(start, start + len(text))))
        if text and words[0] == "@package":
            package = words[1].strip()
        at += len(line)
    return package


def _check_interpolations(value: Value) -> None:
    """Raises Refused at the first text that OmegaConf can't read as an interpolation; it does so on loading a file."""
    if isinstance(value.data, (dict, list)):
        for child in value.data.values() if isinstance(value.data, dict) else value.data:
            _check_interpolations(child)
    elif is_interpolation(value.data):
        try:
            parse(value.data)
        except Malformed as error:
            message = f"OmegaConf can't read `{value.data}`: {error.message}"
            raise Refused(ComposeProblem("interpolation", message, value.span)) from None
