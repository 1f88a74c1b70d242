"""Reads settings files: TOML of untrusted repositories, with the line of what is wrong."""

from __future__ import annotations

import os
import re
import sys

from grpo_lint.discover import shown
from grpo_lint.settings import Layer, SettingsError
from grpo_lint.settings_values import PROFILE_OPTIONS, check
from grpo_lint.source import Unreadable, decode, read_bytes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from grpo_lint.discover import Repository

MAX_BYTES = 256 * 1024
MAX_DOTS = 100
"""Dots of a line outside of quotes: the parser's memory grows with the square of a key's parts."""
MAX_KEY = 300
"""Characters at the start of a line in which a key is looked for, to name its line."""
MAX_EXTENDED = 16
"""Files that extend one another; nobody needs more, and reading must end."""
TABLE = ("tool", "grpo-lint")
PROFILES = os.path.join(os.path.dirname(__file__), "knowledge", "profiles")

_HEADER = re.compile(r"\s*\[([^\[\]]+)\]")
_TOKEN = re.compile(r"""\\.|["'.]""")
_PART = re.compile(r""""((?:[^"\\]|\\.)*)"|'([^']*)'|([A-Za-z0-9_-]+)""")


def layers(path: str, repository: Repository) -> list[Layer]:
    """The layers of a settings file, those that it extends first; none for a pyproject.toml that has no table of ours.

    Raises SettingsError for a file that can't be used.
    """
    found: list[Layer] = []
    seen: list[str] = []
    while True:
        real = os.path.realpath(path)
        if real in seen or len(seen) == MAX_EXTENDED:
            chain = " -> ".join(shown(one) for one in (*seen, real))
            raise SettingsError(f"{shown(path)}: settings files extend one another without end: {chain}")
        seen.append(real)
        layer = _layer(path, real)
        if layer is None and len(seen) > 1:
            raise SettingsError(f"{shown(path)}: it is extended, but has no table [tool.grpo-lint]")
        if layer is None:
            return []
        found.insert(0, layer)
        extended = layer.values.pop("extend", None)
        if extended is None:
            return found
        path = _extended(extended, path, repository)


def _extended(name: str, path: str, repository: Repository) -> str:
    """Where the file lies that another one extends: always within the repository."""
    target = os.path.join(os.path.dirname(path), name)
    where = f"{shown(path)}: extend"
    if "\0" in name or not repository.holds(os.path.realpath(target)):
        raise SettingsError(f"{where} = {name!r} leads out of the repository ({shown(repository.root)})")
    if not os.path.isfile(target):
        raise SettingsError(f"{where} = {name!r}: there is no such file")
    return target


def _layer(path: str, real: str) -> Layer | None:
    name = shown(path)
    ours = os.path.basename(path) != "pyproject.toml"
    try:
        data = read_bytes(real, MAX_BYTES)
        if not ours and b"grpo-lint" not in data:
            return None
        text = decode(data)
    except Unreadable as error:
        raise SettingsError(f"{name}: {error}") from None
    table: Any = parse(text, name)
    if not ours:
        tool = table.get("tool")
        table = tool.get("grpo-lint") if isinstance(tool, dict) else None
        if table is None:
            return None
        if not isinstance(table, dict):
            raise SettingsError(f"{name}: tool.grpo-lint is no table")
    return Layer(name, os.path.dirname(real), check(table, _Places(name, text, () if ours else TABLE)))


def parse(text: str, name: str) -> dict[str, Any]:
    """A TOML text as plain data. Raises SettingsError, with line and column, for what is no TOML."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > MAX_DOTS and _dots(line) > MAX_DOTS:
            raise SettingsError(f"{name}:{number}: more than {MAX_DOTS} dots outside of quotes")
    try:
        table: dict[str, Any] = tomllib.loads(text)
        return table
    except RecursionError:
        raise SettingsError(f"{name}: nested too deeply") from None
    except ValueError as error:
        message = str(error).rstrip(".")
        place = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", message, re.DOTALL)
        if place is not None:
            name, message = f"{name}:{place[2]}:{place[3]}", place[1]
        raise SettingsError(f"{name}: not valid TOML: {message[:1].lower()}{message[1:]}") from None


def profile(name: str) -> dict[str, Any] | None:
    """The values of a profile that comes with the linter; None when there is none of that name."""
    path = os.path.join(PROFILES, f"{name}.toml")
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) or not os.path.isfile(path):
        return None
    text = decode(read_bytes(path))
    return check(parse(text, path), _Places(path, text, ()), PROFILE_OPTIONS)


def profile_names() -> list[str]:
    return ["default", *sorted(name[: -len(".toml")] for name in os.listdir(PROFILES) if name.endswith(".toml"))]


class _Places:
    """Names a place of a TOML file for messages: `grpo-lint.toml:3: levels.NOT07`."""

    def __init__(self, name: str, text: str, prefix: tuple[str, ...]) -> None:
        self._name = name
        self._text = text
        self._prefix = prefix

    def __call__(self, keys: tuple[str, ...], item: str = "") -> str:
        line = self._line((*self._prefix, *keys), item)
        return f"{self._name}{f':{line}' if line else ''}: {'.'.join(keys)}"

    def _line(self, keys: tuple[str, ...], item: str) -> int:
        """The line that sets a key, or the nearest key above it that has one; 0 when there is none.

        The parser tells no places, so this looks for lines that begin with the key under the right header.
        """
        best, found = 0, 0
        header: tuple[str, ...] = ()
        lines = self._text.splitlines()
        for number, line in enumerate(lines, 1):
            if head := _HEADER.match(line):
                header = here = _parts(head.group(1))
            elif key := _key(line):
                here = (*header, *key)
            else:
                continue
            common = min(len(here), len(keys))
            if common > best and here[:common] == keys[:common]:
                best, found = common, number
        if item and best == len(keys):
            for number in range(found, min(found + 200, len(lines)) + 1):
                if f'"{item}"' in lines[number - 1] or f"'{item}'" in lines[number - 1]:
                    return number
        return found


def _dots(line: str) -> int:
    """The dots of a line outside of quotes."""
    dots, quote = 0, ""
    for token in _TOKEN.findall(line):
        if token == quote:
            quote = ""
        elif token == "." and not quote:
            dots += 1
        elif token in "\"'" and not quote:
            quote = token
    return dots


def _key(line: str) -> tuple[str, ...]:
    """The parts of the key that a line begins with; none if it begins with something else."""
    head, equals, _ = line[:MAX_KEY].partition("=")
    return _parts(head) if equals and not _PART.sub("", head).strip(" \t.") else ()


def _parts(key: str) -> tuple[str, ...]:
    return tuple(double or single or bare for double, single, bare in _PART.findall(key))
