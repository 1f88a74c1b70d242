"""The packaged option tables: every option of every release that was read, with types, choices and defaults.

    tree = verl_tree("0.9.1", "megatron")        # what nothing overrides; release None: what holds for every release
    tree.get("actor_rollout_ref.rollout.n")      # 1; a `${...}` default is returned as written; MISSING: no such option
    tree.has("actor_rollout_ref.rollout")        # an option or a section
    option("deepspeed", "gradient_clipping", "0.19.2").default            # 0.0; since 0.19.3 it is 1.0
    table("vllm").presence("--enable-lora", "0.10.1")                     # True, False, or None where it isn't known
    verl_place("0.9.1")                          # its config files, for syntax/hydra/compose.py

A default that depends on the release, where the release isn't known (or lies between two that were read and that
differ), is `located.Unknown`, and its reason says which. Names are as people write them: `--flag` for command lines,
dotted paths for Hydra, YAML and JSON. The tables (options/*.json) are written by tools/tables.py; a run loads only
those of the frameworks it meets.
"""

from __future__ import annotations

import os
from bisect import bisect_left

from grpo_lint.located import Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from grpo_lint.syntax.hydra.config import Packaged

FOLDER = os.path.join(os.path.dirname(__file__), "options")


class _Missing:
    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False


MISSING: Any = _Missing()
"""No such option here. (OmegaConf's "???", a value that must be given, is an ordinary default.)"""


class Option:
    """An option at a release. `choices` is None where any value goes; `more` holds what only some tables know.

    `since` and `until` are the first and last release read that have it; `until` is "" if the newest one has it.
    """

    __slots__ = ("aliases", "choices", "default", "instead", "more", "name", "since", "type", "until")

    def __init__(self, name: str, entry: dict[str, Any], default: Any, since: str, until: str) -> None:
        self.name = name
        self.default = default
        self.since = since
        self.until = until
        self.type: str = entry.get("type", "")
        self.choices: list[Any] | None = entry.get("choices")
        self.aliases: list[str] = entry.get("aliases", [])
        self.instead: str = entry.get("instead", "")
        self.more: dict[str, Any] = entry.get("more", {})

    def __repr__(self) -> str:
        return f"Option({self.name!r}, default={self.default!r})"


class Table:
    """One framework's options over the releases that were read, oldest first."""

    __slots__ = ("framework", "more", "options", "releases")

    def __init__(self, data: dict[str, Any]) -> None:
        self.framework: str = data["framework"]
        self.releases: list[str] = data["releases"]
        self.options: dict[str, dict[str, Any]] = data["options"]
        self.more: dict[str, Any] = data.get("more", {})

    def option(self, name: str, release: str | None = None) -> Option | None:
        """An option, or None if no release that was read has it; `default` is MISSING where the release lacks it."""
        entry = self.options.get(name)
        if entry is None:
            return None
        spells: list[list[Any]] = entry["spells"]
        last = spells[-1][1]
        until = "" if last == len(self.releases) - 1 else self.releases[last]
        return Option(name, entry, self._default(spells, release), self.releases[spells[0][0]], until)

    def presence(self, name: str, release: str | None) -> bool | None:
        """Whether a release has an option; None where the releases that were read don't tell."""
        entry = self.options.get(name)
        spells = entry["spells"] if entry is not None else []
        if release is None:
            whole = [at for first, last, _ in spells for at in range(first, last + 1)]
            return True if len(whole) == len(self.releases) else None if spells else False
        low, high = bracket(self.releases, release)
        found = {_at(spells, at) is not MISSING for at in (low, high) if at is not None}
        if high is None and found == {False}:  # newer than all that was read
            return None
        return found.pop() if len(found) == 1 and low is not None else None

    def names(self, release: str) -> Iterator[str]:
        """The options that the nearest older release has."""
        at = bracket(self.releases, release)[0]
        for name, entry in self.options.items():
            if at is not None and _at(entry["spells"], at) is not MISSING:
                yield name

    def _default(self, spells: list[list[Any]], release: str | None) -> Any:
        if release is None:
            return _agreed([(self.releases[first], value) for first, _, value in spells])
        low, high = bracket(self.releases, release)
        values = [(self.releases[at], _at(spells, at)) for at in (low, high) if at is not None]
        return _agreed([pair for pair in values if pair[1] is not MISSING])


