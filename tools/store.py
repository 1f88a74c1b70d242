"""The packaged tables on disk: adding a release to one, and saying what that changes.

A table is {"framework", "releases", "options": {name: entry}}. An entry holds "spells", [[first, last, default], ...]
with indices of releases, and what the newest release that has the option says of it: "type", "choices", "aliases",
"deprecated", "instead", and "more" for what only some frameworks have. verl's trees are {"releases", "engines",
"options": {name: [[first, last, engines, default], ...]}}, where `engines` is a mask of bits.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grpo_lint.frameworks.tables import order

FOLDER = Path(__file__).parent.parent / "grpo_lint" / "frameworks" / "options"

Table = dict[str, Any]
Option = dict[str, Any]

KEPT = ("type", "choices", "aliases", "deprecated", "instead")
MORE = (
    "in_yaml", "dest", "action", "nargs", "required", "launcher", "config_class", "command", "engine_arg", "no_cli",
    "frontend", "config_path", "entry_points", "from_verl", "tool", "range", "seen_in", "overrides_megatron_default",
    "resolved_at_start", "fallback",
)  # fmt: skip


def read(name: str) -> Table:
    path = FOLDER / f"{name}.json"
    if not path.exists():
        return {"framework": name, "releases": [], "options": {}}
    table: Table = json.loads(path.read_text(encoding="utf-8"))
    return table


def write(name: str, table: Table) -> None:
    path = FOLDER / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = _lines(table) if "engines" in table else _compact(table)
    path.write_text(text + "\n", encoding="utf-8")


def _compact(data: Any) -> str:
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False)


def _lines(trees: Table) -> str:
    """verl's trees with an option a line, sorted: the linter looks for the few that it needs."""
    head = _compact({**trees, "options": {}}).removesuffix("}}")
    lines = sorted(f"{_compact(name)}:{_compact(entry)}" for name, entry in trees["options"].items())
    return f"{head}\n" + ",\n".join(lines) + "\n}}"


def at(table: Table, release: str) -> dict[str, Any]:
    """{name: default} of a release; for verl's trees {name: {engine: default}}."""
    if release not in table["releases"]:
        return {}
    index = table["releases"].index(release)
    found = {}
    for name, entry in table["options"].items():
        if "engines" not in table:
            for first, last, value in entry["spells"]:
                if first <= index <= last:
                    found[name] = value
            continue
        engines = {
            engine: value
            for first, last, mask, value in entry
            for bit, engine in enumerate(table["engines"])
            if first <= index <= last and mask >> bit & 1
        }
        if engines:
            found[name] = engines
    return found


def add(table: Table, release: str, options: list[Option]) -> Table:
    """The table with a release more, or with a release that it has read anew."""
    columns = {known: at(table, known) for known in table["releases"]}
    columns[release] = {option["name"]: option["default"] for option in options}
    releases = sorted(columns, key=order)
    entries = {name: dict(entry) for name, entry in table["options"].items()}
    newest = releases[-1] == release
    for option in options:
        if newest or option["name"] not in entries:
            entries[option["name"]] = _entry(option)
    kept: dict[str, Any] = {}
    for name in sorted(entries):
        spells = _spells([columns[known].get(name, _ABSENT) for known in releases])
        if spells:
            kept[name] = {**entries[name], "spells": spells}
    return {**table, "releases": releases, "options": kept}


def add_trees(table: Table, release: str, trees: dict[str, dict[str, Any]]) -> Table:
    """verl's trees with a release more; `trees` is {engine: {name: default}}."""
    columns = {known: at(table, known) for known in table["releases"]}
    by_name: dict[str, Any] = {}
    for engine, tree in trees.items():
        for name, value in tree.items():
            by_name.setdefault(name, {})[engine] = value
    columns[release] = by_name
    releases = sorted(columns, key=order)
    engines = list(dict.fromkeys([*table.get("engines", []), *trees]))
    names = sorted({name for column in columns.values() for name in column})
    had = [{engine for values in columns[known].values() for engine in values} for known in releases]
    options = {name: _tree_spells([columns[known].get(name, {}) for known in releases], engines, had) for name in names}
    return {"releases": releases, "engines": engines, "options": options}


_ABSENT: Any = object()


def _entry(option: Option) -> dict[str, Any]:
    entry = {key: option[key] for key in KEPT if option.get(key)}
    plain = option["name"].lstrip("-").replace("-", "_")
    more = {key: option[key] for key in MORE if option.get(key) not in (None, [], "")}
    if more.get("dest") == plain:
        del more["dest"]
    return {**entry, "more": more} if more else entry


def _spells(values: list[Any]) -> list[list[Any]]:
    """[first, last, value] of every run of equal values."""
    spells: list[list[Any]] = []
    for index, value in enumerate(values):
        if value is _ABSENT:
            continue
        if spells and spells[-1][1] == index - 1 and same(spells[-1][2], value):
            spells[-1][1] = index
        else:
            spells.append([index, index, value])
    return spells


def _tree_spells(columns: list[dict[str, Any]], engines: list[str], had: list[set[str]]) -> list[list[Any]]:
    """The same with a mask of engines; a bit of an engine that a release lacks says nothing there."""
    spells: list[list[Any]] = []
    for index, column in enumerate(columns):
        present = _mask(engines, had[index])
        values: list[Any] = []
        for value in column.values():
            if not any(same(value, other) for other in values):
                values.append(value)
        for value in values:
            mask = _mask(engines, {engine for engine, other in column.items() if same(value, other)})
            open_spells = [spell for spell in spells if spell[1] == index - 1]
            fitting = [spell for spell in open_spells if same(spell[3], value) and spell[2] & present == mask]
            if fitting and not any(spell[2] & mask for spell in open_spells if spell is not fitting[0]):
                fitting[0][1], fitting[0][2] = index, fitting[0][2] | mask
            else:
                spells.append([index, index, mask, value])
    return spells


def _mask(engines: list[str], chosen: set[str]) -> int:
    return sum(1 << bit for bit, engine in enumerate(engines) if engine in chosen)


def same(one: Any, other: Any) -> bool:
    """Equal with equal types all the way down: 1, 1.0 and true differ."""
    return json.dumps(one) == json.dumps(other)


def changes(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    """What differs between two columns, a line each."""
    for name in sorted({*old, *new}):
        if name not in old:
            yield f"+ {name} = {json.dumps(new[name], ensure_ascii=False)}"
        elif name not in new:
            yield f"- {name}"
        elif not same(old[name], new[name]):
            was, now = (json.dumps(column[name], ensure_ascii=False) for column in (old, new))
            yield f"~ {name}: {was} -> {now}"
