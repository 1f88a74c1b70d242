"""Which settings are recommended for a topic, a format and a machine, in the framework's own spelling.

The settings and their reasons are data (knowledge/recommend.json). An entry tells a unified field, which each framework
spells in its own way, or keys of one framework; `when` says what has to hold for it, and the last entry that holds for
a field or key wins.
"""

from __future__ import annotations

from grpo_lint.frameworks import tables, verl
from grpo_lint.frameworks.megatron import PACKAGES
from grpo_lint.modules import packaged
from grpo_lint.runconfig import release
from grpo_lint.validate import DEEPSPEED, VERL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

DATA = packaged("knowledge", "recommend.json")
FORMATS = ("unified", "deepspeed", "verl", "verl-yaml", "megatron", "vllm", "sglang", "trl")
TOPICS = ("zero", "moe-nan", "muon", "fsdp", "lora", "rollout")
SCRIPT = "script"
"""The kind of format that is a launch script; among the frameworks it stands for the script's own lines."""
SHELL = "$ "
"""How the key of such a line begins: `$ ulimit -n 65535`."""


TABLES = ("megatron", "vllm", "sglang", "trl")
"""Whose options are looked up by name; DeepSpeed's keys are too few and too old for that."""


class Inexpressible(Exception):
    """A topic that a format has no settings for."""


class Line:
    """One recommended setting: its key as the framework spells it, its value, and why.

    `field` is the unified field that it sets ("" for none) and `meant` that field's value. `rules` are the ids of the
    rules that it keeps.
    """

    __slots__ = ("field", "key", "meant", "reason", "rules", "source", "value")

    def __init__(self, key: str, value: Any, entry: dict[str, Any], meant: Any) -> None:
        self.key = key
        self.value = value
        self.field: str = entry.get("field", "")
        self.meant = meant
        self.reason: str = entry["reason"]
        self.rules: tuple[str, ...] = tuple(entry["rules"])
        self.source: str = entry["source"]

    def __repr__(self) -> str:
        return f"Line({self.key!r}, {self.value!r})"


class Case:
    """What is asked for: a format, a topic ("" for all that go together), and what to write for.

    `memory` is GiB of one GPU. `fsdp` is what `guide fsdp` answers. `releases` are those of the frameworks that are
    told; for others it is the newest that was read.
    """

    __slots__ = ("format", "fsdp", "gpus", "memory", "nodes", "releases", "strict", "topic")

    def __init__(
        self,
        format: str,
        topic: str,
        *,
        strict: bool = False,
        gpus: int = 8,
        nodes: int = 1,
        memory: float = 80,
        releases: dict[str, str] | None = None,
        fsdp: str = "fsdp2",
    ) -> None:
        self.format = format
        self.topic = topic
        self.strict = strict
        self.gpus = gpus
        self.nodes = nodes
        self.memory = memory
        self.releases = releases or {}
        self.fsdp = "fsdp1" if strict else fsdp

    @property
    def ranks(self) -> int:
        return self.gpus * self.nodes

    @property
    def engine(self) -> str:
        """verl's: "megatron", or "dp", which is FSDP."""
        return "megatron" if not self.strict and self.topic in ("moe-nan", "muon") else "dp"

    def release(self, framework: str) -> str:
        return self.releases.get(package(framework)) or newest(framework)


def load() -> dict[str, Any]:
    """The data file."""
    import json

    with open(DATA, encoding="utf-8") as file:
        known: dict[str, Any] = json.load(file)
    return known


def package(framework: str) -> str:
    """The package by whose releases a framework is targeted."""
    return PACKAGES.get(framework, framework)


def newest(framework: str) -> str:
    """The newest numbered release of a framework that was read; "" where none was."""
    try:
        releases = tables.table(framework).releases
    except KeyError:
        return ""
    return next(name for name in reversed(releases) if release(name))


def lines(known: dict[str, Any], case: Case) -> list[Line]:
    """The settings, in the order of the data. Raises Inexpressible, which says why and which formats can."""
    refused = refusal(known, case)
    if refused:
        raise Inexpressible(refused)
    form = known["formats"][case.format]
    topics = (case.topic,) if case.topic else tuple(form["whole"])
    found: dict[str, list[Line]] = {}
    for entry in known["settings"]:
        about = entry.get("topics")
        if about is not None and not set(about).intersection(topics):
            continue
        if case.format not in entry.get("formats", FORMATS) or not holds(entry.get("when", {}), case):
            continue
        spelled = list(_spelled(known, entry, case, form))
        if spelled:
            found[entry.get("field") or spelled[0].key] = spelled
    return list({line.key: line for spelled in found.values() for line in spelled}.values())