class Tree:
    """The options of verl that nothing overrides, for one release (None: unknown) and engine. A view, made in no time.

    `release` is the nearest release that was read and isn't newer than the one asked for.
    """

    __slots__ = ("_among", "_asked", "_at", "_bit", "_got", "_options", "_releases", "_sections", "engine", "release")

    def __init__(self, data: dict[str, Any], release: str | None, engine: str, among: tuple[str, ...] | None) -> None:
        self._releases: list[str] = data["releases"]
        self._among = range(len(self._releases)) if among is None else [self._releases.index(name) for name in among]
        self._got: dict[str, Any] = {}
        self._asked = sum(1 << at for at in self._among)
        self._options: _Entries = data["options"]
        self._sections: frozenset[str] | None = None
        self._bit = 1 << data["engines"].index(engine)
        self._at = None if release is None else bracket(self._releases, release)[0] or 0
        self.release = None if self._at is None else self._releases[self._at]
        self.engine = engine

    def get(self, name: str) -> Any:
        """The default as written in the composed YAML, MISSING if there is no such option.

        Without a release: the default that all releases in question agree on that have the option, else Unknown.
        """
        if name not in self._got:
            self._got[name] = self._worked_out(name)
        return self._got[name]

    def has(self, name: str) -> bool:
        """Whether it names an option or a section of options; without a release: of any release."""
        if self.get(name) is not MISSING:
            return True
        if self._sections is None:  # costs a look at all options, and most names are options
            self._sections = frozenset(name[:at] for name in self.names() for at in range(len(name)) if name[at] == ".")
        return name in self._sections

    def everywhere(self, name: str) -> bool:
        """Whether every release in question has an option."""
        found = _spanned(self._options[name], self._bit)
        return found.issuperset(self._among if self._at is None else (self._at,))

    def _worked_out(self, name: str) -> Any:
        spells = self._options[name]
        if self._at is not None:
            for first, last, engines, value in spells:
                if first <= self._at <= last and engines & self._bit:
                    return value
            return MISSING
        asked = self._asked
        found = [spell for spell in spells if spell[2] & self._bit and (2 << spell[1]) - (1 << spell[0]) & asked]
        if not found:
            return MISSING
        value = found[0][3]
        for spell in found:
            if type(spell[3]) is not type(value) or spell[3] != value:
                break
        else:
            return value
        return _agreed(
            [
                (self._releases[at], value)
                for first, last, _, value in found
                for at in self._among
                if first <= at <= last
            ]
        )

    def names(self) -> Iterator[str]:
        """Every option, in alphabetical order."""
        for name in self._options:
            if self.get(name) is not MISSING:
                yield name


def table(framework: str) -> Table:
    """A framework's table. Raises KeyError for a framework that has none."""
    if framework not in _TABLES:
        _TABLES[framework] = Table(_load(framework))
    return _TABLES[framework]


def option(framework: str, name: str, release: str | None = None) -> Option | None:
    """`table(framework).option(name, release)`."""
    return table(framework).option(name, release)


_ASKED: dict[tuple[str | None, str, tuple[str, ...] | None], Tree] = {}
"""Trees that were asked for, each with what it has worked out: most runs ask for the same few."""
_MOST_ASKED = 64


def verl_tree(release: str | None, engine: str = "dp", among: tuple[str, ...] | None = None) -> Tree:
    """verl's composed tree for an engine (see verl_engines). Raises KeyError for an engine that no release has.

    Where the release isn't known, `among` narrows the releases in question; None means all that were read.
    """
    key = release, engine, among
    if key not in _ASKED:
        data = _trees()
        if engine not in data["engines"]:
            raise KeyError(engine)
        if len(_ASKED) == _MOST_ASKED:
            _ASKED.clear()
        _ASKED[key] = Tree(data, release, engine, among)
    return _ASKED[key]


def newer_than_read(framework: str, release: str) -> bool:
    """Whether a release is newer than all that were read: then nothing can be said of what it has."""
    releases = _trees()["releases"] if framework == "verl" else table(framework).releases
    return bracket(releases, release)[1] is None


def verl_engines() -> list[str]:
    """The engines that have a tree of their own: the choices of `model_engine`, and the asynchronous entry points."""
    return list(_trees()["engines"])


def verl_releases_with(engine: str, names: list[str]) -> tuple[str, ...]:
    """The releases whose tree for an engine has all of these options, apart from those that no release has.

    All releases that have the engine if none has them all: the config then mixes releases and tells nothing.
    """
    data = _trees()
    bit = 1 << data["engines"].index(engine)
    options: _Entries = data["options"]
    every = _spanned(options["trainer.nnodes"], bit)
    found = set(every)
    for name in names:
        found &= _spanned(options[name], bit) or found
    return tuple(data["releases"][at] for at in sorted(found or every))


