"""The settings that a file may hold: what each means, and what it may be. The JSON schema is made from this table."""

from __future__ import annotations

import math

from grpo_lint.nearest import suggestion
from grpo_lint.run import FRAMEWORKS
from grpo_lint.selection import meant, unknown
from grpo_lint.settings import SettingsError, check_target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Sized = TypeVar("Sized", list[Any], dict[str, Any])
    Where = Callable[..., str]
    Check = Callable[[Any, Where, tuple[str, ...]], Any]

MAX_ENTRIES = 1_000
"""Of a list or table: each pattern and name costs time for each file, and settings may be a stranger's."""

SEVERITIES = ("note", "warning", "error")


class Option:
    """A setting: the kind of value it takes, its default as TOML, and what it does. `choices` are the words allowed."""

    __slots__ = ("choices", "default", "help", "kind")

    def __init__(self, kind: str, default: str, help: str, choices: tuple[str, ...] = ()) -> None:
        self.kind = kind
        self.default = default
        self.help = help
        self.choices = choices


OPTIONS = {
    "extend": Option("text", "", "Another settings file of the repository that holds where this one says nothing."),
    "profile": Option("text", '"default"', "A named set of settings: default, strict, or one of `profiles`."),
    "select": Option("rules", "[]", "Judge by these rules only: ids, names, prefixes of ids, topics."),
    "ignore": Option("rules", "[]", "Leave these rules out."),
    "levels": Option("levels", "{}", "The severity of rules, or off.", (*SEVERITIES, "off")),
    "per-file-ignores": Option("per-file", "{}", "Rules that don't count in the files that a pattern matches."),
    "enforce": Option("rules", "[]", "Rules that a comment can't suppress."),
    "strict-forms": Option("flag", "false", "Judge by the strict forms of rules as well."),
    "require-reason": Option("flag", "false", "Report a suppressing comment that gives no reason."),
    "fail-on": Option("choice", '"warning"', "The weakest severity that fails the linting.", (*SEVERITIES, "never")),
    "min-severity": Option("choice", '"note"', "The weakest severity that is reported.", SEVERITIES),
    "exclude": Option("patterns", "[]", "Files and folders to leave out, as .gitignore writes them."),
    "include": Option("patterns", "[]", "When given, only files that one of these patterns matches are linted."),
    "include-docs": Option("flag", "false", "Lint the commands and configs in Markdown and in notebooks as well."),
    "targets": Option("targets", "{}", 'The release that each framework runs at, such as verl = "0.9.1".'),
    "hardware": Option("hardware", "{}", "The machines that runs are meant for, where their files don't say."),
    "profiles": Option("profiles", "{}", "Profiles of your own by name, each a table of settings."),
}
_NOT_IN_PROFILES = ("extend", "profile", "profiles", "per-file-ignores", "exclude", "include", "include-docs")
PROFILE_OPTIONS = {
    "extend": Option("text", "", "Another profile that holds where this one says nothing."),
    "description": Option("text", "", "What the profile is for."),
    **{name: option for name, option in OPTIONS.items() if name not in _NOT_IN_PROFILES},
}
HARDWARE = {
    "gpu-memory": Option("number", "", "Memory of one GPU in GiB."),
    "gpus": Option("count", "", "GPUs of a node."),
    "nodes": Option("count", "", "Nodes."),
}


def check(table: dict[str, Any], where: Where, options: dict[str, Option] = OPTIONS) -> dict[str, Any]:
    """A table of settings with its values checked and lists made tuples; `where(keys, item)` names a place in messages.

    Raises SettingsError for a setting that doesn't exist, with the one that may have been meant, and for a wrong value.
    """
    return {name: _check(name, value, where, options, ()) for name, value in table.items()}


def _check(name: str, value: Any, where: Where, options: dict[str, Option], path: tuple[str, ...]) -> Any:
    option, keys = options.get(name), (*path, name)
    if option is None:
        near = suggestion(name.replace("_", "-"), options, "known are " + ", ".join(options))
        raise SettingsError(f"{where(keys)}: no such setting{near}")
    if option.choices and option.kind == "choice":
        return _choice(value, option.choices, where, keys)
    return _CHECKS[option.kind](value, where, keys)


