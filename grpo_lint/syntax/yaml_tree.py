"""Builds located values from YAML's nodes: keys, duplicates, merge keys, and the limits on size."""

from __future__ import annotations

from grpo_lint.located import Unknown, Value
from grpo_lint.source import SourceFile, Span
from grpo_lint.syntax.document import MAX_NODES, MAX_PROBLEMS, Problem, shown


class Stop(Exception):
    """A limit was reached."""


class Anchor:
    __slots__ = ("height", "open", "size", "value")

    def __init__(self, value: Value, open: bool) -> None:
        self.value = value
        self.open = open
        self.size = 1  # nodes, aliases expanded
        self.height = 0


class Frame:
    """A collection that is being read."""

    __slots__ = ("anchor", "height", "key", "keys", "merges", "size", "template", "value")

    def __init__(self, value: Value, anchor: Anchor | None) -> None:
        self.value = value
        self.anchor = anchor
        self.key: Value | None = None
        self.keys: dict[str, Value] = {}
        self.merges: list[tuple[Value, Value]] = []
        self.size = 1
        self.height = 0
        self.template = False


class Tree:
    """The document that is being read. The last of `stack` and `frame` are the collections that are still open."""

    def __init__(self, source: SourceFile, resolver: str) -> None:
        self.source = source
        self.resolver = resolver
        self.problems: list[Problem] = []
        self.root: Value | None = None
        self.frame: Frame | None = None
        self.stack: list[Frame] = []
        self.anchors: dict[str, Anchor] = {}
        self.last: Value | None = None  # the scalar that was read last
        self.nodes = 0
        self.end = 0  # of what was read last

    def problem(
        self,
        kind: str,
        message: str,
        start: int,
        end: int,
        related: tuple[tuple[Span, str], ...] = (),
        fatal: bool = True,
    ) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(kind, message, self.source.span(start, end), related, fatal))

    def stop(self, kind: str, message: str, start: int) -> None:
        self.problem(kind, message, start, start)
        raise Stop

    def close(self, frame: Frame) -> None:
        value = frame.value
        span = value.span
        span.end = max(self.end, span.start)
        if frame.merges:
            self._merge(frame)
        if frame.template:
            value.raw = self.source.text[span.start : span.end]
            value.data = Unknown("template code")
            self.problem("template", template_message(value.raw), span.start, span.end)
        if frame.anchor is not None:
            frame.anchor.open = False
            frame.anchor.size = frame.size
            frame.anchor.height = frame.height
        self.frame = self.stack.pop() if self.stack else None
        if self.frame is not None:
            self.frame.size += frame.size
            self.frame.height = max(self.frame.height, frame.height + 1)

    def close_all(self) -> None:
        while self.frame is not None:
            self.close(self.frame)

    def break_off(self, at: int, reason: str) -> None:
        """Closes everything where reading stops; what that may have cut short or run together is unknown."""
        last, frame, broken = self.last, self.frame, Unknown(reason)
        if last is not None and last.span.end == at:
            last.data = broken
        while frame is not None:
            if frame.key is not None:
                self.add(Value(broken, Span(self.source, frame.key.span.end, frame.key.span.end)), 1, 0)
            if frame.template:
                frame.template = False
                frame.value.data = Unknown("template code")
            elif frame.value.style == "flow" and self.stack and frame.value.data:
                frame.value.data = broken
            self.close(frame)
            frame = self.frame

    def count(self, size: int, start: int) -> None:
        self.nodes += size
        if self.nodes > MAX_NODES:
            self.stop("gave-up", f"more than {MAX_NODES:,} values, aliases expanded; the rest was not read", start)

    def add(self, value: Value, size: int, height: int) -> None:
        frame = self.frame
        if frame is None:
            if self.root is None:
                self.root = value
            return
        frame.size += size
        if height > frame.height:
            frame.height = height
        data = frame.value.data
        if isinstance(data, list):
            data.append(value)
        elif frame.key is None:
            frame.key = value
            if value.span.start < frame.value.span.start and not value.via:  # a first key with an anchor of its own
                frame.value.span.start = value.span.start
        else:
            self._set(frame, frame.key, value)
            frame.key = None

    def _set(self, frame: Frame, key: Value, value: Value) -> None:
        if key.raw == "<<" and key.style == "plain" and not key.tag:
            frame.merges.append((key, value))
            return
        name = self._key_name(frame, key)
        earlier = frame.keys.get(name)
        if earlier is not None and type(earlier.data) is type(key.data):
            self._duplicate(name, earlier, key)
        frame.keys[name] = key
        value.key_span = key.via[0] if key.via else key.span
        frame.value.data[name] = value

    def _key_name(self, frame: Frame, key: Value) -> str:
        if isinstance(key.data, str):
            return key.data
        if not isinstance(key.data, (dict, list, Unknown)):
            return key.raw
        start, end = key.span.start, key.span.end
        name = self.source.text[start:end]
        if (
            frame.value.style == key.style == "flow"
            and isinstance(key.data, dict)
            and start == frame.value.span.start + 1
        ):
            frame.template = True
        elif not isinstance(key.data, Unknown):
            kind = "list" if isinstance(key.data, list) else "mapping"
            self.problem("key", f"a {kind} can't be a key", start, end)
        return name

    def _duplicate(self, name: str, earlier: Value, key: Value) -> None:
        refused = self.resolver == "omegaconf" and isinstance(key.data, str)
        outcome = "OmegaConf refuses the file" if refused else "the last one wins, silently"
        related = ((earlier.span, "first set here"),)
        span = key.via[0] if key.via else key.span
        self.problem(
            "duplicate-key", f"key {shown(name)} is set twice: {outcome}", span.start, span.end, related, refused
        )

    def _merge(self, frame: Frame) -> None:
        """Puts merged values below a mapping's own. Of a list's mappings the first wins, of several merges the last."""
        merged: dict[str, Value] = {}
        for key, value in frame.merges:
            sources = value.data if isinstance(value.data, list) else [value]
            for source in reversed(sources):
                if isinstance(source.data, dict):
                    place = (source.via or value.via or (key.span,))[0]
                    for name, child in source.data.items():
                        merged[name] = _moved(child, place)
                elif not isinstance(source.data, Unknown):
                    span = source.span
                    self.problem("merge", "<< merges mappings only, and this is none", span.start, span.end)
        frame.merges = []
        data = frame.value.data
        merged.update(data)
        data.clear()
        data.update(merged)


def _moved(value: Value, place: Span) -> Value:
    """A merged value: its own place, reached through the merge's."""
    via = (place, *value.via)
    return Value(value.data, value.span, value.key_span, value.raw, value.style, value.tag, via)


def template_message(text: str) -> str:
    return f"template code ({shown(text)}): this is no YAML until it is rendered"
