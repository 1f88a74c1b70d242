"""Recommended settings as the text of a file: JSON, YAML, or a launch script; reasons are its comments."""

from __future__ import annotations

from grpo_lint.frameworks import verl
from grpo_lint.patterns import lazy
from grpo_lint.recipes.choose import SCRIPT, SHELL, in_tree
from grpo_lint.reporters.characters import wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from grpo_lint.recipes.choose import Case, Line

WIDTH = 100
"""Columns of a comment."""

_BARE = lazy(r"[\w./:=,+@%-]+")
_PLAIN = lazy(r"[A-Za-z_][\w./-]*(?: [\w./-]+)*")
_WORDS = ("true", "false", "yes", "no", "on", "off", "null", "none", "y", "n")
"""What YAML reads as something else than a text."""

PROGRAMS = {
    "verl": "python3 -m verl.trainer.main_ppo",
    "megatron": "torchrun --nproc-per-node {gpus} --nnodes {nodes} train_rl.py",
    "vllm": "vllm serve",
    "sglang": "python3 -m sglang.launch_server",
}


def text(form: dict[str, Any], case: Case, lines: Sequence[Line], head: Sequence[str]) -> str:
    """The file's text; `head` are the lines of its first comment."""
    if form["kind"] == "json":
        import json

        return json.dumps(_nested(lines, lambda line: line.value), indent=2, ensure_ascii=False) + "\n"
    comment = [f"# {line}".rstrip() for part in head for line in wrap(part, WIDTH - 2)]
    body = _script(case, lines, comment) if form["kind"] == SCRIPT else _yaml(case, lines, comment)
    return "\n".join(body) + "\n"


def told(line: Line) -> str:
    """A line's reason with the rules that it keeps."""
    return line.reason + (f" ({', '.join(line.rules)})" if line.rules else "")


class _Comments:
    """The comments above lines; lines in a row that share a reason share the comment."""

    def __init__(self) -> None:
        self._last = ""

    def above(self, line: Line, indent: str) -> list[str]:
        reason, last = told(line), self._last
        self._last = reason
        return [] if reason == last else [f"{indent}# {part}" for part in wrap(reason, WIDTH - len(indent) - 2)]


def _nested(lines: Sequence[Line], leaf: Callable[[Line], Any]) -> dict[str, Any]:
    """{"a.b": 1} as {"a": {"b": 1}}, in the order in which sections are first met."""
    root: dict[str, Any] = {}
    for line in lines:
        *sections, name = line.key.split(".")
        place = root
        for section in sections:
            place = place.setdefault(section, {})
        place[name] = leaf(line)
    return root


# -- scripts


def _script(case: Case, lines: Sequence[Line], head: list[str]) -> list[str]:
    result, comments = ["#!/usr/bin/env bash", *head, "set -euo pipefail", ""], _Comments()
    before = [line for line in lines if line.key.startswith(SHELL)]
    for line in before:
        result += [*comments.above(line, ""), line.key.removeprefix(SHELL)]
    name = "OVERRIDES" if case.format == verl.NAME else "ARGUMENTS"
    result += ["", f"{name}=("] if before else [f"{name}=("]
    for line in lines:
        if not line.key.startswith(SHELL):
            word = _override(line, case) if case.format == verl.NAME else _flag(line)
            result += [*comments.above(line, "    "), f"    {word}"]
    program = PROGRAMS[case.format].format(gpus=case.gpus, nodes=case.nodes)
    if case.format == verl.NAME and case.engine == "megatron":
        program += " --config-name=ppo_megatron_trainer"
    return [*result, ")", "", f'{program} "${{{name}[@]}}" "$@"']


def _override(line: Line, case: Case) -> str:
    """`key=value`; a key that the config doesn't have yet is added with a `+`."""
    plus = "" if in_tree(line.key, case) else "+"
    return quoted(f"{plus}{line.key}={_hydra(line.value)}")


def _hydra(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ",".join(map(_hydra, value)) + "]"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return _number(value) if isinstance(value, float) else str(value)


def _flag(line: Line) -> str:
    """`--flag value`, or `--switch`; the model of `vllm serve` stands by itself."""
    if line.key == "--model":
        return quoted(str(line.value))
    if line.value is True:
        return line.key
    values = line.value if isinstance(line.value, list) else [line.value]
    words = [_number(value) if isinstance(value, float) else str(value) for value in values]
    return " ".join([line.key, *map(quoted, words)])


def quoted(word: str) -> str:
    """A word as the shell takes it for one."""
    return word if _BARE.fullmatch(word) else "'" + word.replace("'", "'\\''") + "'"


def _number(value: float) -> str:
    """A float that YAML 1.1 reads as one, too: 1e-06 would be a text there."""
    digits = repr(value)
    mantissa, e, exponent = digits.partition("e")
    return f"{mantissa}.0e{exponent}" if e and "." not in mantissa else digits


# -- YAML


def _yaml(case: Case, lines: Sequence[Line], head: list[str]) -> list[str]:
    result = [*head, ""]
    if case.format == "verl-yaml":
        base = "ppo_megatron_trainer" if case.engine == "megatron" else "ppo_trainer"
        result += ["hydra:", "  searchpath:", "    - pkg://verl.trainer.config", "defaults:", f"  - {base}"]
        result += ["  - _self_", ""]
    return [*result, *_section(_nested(lines, lambda line: line), _Comments())]


def _section(section: dict[str, Any], comments: _Comments, indent: str = "") -> Iterator[str]:
    for name, value in section.items():
        if isinstance(value, dict):
            yield f"{indent}{name}:"
            yield from _section(value, comments, indent + "  ")
        else:
            yield from comments.above(value, indent)
            yield f"{indent}{name}: {_scalar(value.value)}"


def _scalar(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(_scalar, value)) + "]"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, (int, float)):
        return _number(value) if isinstance(value, float) else str(value)
    text = str(value)
    plain = _PLAIN.fullmatch(text) and text.lower() not in _WORDS
    return text if plain else "'" + text.replace("'", "''") + "'"