def _spanned(spells: list[list[Any]], bit: int) -> set[int]:
    """The indices of the releases in which an option exists for an engine."""
    return {at for first, last, engines, _ in spells if engines & bit for at in range(first, last + 1)}


def verl_place(release: str, package: str = "verl.trainer.config") -> Packaged | None:
    """The configs of one of verl's packages, to compose with (`pkg://verl.trainer.config`); None if it has none.

    They are those of the nearest release that was read and isn't newer.
    """
    from grpo_lint.syntax.hydra.config import Packaged  # here, since most runs compose nothing

    at = bracket(_trees()["releases"], release)[0]
    folder = package.removeprefix("verl.").replace(".", "/")
    if at is None or not package.startswith("verl."):
        return None
    nearest = _trees()["releases"][at]
    if (nearest, folder) not in _PLACES:
        start = f"{folder}/"
        configs = {
            path[len(start) :]: entry for path, entry in _load(f"verl/{nearest}").items() if path.startswith(start)
        }
        _PLACES[nearest, folder] = Packaged(f"verl {nearest}: {folder}", configs) if configs else None
    return _PLACES[nearest, folder]


def _trees() -> dict[str, Any]:
    """{"releases", "engines", "options"} of verl."""
    if not _TREES:
        head, *lines = _text("verl_trees").rstrip().split("\n")
        _TREES.update(_decode(head + "}}"), options=_Entries(lines[:-1]))
    return _TREES


class _Entries:
    """{option: spells} of verl's trees. A line is decoded when someone asks for it: a run needs few of a thousand."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        """`"option":spells,`, sorted."""
        self._read: dict[str, list[list[Any]]] = {}

    def __getitem__(self, name: str) -> list[list[Any]]:
        """The spells of an option; none for what is no option."""
        if name not in self._read:
            start = f'"{name}":'
            at = bisect_left(self._lines, start)
            found = at < len(self._lines) and self._lines[at].startswith(start)
            self._read[name] = _decode(self._lines[at][len(start) :].removesuffix(",")) if found else []
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            yield line[1 : line.index('"', 1)]


def bracket(releases: list[str], release: str) -> tuple[int | None, int | None]:
    """Indices of the newest release read that isn't newer, and of the oldest that isn't older; None past the ends."""
    if release in releases:
        return releases.index(release), releases.index(release)
    asked = order(release)
    low = high = None
    for at, known in enumerate(releases):
        if order(known) <= asked:
            low = at
        if order(known) >= asked and high is None:
            high = at
    return low, high


_TABLES: dict[str, Table] = {}
_TREES: dict[str, Any] = {}
_PLACES: dict[tuple[str, str], Packaged | None] = {}


def _load(name: str) -> dict[str, Any]:
    data: dict[str, Any] = _decode(_text(name))
    return data


def _text(name: str) -> str:
    path = os.path.join(FOLDER, f"{name}.json")
    if not os.path.exists(path):
        raise KeyError(name)
    with open(path, encoding="utf-8") as stream:
        return stream.read()


class _Plain:
    """How the C scanner of the json package is asked to read: as `json.loads` does by default."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float


def _decode(text: str) -> Any:
    """JSON that we wrote ourselves. Importing the json package takes as long as reading verl's trees does."""
    try:
        from _json import make_scanner
    except ImportError:  # an interpreter without the C accelerator
        import json

        return json.loads(text)
    how: Any = _Plain
    return make_scanner(how)(text, 0)[0]


def _at(spells: list[list[Any]], at: int) -> Any:
    return next((value for first, last, value in spells if first <= at <= last), MISSING)


def _agreed(values: list[tuple[str, Any]]) -> Any:
    """The value that all (release, value) pairs share; Unknown with the releases where they differ."""
    if not values:
        return MISSING
    first = values[0][1]
    if all(type(value) is type(first) and value == first for _, value in values):
        return first
    steps = ", ".join(
        f"{value!r} in {release}" for at, (release, value) in enumerate(values) if at == 0 or value != values[at - 1][1]
    )
    return Unknown(f"the default differs between releases: {steps}")


def order(release: str) -> tuple[int, tuple[int, ...]]:
    """Releases in order: "0.9.1" < "0.10"; a name such as "main-2026-08-22" is newer than every number."""
    numbers = []
    for part in release.lstrip("v").split("+")[0].replace("-", ".").split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if part.startswith("post") and part[4:].isdigit():
            numbers.append(int(part[4:]) + 1)
        elif digits == part and digits:
            numbers.append(int(part))
        else:
            break
    return (0, tuple(numbers)) if numbers else (1, tuple(map(ord, release)))
