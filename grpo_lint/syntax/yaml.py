"""Reads YAML into located values, with scalars as the file's consumer would get them."""

from __future__ import annotations

import re

from grpo_lint.located import Unknown, Value
from grpo_lint.source import SourceFile, Span
from grpo_lint.syntax import scalars, yaml_text
from grpo_lint.syntax.document import MAX_DEPTH, MAX_PROBLEMS, Document, Problem, shown
from grpo_lint.syntax.yaml_events import error_class, events
from grpo_lint.syntax.yaml_tree import Anchor, Frame, Stop, Tree, template_message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MAX_RESUMES = 20
MAX_PURE = 200_000
"""Characters of a file that are worth reading again without the C parser, which takes 15 times as long."""
_STYLES = {"": "plain", "'": "single", '"': "double", "|": "literal", ">": "folded"}
_SCALAR_TAGS = frozenset(("!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp", "!!binary"))
_PATH_TAGS = frozenset(f"!!python/object/apply:pathlib.{name}" for name in ("Path", "PosixPath", "WindowsPath"))
_LIST_TAGS = {
    "pyyaml": frozenset(("!!seq", "!!omap", "!!pairs")),
    "omegaconf": frozenset(("!!seq", "!!omap", "!!pairs")) | _PATH_TAGS,
}
_MAPPING_TAGS = frozenset(("!!map", "!!set"))
_READERS = {"pyyaml": "PyYAML's safe loader", "omegaconf": "OmegaConf"}


def read(source: SourceFile, resolver: str, pure: bool = False) -> list[Document]:
    """The documents of a YAML file, at least one; `resolver` is "omegaconf" or "pyyaml".

    Tags are kept as text and nothing is constructed from them. Aliases share their target's data, and merge keys are
    applied. After a syntax error, reading resumes at the next key of the top level. `pure` keeps the C parser out.
    """
    documents = _read(source, resolver, pure)
    if not pure and len(source.text) <= MAX_PURE and any(map(_is_c_only, (p for d in documents for p in d.problems))):
        return _read(source, resolver, True)
    return documents


def _is_c_only(problem: Problem) -> bool:
    """Whether a problem may be the C parser's alone: it refuses `[pkg://x]`, which PyYAML's own scanner takes."""
    return problem.kind == "syntax" and problem.message.startswith("found unexpected ':'")


def _read(source: SourceFile, resolver: str, pure: bool) -> list[Document]:
    composer = _Composer(source, resolver, pure)
    start: int | None = composer.start
    while start is not None:
        start = composer.feed(start)
    return composer.finish()


