"""Containers in YAML: Kubernetes manifests with custom resources of all kinds, and compose files.

for container in containers(root):
    container.argv      # what it starts: `command` and `args` in one, $(VAR) filled in from its environment
    container.script    # or the text that a shell of its gets
"""

from __future__ import annotations

from grpo_lint.located import DYNAMIC, Piece, Value, Word
from grpo_lint.patterns import lazy
from grpo_lint.source import Span
from grpo_lint.syntax.excerpt import Excerpt, stretch_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

VARIABLE = lazy(r"\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)")
_ACCELERATOR = lazy(r"(?:nvidia\.com/gpu|amd\.com/gpu|huawei\.com/Ascend\w+|habana\.ai/gaudi)$")
_SHELLS = frozenset(("sh", "bash", "ash", "zsh", "dash"))
MAX_DEPTH = 60


class Container:
    """A container: its argument vector, its environment, its image, the accelerators it asks for.

    `script` is the text that its shell gets instead of an argument vector. `whole` says that the manifest gives the
    program itself, and not only arguments for the one that the image starts. `count` is how many accelerators `gpus`,
    the value that asks for them, comes to.
    """

    __slots__ = ("argv", "count", "env", "gpus", "image", "script", "whole")

    def __init__(self, argv: list[Word], env: dict[str, Word], image: Word | None) -> None:
        self.argv = argv
        self.env = env
        self.image = image
        self.script: Value | None = None
        self.gpus: Value | None = None
        self.count: object = None
        self.whole = False


def is_manifest(root: Value) -> bool:
    """Whether a document describes containers: a compose file or an object of Kubernetes."""
    return root.is_mapping and ("services" in root.data or ("apiVersion" in root.data and "kind" in root.data))


def containers(root: Value) -> Iterator[Container]:
    """Every container, in document order: those of an object of Kubernetes at any depth, or each compose service."""
    services = root.get("services") if root.is_mapping else None
    if services is not None and services.is_mapping:
        for service in services.data.values():
            if service.is_mapping:
                yield _service(service)
    elif is_manifest(root):
        yield from _below(root, 0)


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
                        yield _container(item)
            elif key in ("container", "script") and child.is_mapping and "image" in child.data:  # Argo's templates
                yield _container(child)
            elif key == "entrypoint" and isinstance(child.data, str):  # a RayJob's
                found = Container([], {}, None)
                found.script = child
                yield found
            elif key == "data" and child.is_mapping and node.get("kind") is not None:
                yield from _scripts_of(child)
            else:
                yield from _below(child, depth + 1)


def configs(root: Value) -> Iterator[Value]:
    """The texts of an object of Kubernetes that are YAML themselves: a RayService's, those of a ConfigMap."""
    if not root.is_mapping or "apiVersion" not in root.data:
        return
    for path in ("spec.serveConfigV2", "spec.rayServiceSpec.serveConfigV2"):
        text = root.get(path)
        if text is not None and isinstance(text.data, str):
            yield text
    data, kind = root.data.get("data"), root.data.get("kind")
    if kind is not None and kind.data == "ConfigMap" and data is not None and data.is_mapping:
        for name, text in data.data.items():
            if str(name).endswith((".yaml", ".yml")) and isinstance(text.data, str):
                yield text


def _scripts_of(data: Value) -> Iterator[Container]:
    """The scripts that a ConfigMap holds, each under a file's name."""
    for name, text in data.data.items():
        if str(name).endswith((".sh", ".bash")) and isinstance(text.data, str):
            found = Container([], {}, None)
            found.script = text
            yield found


def _container(node: Value) -> Container:
    env = _environment(node.data.get("env"))
    program, arguments = node.data.get("command"), node.data.get("args")
    image = node.data.get("image")
    found = Container([], env, _word(image, {}) if image is not None else None)
    items = [item for part in (program, arguments) if part is not None and part.is_list for item in part.data]
    found.argv = [_word(item, env) for item in items]
    found.whole = program is not None
    found.script = _shells_text(items)
    source = node.data.get("source")
    if source is not None and str(items[0].data if items else "sh").rsplit("/", 1)[-1] in _SHELLS:
        found.script = source
    for part in (program, arguments):  # no such form in Kubernetes, but in what is rendered into it
        if part is not None and isinstance(part.data, str):
            found.script = part
    limits = node.get("resources.limits")
    if limits is not None and limits.is_mapping:
        found.gpus = next((value for key, value in limits.data.items() if _ACCELERATOR.match(str(key))), None)
        found.count = found.gpus.data if found.gpus is not None else None
    return found


