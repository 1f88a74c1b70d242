"""Random small config trees and overrides that meet every rule of composition, and each other."""

from __future__ import annotations

import random

GROUPS = ["db", "db/engine", "srv"]
NAMES = ["a", "b", "c"]
KEYS = ["x", "y", "z", "db", "srv", "port"]
SCALARS = [
    "1", "null", "true", "abc", "2.5", "???", "${x}", "${db.x}", "${.y}", "${..z}", '"q"', "[1,2]", "[]", "{}",
    "{x: 1, y: {z: 2}}", "{y: null}", "${srv}", "${oc.select:srv.x,7}", "${oc.select:.y,${x}}", "p${x}s",
    "${oc.env:GRPO_LINT_NO_SUCH_VARIABLE,3}", "${db.${srv.x}}", '${oc.decode:"[1,a]"}', "\\${x}", "${db}",
    "${oc.dict.keys:db}",
]  # fmt: skip
PACKAGES = ["p", "p.q", "_here_", "_global_", "_global_.g", "_group_", "x", "srv"]
OVERRIDDEN = [
    *KEYS, "db.x", "srv.y", "x.y", "db.y.z", "p.x", "p.q", "n", "n.m", "y.0", "db@p", "db/engine", "srv@p",
    "db/engine@p", "srv.x", "g", "g.x", "db.engine", "db.engine.x",
]  # fmt: skip
VALUES = [
    *NAMES, "1", "null", "[1]", "{q: 1}", "{x: {y: 3}}", "${x}", "zz", "???", "[a,b]", "", "{}", "abc", "2.5",
]  # fmt: skip


def random_configs(chance: random.Random) -> dict[str, str]:
    """{path: YAML} of a root with three groups."""
    files = {}
    calm = chance.random() < 0.6  # fewer defaults lists, so that more of it composes
    for group in ["", *GROUPS]:
        for name in NAMES:
            path = f"{group}/{name}" if group else name
            files[path] = _body(chance, 0) if calm and group and chance.random() < 0.7 else _config(chance)
    return files


def random_overrides(chance: random.Random) -> list[str]:
    return [_override(chance) for _ in range(chance.choice([0, 0, 1, 1, 2]))]


def _config(chance: random.Random) -> str:
    text = ""
    if chance.random() < 0.25:
        text += f"# @package {chance.choice(['_global_', '_group_', 'p', '_global_.g', 'db.k', ''])}\n"
    if chance.random() < 0.55:
        items = "".join(f"  - {_default(chance)}\n" for _ in range(chance.randint(1, 3)))
        text += f"defaults:\n{items}"
    return text + _body(chance, 0)


def _body(chance: random.Random, depth: int) -> str:
    text, indent = "", "  " * depth
    for key in chance.sample(KEYS, chance.randint(0, 3)):
        if depth < 2 and chance.random() < 0.35:
            text += f"{indent}{key}:\n{_body(chance, depth + 1) or indent + '  w: 1' + chr(10)}"
        else:
            text += f"{indent}{key}: {chance.choice(SCALARS)}\n"
    return text


def _default(chance: random.Random) -> str:
    draw = chance.random()
    package = chance.choice(["", "", "", f"@{chance.choice(PACKAGES)}"])
    if draw < 0.15:
        return "_self_"
    if draw < 0.25:
        return chance.choice(["", "/"]) + chance.choice([*NAMES, "db/a", "srv/b", "engine/a"]) + package
    keyword = chance.choice([*[""] * 6, "optional ", "override ", "optional override "])
    group = chance.choice([*GROUPS, "/db", "/srv", "engine", "/db/engine"])
    value = chance.choice([*NAMES * 5, "null", "[a,b]", "[a]", "???", "${db}", "zz", "${srv}", "x${db}", "1"])
    return f"{keyword}{group}{package}: {value}"


def _override(chance: random.Random) -> str:
    prefix = chance.choice(["", "", "", "", "+", "++", "~"])
    key, value = chance.choice(OVERRIDDEN), chance.choice(VALUES)
    return f"{prefix}{key}={value}" if prefix != "~" or chance.random() < 0.4 else f"~{key}"