class _Composer(Tree):
    """Builds documents from events. One event, one method."""

    def __init__(self, source: SourceFile, resolver: str, pure: bool) -> None:
        super().__init__(source, resolver)
        self.pure = pure
        self.start = 1 if source.text.startswith("\ufeff") else 0
        self.base = 0  # where the text of the present run of events starts
        self.documents: list[Document] = []
        self.comments: list[Span] = []
        self.text = self._printable(source.text)
        self.root_frame: Frame | None = None
        self.hashes: list[tuple[int, int]] = []  # scalars with a # inside: no comments
        self.resumes = 0
        self.handlers = {
            "ScalarEvent": self._scalar,
            "MappingStartEvent": self._mapping_start,
            "MappingEndEvent": self._collection_end,
            "SequenceStartEvent": self._sequence_start,
            "SequenceEndEvent": self._collection_end,
            "AliasEvent": self._alias,
            "DocumentStartEvent": self._document_start,
            "DocumentEndEvent": self._document_end,
        }

    def feed(self, start: int) -> int | None:
        """Reads the text from an offset on; where to resume, or None at the end."""
        self.base = start
        handlers = self.handlers
        try:
            for event in events(self.text[start:] if start else self.text, self.pure):
                handler = handlers.get(type(event).__name__)
                if handler is not None:
                    handler(event)
        except Stop:
            self.break_off(-1, "not read")
            return None
        except error_class() as error:
            return self._syntax_error(error)
        return None

    def finish(self) -> list[Document]:
        self.close_all()
        if self.root is not None or self.problems or not self.documents:
            self.documents.append(Document(self.root, self.problems, self.comments))
        if "#" in self.text:
            found = yaml_text.comments(self.text, self.hashes)
            self.comments += [self.source.span(start, end) for start, end in found]
        return self.documents

    def _printable(self, text: str) -> str:
        """The text with characters that YAML forbids replaced, each of them a problem."""
        if not yaml_text.has_forbidden(text):
            return text
        forbidden = re.compile(yaml_text.FORBIDDEN)
        for match in forbidden.finditer(text):
            message = f"character U+{ord(match.group()):04X} is not allowed in YAML"
            self.problem("syntax", message, match.start(), match.end())
            if len(self.problems) == MAX_PROBLEMS:
                break
        return forbidden.sub("\ufffd", text)

    # -- events

    def _document_start(self, event: Any) -> None:
        if self.root is not None:  # reading resumes within a document
            if event.end_mark.index == event.start_mark.index:
                return
            self._document_end(event)
        self.anchors = {}

    def _document_end(self, event: Any) -> None:
        if self.root is not None:
            self.documents.append(Document(self.root, self.problems, self.comments))
            self.problems = []
        self.root = self.root_frame = None

    def _scalar(self, event: Any) -> None:
        start, end = event.start_mark.index + self.base, event.end_mark.index + self.base
        tag = event.tag
        if tag is not None or event.anchor is not None:
            start = yaml_text.skip_properties(self.text, start, end)
        style = _STYLES[event.style or ""]
        if style == "plain":
            text = event.value
            if start == end and tag is None and event.anchor is None:
                start = end = self._empty_at(start)
            raw = text if len(text) == end - start else self.source.text[start:end]
        elif style == "single" or style == "double":
            raw = self.source.text[start + 1 : end - 1]
        else:
            end = yaml_text.block_scalar_end(self.text, start, end)
            raw = self.source.text[start:end]
        if "#" in raw:
            self.hashes.append((start, end))
        value = Value(event.value, Span(self.source, start, end), None, raw, style)
        if tag is not None:
            value.tag = yaml_text.short_tag(tag)
        if style == "plain" or tag is not None:
            value.data = self._resolve(value, event.implicit[0])
        if event.anchor is not None:
            self.anchor(event, value, open=False)
        self.end = end
        self.last = value
        self.count(1, start)
        self.add(value, 1, 0)

    def _empty_at(self, start: int) -> int:
        """Where an empty scalar stands: in a block, the parsers disagree on the white space after its `:` or `-`."""
        frame = self.frame
        if frame is None or frame.value.style == "flow":
            return start
        if isinstance(frame.value.data, list):
            return yaml_text.after_indicator(self.text, max(self.end, frame.value.span.start), start, "-")
        return yaml_text.after_indicator(self.text, self.end, start, ":") if frame.key is not None else start

    def _resolve(self, value: Value, implicit: bool) -> Any:
        text = value.data
        try:
            if implicit:
                return scalars.resolve(text, self.resolver)
            if value.tag in _SCALAR_TAGS:
                return scalars.convert(text, value.tag)
        except scalars.Unreadable as error:
            frame = self.frame
            is_key = frame is not None and frame.key is None and isinstance(frame.value.data, dict)
            if not (is_key and text in ("=", "<<")):
                self.problem("value", f"{shown(text)}: {error}", value.span.start, value.span.end)
            return text
        self._unknown_tag(value)
        return text

    def _unknown_tag(self, value: Value) -> None:
        span = value.span
        message = f"{_READERS[self.resolver]} does not know the tag {shown(value.tag)}"
        self.problem("tag", message, span.start, span.end)

    def _mapping_start(self, event: Any) -> None:
        if not self.stack and self.frame is None and self.root_frame is not None:  # reading resumes
            self.frame = self.root_frame
            self.frame.key = None
            return
        known = event.tag is None or event.tag == "!" or yaml_text.short_tag(event.tag) in _MAPPING_TAGS
        self._collection_start(event, {}, known)

    def _sequence_start(self, event: Any) -> None:
        known = event.tag is None or event.tag == "!" or yaml_text.short_tag(event.tag) in _LIST_TAGS[self.resolver]
        self._collection_start(event, [], known)

    def _collection_start(self, event: Any, data: Any, known_tag: bool) -> None:
        start = event.start_mark.index + self.base
        if event.tag is not None or event.anchor is not None:
            start = yaml_text.skip_properties(self.text, start, len(self.text))
        if len(self.stack) >= MAX_DEPTH:
            self.stop("too-deep", f"nested more than {MAX_DEPTH} deep; the rest was not read", start)
        value = Value(data, Span(self.source, start, start), None, "", "flow" if event.flow_style else "block")
        if event.tag is not None:
            value.tag = yaml_text.short_tag(event.tag)
            if not known_tag:
                self._unknown_tag(value)
        anchor = self.anchor(event, value, open=True) if event.anchor is not None else None
        self.count(1, start)
        self.add(value, 0, 0)
        if self.frame is not None:
            self.stack.append(self.frame)
        self.frame = Frame(value, anchor)
        if self.root is value:
            self.root_frame = self.frame if value.style == "block" and isinstance(data, dict) else None

    def _collection_end(self, event: Any) -> None:
        if self.frame is None:
            return
        if event.end_mark.index > event.start_mark.index:  # a closing bracket
            self.end = event.end_mark.index + self.base
        self.close(self.frame)

    def _alias(self, event: Any) -> None:
        start, end = event.start_mark.index + self.base, event.end_mark.index + self.base
        span = Span(self.source, start, end)
        self.end = end
        anchor = self.anchors.get(event.anchor)
        if anchor is None or anchor.open:
            name = shown(span.text)
            if anchor is None:
                kind, message = "undefined-alias", f"{name} refers to an anchor that is not defined before it"
            else:
                kind, message = "alias-cycle", f"{name} stands inside the value that it refers to"
            self.problem(kind, message, start, end, fatal=anchor is None or self.resolver == "omegaconf")
            self.add(Value(Unknown(kind.replace("-", " ")), span, None, span.text), 1, 0)
            return
        self.count(anchor.size, start)
        if len(self.stack) + anchor.height >= MAX_DEPTH:
            self.stop("too-deep", f"nested more than {MAX_DEPTH} deep; the rest was not read", start)
        target = anchor.value
        via = (span, *target.via)
        value = Value(target.data, target.span, None, target.raw, target.style, target.tag, via)
        self.add(value, anchor.size, anchor.height + 1)

    def anchor(self, event: Any, value: Value, open: bool) -> Anchor:
        name = event.anchor
        earlier = self.anchors.get(name)
        if earlier is not None:
            start = event.start_mark.index + self.base
            at = self.text.find("&" + name, start)
            related = ((earlier.value.span, "first used here"),)
            self.problem("duplicate-anchor", f"anchor &{shown(name)} is defined twice", at, at + len(name) + 1, related)
        anchor = self.anchors[name] = Anchor(value, open)
        return anchor

    # -- faults

    def _syntax_error(self, error: Any) -> int | None:
        """Reports a fault; where to resume reading after it."""
        at = min(_offset(error, "problem_mark") + self.base, len(self.text))
        context = getattr(error, "context", None) or ""
        # what was opened and never closed is looked for from where it was opened
        opened = _offset(error, "context_mark") + self.base if "flow" in context or "quoted" in context else at
        self.break_off(at, "syntax error")
        template = yaml_text.template_near(self.text, at)
        if template is None:
            self._report(error, context, opened, at)
            return self._resume(min(opened, at))
        code = self.text[slice(*template)]
        if not any(problem.kind == "template" and problem.span.end >= template[0] for problem in self.problems[-1:]):
            self.problem("template", template_message(code), *template)
        return None if yaml_text.is_control(code) else self._resume(min(opened, at))

    def _report(self, error: Any, context: str, opened: int, at: int) -> None:
        message = getattr(error, "problem", None) or str(error)
        if self.text[at : at + 1] == "\t":
            message = "a tab can't be used to indent"
        elif context:
            message = f"{message} {context}"
        related = ((self.source.span(opened, opened + 1), "it starts here"),) if opened < at else ()
        self.problem("syntax", message, at, min(at + 1, len(self.text)), related)

    def _resume(self, fault: int) -> int | None:
        if self.root_frame is None:
            return None
        start = yaml_text.next_top_level_key(self.text, fault)
        if start is None or start <= self.base:
            return None
        self.resumes += 1
        if self.resumes > _MAX_RESUMES:
            self.problem("gave-up", "too many faults; the rest was not read", start, start)
            return None
        return start


def _offset(error: Any, name: str) -> int:
    mark = getattr(error, name, None)
    return mark.index if mark is not None else 0