def _service(node: Value) -> Container:
    """A compose service. A text as `command` is taken apart as a shell would, but no shell gets it."""
    env = _environment(node.data.get("environment"))
    image = node.data.get("image")
    found = Container([], env, _word(image, {}) if image is not None else None)
    program, arguments = node.data.get("entrypoint"), node.data.get("command")
    items: list[Value] = []
    for part in (program, arguments):
        if part is None:
            continue
        if part.is_list:
            items += part.data
            found.argv += [_word(item, {}) for item in part.data]
        elif isinstance(part.data, str):
            found.argv += split(part)
    found.whole = program is not None and program.data is not None
    found.script = _shells_text(items)
    found.gpus, found.count = _reserved(node)
    return found


def _reserved(node: Value) -> tuple[Value | None, object]:
    """(the value that reserves GPUs for a compose service, how many); "all" is no number."""
    devices = node.get("deploy.resources.reservations.devices")
    for device in devices.data if devices is not None and devices.is_list else ():
        kinds = device.get("capabilities")
        if kinds is not None and kinds.is_list and "gpu" not in [kind.data for kind in kinds.data]:
            continue
        ids, count = device.get("device_ids"), device.get("count")
        if ids is not None and ids.is_list:
            return ids, len(ids.data)
        if count is not None:
            return count, count.data
    whole = node.data.get("gpus")
    return (whole, whole.data) if whole is not None and not whole.is_list else (None, None)


def _shells_text(items: list[Value]) -> Value | None:
    """The text of `sh -c text`; options may stand before and after the `-c`."""
    if len(items) < 3 or str(items[0].data).rsplit("/", 1)[-1] not in _SHELLS:
        return None
    for at, item in enumerate(items[1:], 1):
        text = str(item.data)
        if not text.startswith(("-", "+")):
            return None
        if "c" in text and not text.startswith("--"):
            return items[at + 1] if at + 1 < len(items) and isinstance(items[at + 1].data, str) else None
    return None


def split(value: Value) -> list[Word]:
    """A text that a program splits as a shell would; the lines of a block are words of one command."""
    from grpo_lint.syntax import shell

    stretch = stretch_of(value)
    if stretch is None:
        return [] if not isinstance(value.data, str) else [_word(value, {})]
    start, text = stretch
    text = text.replace("\\\n", "  ").replace("\n", " ").replace("$$", " $")
    excerpt = Excerpt(value.span.file, [(start, text)])
    with excerpt as file:
        commands = shell.run(file, bounds=excerpt.bounds).commands
    return list(commands[0].argv) if commands else []


def _environment(node: Value | None) -> dict[str, Word]:
    """`[{name, value}]`, `{name: value}` or `["name=value"]` as words; what is taken from elsewhere is left out."""
    env: dict[str, Word] = {}
    if node is None:
        return env
    if node.is_mapping:
        for name, value in node.data.items():
            if not (value.is_mapping or value.is_list or value.data is None):
                env[str(name)] = _word(value, env)
    elif node.is_list:
        for item in node.data:
            name, value = item.get("name"), item.get("value")
            if name is not None and value is not None:
                env[str(name.data)] = _word(value, env)
            elif isinstance(item.data, str) and "=" in item.data:
                word = _word(item, {})
                env[item.data.partition("=")[0]] = word.cut(item.data.index("=") + 1)
    return env


variables = _environment


def _word(value: Value, env: dict[str, Word]) -> Word:
    """A scalar as an argument: `$(VAR)` is what the environment says, or else the platform's to fill in."""
    text = value.raw if value.raw and not isinstance(value.data, str) else str(value.data)
    pieces: list[Piece] = []
    at = 0
    for match in VARIABLE.finditer(text):
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
