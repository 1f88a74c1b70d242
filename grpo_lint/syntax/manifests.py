"""Commands inside YAML: containers of Kubernetes manifests and compose files, and shell text in a scalar.

for container in containers(root): container.argv        # `command` and `args` in one, $(VAR) filled in from `env`
with shell_text(value) as source: ...                    # the scalar as a script whose offsets are the file's
"""

from __future__ import annotations

import re

from grpo_lint.located import DYNAMIC, Piece, Value, Word
from grpo_lint.source import SourceFile, Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_VARIABLE = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")
_SHELLS = frozenset(("sh", "bash", "/bin/sh", "/bin/bash", "/usr/bin/bash", "ash", "zsh"))
_ACCELERATOR = re.compile(r"(?:nvidia\.com/gpu|amd\.com/gpu|huawei\.com/Ascend\w+|habana\.ai/gaudi)$")
MAX_DEPTH = 60


class Container:
    """A container: its argument vector, its environment, its image, the accelerators it asks for.

    `script` is the text that `sh -c` gets instead of an argument vector.
    """

    __slots__ = ("argv", "env", "gpus", "image", "script")

    def __init__(self, argv: list[Word], env: dict[str, Word], image: Word | None, gpus: Value | None) -> None:
        self.argv = argv
        self.env = env
        self.image = image
        self.gpus = gpus
        self.script: Value | None = None


def containers(root: Value) -> Iterator[Container]:
    """Every container, in document order: below `containers` in a manifest, at any depth, or a compose service."""
    services = root.get("services") if root.is_mapping else None
    if services is not None and services.is_mapping:
        for service in services.data.values():
            if service.is_mapping:
                yield _container(service, "entrypoint", "command", "environment")
        return
    if root.is_mapping and "apiVersion" in root.data and "kind" in root.data:
        yield from _below(root, 0)


SCRIPT_KEYS = frozenset(("run", "command", "cmd", "server_cmd", "setup", "entrypoint"))
"""Keys under which files describe a job by shell text: GitHub workflows, SkyPilot tasks, test matrices. (`script` is
JavaScript in GitHub's own action.)"""


def scripts(root: Value) -> Iterator[Value]:
    """The scalars of a document that hold shell text by their key, outside manifests."""
    if root.is_mapping and ("services" in root.data or ("apiVersion" in root.data and "kind" in root.data)):
        return
    yield from _scripts_below(root, 0)


def _scripts_below(node: Value, depth: int) -> Iterator[Value]:
    if depth > MAX_DEPTH:
        return
    if node.is_list:
        for child in node.data:
            yield from _scripts_below(child, depth + 1)
    elif node.is_mapping:
        for key, child in node.data.items():
            if key in SCRIPT_KEYS and isinstance(child.data, str):
                yield child
            else:
                yield from _scripts_below(child, depth + 1)


def _below(node: Value, depth: int) -> Iterator[Container]:
    if depth > MAX_DEPTH:
        return
    if node.is_list:
        for child in node.data:
            yield from _below(child, depth + 1)
    elif node.is_mapping:
        for key, child in node.data.items():
            if key in ("containers", "initContainers") and child.is_list:
                for item in child.data:
                    if item.is_mapping:
                        yield _container(item, "command", "args", "env")
            else:
                yield from _below(child, depth + 1)


def _container(node: Value, program: str, arguments: str, environment: str) -> Container:
    env = _environment(node.data.get(environment))
    image = node.data.get("image")
    parts = [node.data.get(key) for key in (program, arguments)]
    argv = [_word(item, env) for part in parts if part is not None and part.is_list for item in part.data]
    limits = node.get("resources.limits")
    gpus = None
    if limits is not None and limits.is_mapping:
        gpus = next((value for key, value in limits.data.items() if _ACCELERATOR.match(str(key))), None)
    found = Container(argv, env, _word(image, {}) if image is not None else None, gpus)
    items = [item for part in parts if part is not None and part.is_list for item in part.data]
    if (
        len(items) >= 3
        and str(items[0].data) in _SHELLS
        and str(items[1].data).startswith("-")
        and "c" in items[1].data
    ):
        found.script = items[2]
    for part in parts:
        if part is not None and isinstance(part.data, str):
            found.script = part
    return found


def _environment(node: Value | None) -> dict[str, Word]:
    """`[{name, value}]`, `{name: value}` or `["name=value"]` as words; what is taken from elsewhere is left out."""
    env: dict[str, Word] = {}
    if node is None:
        return env
    if node.is_mapping:
        for name, value in node.data.items():
            if not (value.is_mapping or value.is_list or value.data is None):
                env[str(name)] = _word(value, {})
    elif node.is_list:
        for item in node.data:
            name, value = item.get("name"), item.get("value")
            if name is not None and value is not None:
                env[str(name.data)] = _word(value, {})
            elif isinstance(item.data, str) and "=" in item.data:
                word = _word(item, {})
                env[item.data.partition("=")[0]] = word.cut(item.data.index("=") + 1)
    return env


def _word(value: Value, env: dict[str, Word]) -> Word:
    """A scalar as an argument: `$(VAR)` is what the environment says, or else the platform's to fill in."""
    text = value.raw if value.raw and not isinstance(value.data, str) else str(value.data)
    pieces: list[Piece] = []
    at = 0
    for match in _VARIABLE.finditer(text):
        if match.start() > at:
            pieces.append(_piece(text, at, match.start(), value))
        known = env.get(match[1])
        span = _part(text, match.start(), match.end(), value)
        if known is not None and not known.dynamic:
            pieces.append(Piece(known.text, span, (known.span,)))
        else:
            pieces.append(Piece(DYNAMIC, span, (), match[0]))
        at = match.end()
    if at < len(text) or not pieces:
        pieces.append(_piece(text, at, len(text), value))
    return Word(tuple(pieces), value.span, value.via)


def _piece(text: str, start: int, end: int, value: Value) -> Piece:
    return Piece(text[start:end], _part(text, start, end, value))


def _part(text: str, start: int, end: int, value: Value) -> Span:
    """The place of a part of a scalar: exact where the text stands as it is written, else the whole scalar."""
    inside = value.span.text.find(text)
    if inside < 0:
        return value.span
    first = value.span.start + inside
    return Span(value.span.file, first + start, first + end)


class shell_text:
    """A scalar as a script: a file of the same length, in which all but the scalar's text is blank.

    Outside the `with` block the file has its own text again, so that places read as they are written. Only block
    scalars, plain and simply quoted ones can be read so; `usable` tells.
    """

    def __init__(self, value: Value) -> None:
        self.value = value
        self._original = value.span.file.text
        self.source = SourceFile(value.span.file.path, self._original)

    @property
    def usable(self) -> bool:
        value = self.value
        escaped = value.style == "double" and "\\" in value.raw
        return (
            isinstance(value.data, str)
            and not escaped
            and value.style in ("plain", "single", "double", "literal", "folded")
        )

    def __enter__(self) -> SourceFile:
        start, end = self.value.span.start, self.value.span.end
        inner = self._original[start:end]
        if self.value.style in ("literal", "folded"):
            header = inner.find("\n") + 1
            inner = " " * (header - 1) + "\n" + inner[header:] if header else ""
        elif self.value.style in ("single", "double"):
            inner = " " + inner[1:-1] + " "
        if self.value.style != "literal":
            inner = inner.replace("\n", " ")
        self.source.text = _blank(self._original[:start]) + inner + _blank(self._original[end:])
        return self.source

    def __exit__(self, *error: object) -> None:
        self.source.text = self._original
        self.source.forget_lines()


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
