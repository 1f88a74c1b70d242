"""Shell text in YAML that describes jobs: GitHub workflows, GitLab pipelines, SkyPilot tasks, test matrices.

for job in jobs(root): job.stretches, job.env       # text for a shell, where it stands, and the variables around it
"""

from __future__ import annotations

import re

from grpo_lint.located import DYNAMIC, Piece, Value, Word
from grpo_lint.patterns import lazy
from grpo_lint.syntax.excerpt import stretch_of
from grpo_lint.syntax.manifests import MAX_DEPTH, is_manifest, variables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SCRIPT_KEYS = frozenset(("run", "command", "cmd", "server_cmd", "setup", "entrypoint"))
"""Keys of shell text: GitHub workflows, SkyPilot tasks, test matrices."""
LIST_KEYS = frozenset(("script", "before_script", "after_script", "commands"))
"""Keys whose lists are lines of one script: GitLab's `script`. (A text there is JavaScript in GitHub's own action.)"""
ENV_KEYS = ("env", "envs", "variables")
"""What sets variables for all that lies below: GitHub's, SkyPilot's and GitLab's word."""
_EXPRESSION = lazy(r"\$\{\{.*?\}\}")


class Job:
    """A piece of shell text: (start, text) of its stretches in the file, and the variables that surround it.

    `value` is the scalar where the text can't be had as it stands, since it has escapes.
    """

    __slots__ = ("env", "stretches", "value")

    def __init__(self, stretches: list[tuple[int, str]], env: dict[str, Word], value: Value | None = None) -> None:
        self.stretches = stretches
        self.env = env
        self.value = value

    @property
    def text(self) -> str:
        return str(self.value.data) if self.value is not None else "\n".join(text for _, text in self.stretches)


def jobs(root: Value) -> Iterator[Job]:
    """The shell texts of a document that is no manifest, in order."""
    if not is_manifest(root):
        yield from _below(root, {}, 0)


def _below(node: Value, env: dict[str, Word], depth: int) -> Iterator[Job]:
    if depth > MAX_DEPTH:
        return
    if node.is_list:
        for child in node.data:
            yield from _below(child, env, depth + 1)
    elif node.is_mapping:
        for key in ENV_KEYS:
            if key in node.data:
                env = {**env, **_variables(node.data[key])}
        for key, child in node.data.items():
            if key in SCRIPT_KEYS and isinstance(child.data, str):
                yield _job([child], env)
            elif key in LIST_KEYS and child.is_list and all(isinstance(item.data, str) for item in child.data):
                yield _job(child.data, env)
            else:
                yield from _below(child, env, depth + 1)


def _variables(node: Value) -> dict[str, Word]:
    """What a section sets; an expression of the platform's in a value leaves it unknown."""
    found = variables(node)
    for name, word in found.items():
        if "${{" in word.text:
            reason = f"the platform fills in {word.text}"
            found[name] = Word((Piece(DYNAMIC, word.span, (), reason),), word.span)
    return found


def _job(values: list[Value], env: dict[str, Word]) -> Job:
    """The lines of one script. What the platform fills in before the shell reads it is a variable without a value."""
    env = dict(env)
    stretches = []
    for value in values:
        stretch = stretch_of(value)
        if stretch is None:
            return Job([], env, value)
        start, text = stretch
        if "${{" in text:
            text = _without_expressions(start, text, value, env)
        stretches.append((start, text))
    return Job(stretches, env)


def _without_expressions(start: int, text: str, value: Value, env: dict[str, Word]) -> str:
    """The text with a variable in the place of each expression, of the same length and in `env`, without a value."""

    def hidden(match: re.Match[str]) -> str:
        name = f"_{match.start()}"
        name += "_" * (len(match[0]) - 3 - len(name))
        if len(name) + 3 != len(match[0]):
            return match[0]
        place = value.span.file.span(start + match.start(), start + match.end())
        env[name] = Word((Piece(DYNAMIC, place, (), f"the platform fills in {match[0]}"),), place)
        return f"${{{name}}}"

    return _EXPRESSION.sub(hidden, text)