def _wrong(value: Any, want: str, where: Where, keys: tuple[str, ...]) -> SettingsError:
    text = repr(value)
    return SettingsError(f"{where(keys)} is {text if len(text) <= 60 else text[:57] + '...'}: write {want}")


def _choice(value: Any, choices: tuple[str, ...], where: Where, keys: tuple[str, ...]) -> str:
    if isinstance(value, str) and value in choices:
        return value
    want = f"{', '.join(choices[:-1])} or {choices[-1]}"
    near = suggestion(value, choices, "") if isinstance(value, str) else ""
    raise _wrong(value, want + near.removesuffix("; "), where, keys)


def _text(value: Any, where: Where, keys: tuple[str, ...]) -> str:
    if not isinstance(value, str) or not value:
        raise _wrong(value, "a text", where, keys)
    return value


def _flag(value: Any, where: Where, keys: tuple[str, ...]) -> bool:
    if not isinstance(value, bool):
        raise _wrong(value, "true or false", where, keys)
    return value


def _number(value: Any, where: Where, keys: tuple[str, ...]) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
        raise _wrong(value, "a number above 0", where, keys)
    return value


def _count(value: Any, where: Where, keys: tuple[str, ...]) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise _wrong(value, "a whole number above 0", where, keys)
    return value


def _texts(value: Any, where: Where, keys: tuple[str, ...], example: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise _wrong(value, f"a list of texts, such as {example}", where, keys)
    return tuple(_bounded(value, where, keys))


def _patterns(value: Any, where: Where, keys: tuple[str, ...]) -> tuple[str, ...]:
    return _texts(value, where, keys, '["third_party/"]')


def _rules(value: Any, where: Where, keys: tuple[str, ...]) -> tuple[str, ...]:
    names = _texts(value, where, keys, '["NOT07", "kl"]')
    for name in names:
        if not meant(name):
            raise unknown(name, where(keys, name))
    return names


def _table(value: Any, where: Where, keys: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _wrong(value, "a table", where, keys)
    return _bounded(value, where, keys)


def _bounded(value: Sized, where: Where, keys: tuple[str, ...]) -> Sized:
    if len(value) > MAX_ENTRIES:
        raise SettingsError(f"{where(keys)} has {len(value):,} entries, more than {MAX_ENTRIES:,}")
    return value


def _per_file(value: Any, where: Where, keys: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    table = _table(value, where, keys)
    return {pattern: _rules(names, where, (*keys, pattern)) for pattern, names in table.items()}


def _levels(value: Any, where: Where, keys: tuple[str, ...]) -> dict[str, str]:
    levels: dict[str, str] = {}
    for name, level in _table(value, where, keys).items():
        if not meant(name):
            raise unknown(name, where((*keys, name)))
        levels[name] = _choice(level, OPTIONS["levels"].choices, where, (*keys, name))
    return levels


def _targets(value: Any, where: Where, keys: tuple[str, ...]) -> dict[str, str]:
    for name, version in _table(value, where, keys).items():
        text = _text(version, where, (*keys, name))
        check_target(name, text, FRAMEWORKS, where((*keys, name)))
    return dict(value)


def _hardware(value: Any, where: Where, keys: tuple[str, ...]) -> dict[str, float]:
    return {name: _check(name, v, where, HARDWARE, keys) for name, v in _table(value, where, keys).items()}


def _profiles(value: Any, where: Where, keys: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    return {
        name: {
            key: _check(key, setting, where, PROFILE_OPTIONS, (*keys, name))
            for key, setting in _table(profile, where, (*keys, name)).items()
        }
        for name, profile in _table(value, where, keys).items()
    }


_CHECKS: dict[str, Check] = {
    "text": _text,
    "flag": _flag,
    "number": _number,
    "count": _count,
    "rules": _rules,
    "patterns": _patterns,
    "per-file": _per_file,
    "levels": _levels,
    "targets": _targets,
    "hardware": _hardware,
    "profiles": _profiles,
}
