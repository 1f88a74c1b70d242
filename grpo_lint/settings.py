"""What the user asked for: settings in layers, the nearest of which wins."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, Literal

    from grpo_lint.diagnostics import Severity
    from grpo_lint.gitignore import Pattern

    Threshold = Severity | Literal["never"]

ADDING = ("ignore", "exclude", "per-file-ignores", "enforce")
"""Settings that leave something out, or keep it in: what the layers say adds up. In all others the nearest wins, in
tables key by key."""


class SettingsError(Exception):
    """A setting that can't be used; the message says which, and what to write instead."""


class Layer:
    """One place that settings come from.

    `name` is what people know it by (`grpo-lint.toml`, `--fail-on`), `values` the settings by their names in files,
    checked; `folder` is where its patterns count from.
    """

    __slots__ = ("folder", "name", "values")

    def __init__(self, name: str, folder: str, values: dict[str, Any]) -> None:
        self.name = name
        self.folder = folder
        self.values = values

    def __repr__(self) -> str:
        return f"Layer({self.name!r}, {self.values!r})"


class FilePatterns:
    """Patterns in the syntax of .gitignore, and the folder that they count from; `names` are what they are about."""

    __slots__ = ("_compiled", "folder", "names", "origin", "patterns")

    def __init__(self, folder: str, patterns: tuple[str, ...], origin: str, names: tuple[str, ...] = ()) -> None:
        self.folder = folder
        self.patterns = patterns
        self.origin = origin
        self.names = names
        self._compiled: list[Pattern] | None = None

    def match(self, path: str) -> bool:
        """Whether a file, or a folder above it, is one of those that the patterns name."""
        from grpo_lint.gitignore import excluded, parse

        real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        try:
            parts = os.path.relpath(real, self.folder).split(os.sep)
        except ValueError:  # another drive
            return False
        if parts[0] == os.pardir:
            return False
        if self._compiled is None:
            self._compiled = parse("\n".join(self.patterns))
        patterns = self._compiled
        return any(excluded(patterns, parts[:end], end < len(parts)) for end in range(1, len(parts) + 1))


class Settings:
    """The settings of one linting.

    `targets` maps a framework to the release it is linted for. `select`, `ignore` and `enforce` hold rule ids, names,
    id prefixes and topics; an empty `select` means all rules; comments can't suppress what `enforce` names. `fail_on`
    is the weakest severity that makes the exit code 1, `min_severity` the weakest that is reported. `levels` maps such
    names to a severity or "off". `include_docs` lets Markdown and notebooks count. `strict_forms` asks for the strict
    forms of rules as well. `hardware` holds what is assumed where nothing says otherwise: "gpu-memory" (GiB), "gpus"
    (per node), "nodes". `origins` says which layer a setting comes from, by its name in files.
    """

    __slots__ = (
        "enforce",
        "exclude",
        "fail_on",
        "hardware",
        "ignore",
        "include",
        "include_docs",
        "levels",
        "min_severity",
        "origins",
        "per_file_ignores",
        "profile",
        "require_reason",
        "select",
        "strict_forms",
        "targets",
    )

    def __init__(
        self,
        targets: dict[str, str] | None = None,
        select: tuple[str, ...] = (),
        ignore: tuple[str, ...] = (),
        fail_on: Threshold = "warning",
    ) -> None:
        self.targets = targets or {}
        self.select = select
        self.ignore = ignore
        self.fail_on = fail_on
        self.min_severity: Severity = "note"
        self.levels: dict[str, str] = {}
        self.per_file_ignores: tuple[FilePatterns, ...] = ()
        self.exclude: tuple[FilePatterns, ...] = ()
        self.include: tuple[FilePatterns, ...] = ()
        self.include_docs = False
        self.enforce: tuple[str, ...] = ()
        self.profile = "default"
        self.hardware: dict[str, float] = {}
        self.require_reason = False
        self.strict_forms = False
        self.origins: dict[str, str] = {}


def merge(layers: Sequence[Layer]) -> Settings:
    """The settings of some layers, the weakest first.

    A layer's `select` starts anew: what weaker layers ignore or switch off doesn't count against it.
    """
    settings = Settings()
    for layer in layers:
        values = layer.values
        if "select" in values:
            settings.select, settings.ignore = values["select"], ()
            settings.levels = {name: level for name, level in settings.levels.items() if level != "off"}
        settings.ignore += values.get("ignore", ())
        settings.enforce += values.get("enforce", ())
        for name in ("levels", "targets", "hardware"):
            if name in values:
                # a name that comes again moves to the end, where it counts as nearer
                merged = {k: v for k, v in getattr(settings, name).items() if k not in values[name]}
                setattr(settings, name, {**merged, **values[name]})
        for name in ("fail-on", "min-severity", "profile", "require-reason", "strict-forms", "include-docs"):
            if name in values:
                setattr(settings, name.replace("-", "_"), values[name])
        _merge_patterns(settings, layer)
        for name, value in values.items():
            _note_origin(settings, name, value, layer.name)
    return settings


def _merge_patterns(settings: Settings, layer: Layer) -> None:
    values = layer.values
    if "exclude" in values:
        settings.exclude += (FilePatterns(layer.folder, values["exclude"], layer.name),)
    if "include" in values:
        settings.include = (FilePatterns(layer.folder, values["include"], layer.name),)
    settings.per_file_ignores += tuple(
        FilePatterns(layer.folder, (pattern,), layer.name, names)
        for pattern, names in values.get("per-file-ignores", {}).items()
    )


def _note_origin(settings: Settings, name: str, value: Any, origin: str) -> None:
    if name in ADDING and name in settings.origins and settings.origins[name] != origin:
        origin = f"{settings.origins[name]}, {origin}"
    settings.origins[name] = origin
    if isinstance(value, dict):
        for key in value:
            settings.origins[f"{name}.{key}"] = origin


def parse_targets(texts: Iterable[str], frameworks: tuple[str, ...]) -> dict[str, str]:
    """`verl=0.9.1` arguments as {framework: release}. Raises SettingsError for anything else."""
    targets: dict[str, str] = {}
    for text in texts:
        name, equals, version = text.partition("=")
        if not equals:
            raise SettingsError(f"--target {text}: write FRAMEWORK=RELEASE, such as verl=0.9.1")
        check_target(name, version, frameworks, f"--target {text}")
        targets[name] = version
    return targets


def check_target(name: str, version: str, frameworks: tuple[str, ...], where: str) -> None:
    """Raises SettingsError for a framework that isn't known, and for what is no release."""
    if name not in frameworks:
        raise SettingsError(f"{where}: no framework is called {name!r}; known are {', '.join(frameworks)}")
    if not version[:1].isdigit():
        raise SettingsError(f"{where}: {version!r} is no release; write one such as 0.9.1")