def refusal(known: dict[str, Any], case: Case) -> str:
    """Why a format can't express a topic, and which can; empty where it can."""
    why = _why_not(known, case, case.format)
    if not why:
        return ""
    others = [name for name in FORMATS if not _why_not(known, case, name)]
    what = case.topic or "everything"
    return f"{what} in the format {case.format}: {why}; formats that can: {', '.join(others)}"


def _why_not(known: dict[str, Any], case: Case, format: str) -> str:
    for refused in known["refusals"]:
        if case.topic in refused["topics"] and format in refused["formats"] and holds(refused.get("when", {}), case):
            why: str = refused["why"]
            return why
    return ""


def holds(when: dict[str, Any], case: Case) -> bool:
    """Whether all conditions hold.

    `strict`, `engine` and `fsdp` are equal, `memory_to`, `memory_above` and `ranks_above` bound numbers,
    `sglang_from` and `verl_before` the release that is written for; `deepspeed_known_from` one that is told.
    """
    return all(_holds(condition, wanted, case) for condition, wanted in when.items())


def _holds(condition: str, wanted: Any, case: Case) -> bool:
    name, _, relation = condition.partition("_")
    if not relation:
        return bool(getattr(case, name) == wanted)
    if relation in ("to", "above"):
        number = getattr(case, name)
        return bool(number <= wanted if relation == "to" else number > wanted)
    told = case.releases.get(package(name), "") if relation == "known_from" else case.release(name)
    if relation == "before":
        return bool(told) and release(told) < release(wanted)
    return bool(told) and release(told) >= release(wanted)


def _spelled(known: dict[str, Any], entry: dict[str, Any], case: Case, form: dict[str, Any]) -> Iterator[Line]:
    """An entry's lines: the keys that it names for the framework, or else what its field is called there."""
    framework, field = form["framework"], entry.get("field", "")
    meant = _sized(entry.get("value"), case)
    keys: dict[str, Any] = entry.get("keys", {}).get(framework, {})
    if form["kind"] == SCRIPT:
        keys = {**keys, **entry.get("keys", {}).get(SCRIPT, {})}
    if not keys and field and framework not in entry.get("keys", {}):
        key = field if framework == "unified" else spelling(known, framework, field, case)
        if key:
            word = meant if isinstance(meant, (list, dict)) else str(meant)
            keys = {key: known["words"].get(framework, {}).get(field, {}).get(word, meant)}
    for key, value in keys.items():
        if key.startswith(SHELL) or is_option(framework, key, case):
            yield Line(key, _sized(value, case), entry, meant)


def spelling(known: dict[str, Any], framework: str, field: str, case: Case) -> str:
    """What a framework calls a unified field; "" for a field that is no option of it."""
    if framework == verl.NAME:
        if field == "gradient_clipping" and case.engine == "dp" and release(case.release(verl.NAME)) < (0, 8):
            return f"{verl.ACTOR}.grad_clip"
        return VERL.get(field, "")
    if framework == "deepspeed":
        return DEEPSPEED.get(field, "")
    name: str = known["spellings"].get(framework, {}).get(field, "")
    return name


def is_option(framework: str, key: str, case: Case) -> bool:
    """Whether the release that is written for has an option, as far as the tables tell."""
    if framework == verl.NAME:
        return in_tree(key, case) or ".override_" in key
    if framework not in TABLES:
        return True
    name = key if key.startswith("--") else f"--{key}"
    if framework == "trl" and name in tables.table("transformers").options:
        return True  # what a release of TRL doesn't declare anew it inherits
    table = tables.table(framework)
    return name not in table.options or table.presence(name, case.release(framework)) is not False


def in_tree(key: str, case: Case) -> bool:
    """Whether verl's config has a key before anything is added to it."""
    return tables.verl_tree(case.release(verl.NAME), case.engine).has(key)


def _sized(value: Any, case: Case) -> Any:
    """A value that depends on the machines: {"of": "ranks", "times": 4}, or {"of": "gpus", "most": 8}, a divisor."""
    if not isinstance(value, dict):
        return value
    number: int = getattr(case, value["of"])
    if "most" in value:
        return next(size for size in (8, 4, 2, 1) if size <= value["most"] and number % size == 0)
    return number * value.get("times", 1)
