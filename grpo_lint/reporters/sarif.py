"""SARIF 2.1.0, as GitHub code scanning and other viewers read it.

sarif-om gives the objects; it has no serializer, and the usual one drops `level: warning`, so ours is here. What GitHub
requires and what it limits is in its pages "SARIF support for code scanning" and "SARIF results exceed limits".
"""

from __future__ import annotations

import os
from json import dumps
from posixpath import normpath
from urllib.parse import quote

import sarif_om as om

from grpo_lint import __version__
from grpo_lint.diagnostics import RANK, Label
from grpo_lint.reporters.characters import count, well_formed
from grpo_lint.reporters.fingerprints import line_hashes, named
from grpo_lint.reporters.places import exact_region, region

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TextIO

    from grpo_lint.diagnostics import Diagnostic, Fix, Notice
    from grpo_lint.report import Report, Suppressed
    from grpo_lint.reporters import Style
    from grpo_lint.rules.rule import Rule
    from grpo_lint.source import SourceFile, Span

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
MAX_RESULTS = 25_000
MAX_SIZE = 10_000_000
"""Bytes of a file that was packed by gzip; GitHub refuses a larger one as a whole."""
MAX_TAGS = 10
MAX_RELATED = 100
MAX_DESCRIPTION = 1024
_PRECISION = {"solid": "very-high", "conditional": "high", "contested": "high"}
_PROBLEM = {"error": "error", "warning": "warning", "note": "recommendation"}


def write(report: Report, out: TextIO, style: Style) -> None:
    most = MAX_RESULTS
    while True:
        text = _text(report, most)
        size = _packed(text)
        if size <= MAX_SIZE or not most:
            break
        most = min(most, len(report.diagnostics) + len(report.suppressed)) * MAX_SIZE // size * 9 // 10
    out.write(text)


def _text(report: Report, most: int) -> str:
    """The document with at most so many results.

    The version comes first, for readers that decide by it. ASCII only, so that it is right in whatever encoding the
    stream has; on one line, since Python indents slowly.
    """
    document = plain(log(report, most))
    document = {"$schema": document["$schema"], "version": document["version"], **document}
    return dumps(document, separators=(",", ":")) + "\n"


def _packed(text: str) -> int:
    """About the size that gzip makes of a text; a short text isn't packed to know that it is short."""
    if len(text) <= MAX_SIZE:
        return len(text)
    from zlib import compress

    return len(compress(text.encode("ascii"), 6))


def plain(node: Any) -> Any:
    """A sarif-om object as plain data: what isn't set is left out, a level never is.

    A result without its level takes its rule's, not the default that sarif-om gives it.
    """
    if isinstance(node, list):
        return [plain(item) for item in node]
    fields = _fields(type(node))
    if fields is None:
        return node
    found: dict[str, Any] = {}
    for attribute, value in vars(node).items():
        if value is not None:
            name, default = fields[attribute]
            if default is None or value != default or name == "level":
                found[name] = value if isinstance(value, _SCALARS) else plain(value)
    return found


_SCALARS = (str, int)
_known_fields: dict[type, dict[str, tuple[str, Any]] | None] = {}


def _fields(kind: type) -> dict[str, tuple[str, Any]] | None:
    """The attributes of a sarif-om class with SARIF's names for them and their defaults; None for any other class."""
    if kind not in _known_fields:
        attributes = getattr(kind, "__attrs_attrs__", None)
        _known_fields[kind] = attributes and {
            attribute.name: (attribute.metadata["schema_property_name"], attribute.default) for attribute in attributes
        }
    return _known_fields[kind]


def log(report: Report, most: int = MAX_RESULTS) -> om.SarifLog:
    """The whole document: always one run, since GitHub no longer joins runs of one tool."""
    found = named(report)
    kept = found
    if len(found) > most:
        worst = sorted(range(len(found)), key=lambda index: _importance(*found[index][:2]))[:most]
        kept = [found[index] for index in sorted(worst)]
    builder = _Builder(report.rules, [diagnostic for diagnostic, _, _ in kept])
    notifications = [_notification(notice, report.errors) for notice in report.notices]
    if len(kept) < len(found):
        left = count(len(found) - len(kept), "finding")
        room = f"{MAX_RESULTS:,}" if most == MAX_RESULTS else f"{MAX_SIZE:,} bytes"
        notifications.append(_note(f"{left} of the least severity left out: GitHub takes {room}."))
    driver = om.ToolComponent(
        name="grpo-lint",
        version=__version__,
        semantic_version=__version__,
        rules=[rule_descriptor(rule) for rule in report.rules],
        contents=None,
    )
    run = om.Run(
        tool=om.Tool(driver=driver),
        results=[builder.result(*one) for one in kept],
        invocations=[om.Invocation(execution_successful=not report.errors, tool_execution_notifications=notifications)],
        automation_details=om.RunAutomationDetails(id="grpo-lint/"),
        version_control_provenance=_provenance(report),
        column_kind="unicodeCodePoints",
    )
    return om.SarifLog(runs=[run], version="2.1.0", schema_uri=SCHEMA)


def _provenance(report: Report) -> list[om.VersionControlDetails] | None:
    """The commit that was linted, where the files of one repository tell it."""
    from grpo_lint.provenance import of

    known = of(report.roots[0]) if len(report.roots) == 1 else None
    if known is None:
        return None
    branch = well_formed(known.branch) or None
    return [om.VersionControlDetails(repository_uri=known.address, revision_id=known.commit, branch=branch)]


def _importance(diagnostic: Diagnostic, suppressed: Suppressed | None) -> tuple[bool, int]:
    """What is less is more important."""
    return suppressed is not None, -RANK[diagnostic.severity]


def rule_descriptor(rule: Rule) -> om.ReportingDescriptor:
    page = well_formed(rule.page) or rule.name
    properties: dict[str, Any] = {
        "precision": _PRECISION.get(rule.evidence, "medium"),
        "problem.severity": _PROBLEM[rule.severity],
        "tags": list(dict.fromkeys(rule.topics))[:MAX_TAGS],
    }
    if threat := rule.declared.threat:  # with a score, GitHub makes a result a security alert
        properties["security-severity"] = threat
        properties["tags"] = ["security", *(tag for tag in properties["tags"] if tag != "security")][:MAX_TAGS]
    return om.ReportingDescriptor(
        id=rule.id,
        name=rule.name,
        short_description=om.MultiformatMessageString(text=_cut(rule.summary or rule.name)),
        full_description=om.MultiformatMessageString(text=_cut(_description(page))),
        help=om.MultiformatMessageString(text=page, markdown=page),
        default_configuration=om.ReportingConfiguration(level=rule.severity),
        properties=properties,
    )


def _description(page: str) -> str:
    """The first sentence of a page and the paragraph after it, which says what the rule does; without headings."""
    text = "\n".join("" if line.startswith("#") else line for line in page.split("\n"))
    paragraphs = (" ".join(part.split()) for part in text.split("\n\n") if not part.lstrip().startswith("```"))
    return " ".join([part for part in paragraphs if part][:2]) or page


def _cut(text: str) -> str:
    text = well_formed(text)
    return text if len(text) <= MAX_DESCRIPTION else text[: MAX_DESCRIPTION - 3].rsplit(" ", 1)[0] + "..."


class _Builder:
    """Makes results; keeps what is the same for all results of a file."""

    def __init__(self, rules: Sequence[Rule], diagnostics: Sequence[Diagnostic]) -> None:
        self._index = {rule.id: index for index, rule in enumerate(rules)}
        self._artifacts: dict[str, om.ArtifactLocation] = {}
        lines: dict[SourceFile, set[int]] = {}
        for diagnostic in diagnostics:
            span = diagnostic.primary.span
            if not span.file.credentials:  # the hash would be that of a masked line; GitHub's uploader makes its own
                lines.setdefault(span.file, set()).add(span.line)
        self._hashes = {file: line_hashes(file.text, wanted) for file, wanted in lines.items()}

    def result(self, diagnostic: Diagnostic, suppressed: Suppressed | None, name: str) -> om.Result:
        fingerprints = {"grpoLint/v1": name}
        span = diagnostic.primary.span
        if line_hash := self._hashes.get(span.file, {}).get(span.line):
            fingerprints["primaryLocationLineHash"] = line_hash
        related = diagnostic.related[:MAX_RELATED]
        details: dict[str, Any] = {"key": well_formed(diagnostic.key)} if diagnostic.key else {}
        if diagnostic.when:
            details["when"] = [well_formed(condition) for condition in diagnostic.when]
        return om.Result(
            rule_id=diagnostic.rule,
            rule_index=self._index.get(diagnostic.rule, -1),
            level=diagnostic.severity,
            message=om.Message(text=_message(diagnostic, related)),
            locations=[self._location(diagnostic.primary)],
            related_locations=[self._location(label, id) for id, label in enumerate(related, 1)] or None,
            partial_fingerprints=fingerprints,
            fixes=[self._fix(diagnostic.fix)] if diagnostic.fix and diagnostic.fix.edits else None,
            suppressions=[self._suppression(suppressed)] if suppressed is not None else None,
            properties=details or None,
        )

    def _suppression(self, suppressed: Suppressed) -> om.Suppression:
        """A comment is in the source; what settings and baselines suppress is not."""
        span = suppressed.span
        return om.Suppression(
            kind="inSource" if suppressed.kind == "comment" else "external",
            justification=well_formed(suppressed.reason) or None,
            location=self._location(Label(span, "")) if span is not None else None,
        )

    def _artifact(self, file: SourceFile) -> om.ArtifactLocation:
        if file.path not in self._artifacts:
            self._artifacts[file.path] = om.ArtifactLocation(uri=uri(file.path))
        return self._artifacts[file.path]

    def _location(self, label: Label, id: int = -1) -> om.Location:
        place = om.PhysicalLocation(
            artifact_location=self._artifact(label.span.file), region=_region(region(label.span))
        )
        text = _unlinked(label.text)
        return om.Location(id=id, physical_location=place, message=om.Message(text=text) if text else None)

    def _fix(self, fix: Fix) -> om.Fix:
        changes: dict[SourceFile, list[om.Replacement]] = {}
        for span, text in fix.edits:
            changes.setdefault(span.file, []).append(_replacement(span, text))
        return om.Fix(
            description=om.Message(text=_unlinked(fix.title)) if fix.title else None,
            artifact_changes=[
                om.ArtifactChange(artifact_location=self._artifact(file), replacements=replacements)
                for file, replacements in changes.items()
            ],
        )


def _replacement(span: Span, text: str) -> om.Replacement:
    inserted = om.ArtifactContent(text=well_formed(text)) if text else None
    return om.Replacement(deleted_region=_region(exact_region(span)), inserted_content=inserted)


def _region(numbers: tuple[int, int, int, int]) -> om.Region:
    line, column, end_line, end_column = numbers
    return om.Region(start_line=line, start_column=column, end_line=end_line, end_column=end_column)


def _message(diagnostic: Diagnostic, related: Sequence[Label]) -> str:
    """The message, what to do, and a link to each related place: GitHub shows those only where a message links them.

    A link's text is a path and a line, so that it needs no escapes, which not every viewer understands.
    """
    parts = [_sentence(diagnostic.message or diagnostic.rule)]
    if diagnostic.when:
        parts.append(_sentence(f"When {' and '.join(diagnostic.when)}"))
    if diagnostic.help:
        parts.append(_sentence(f"Help: {diagnostic.help}"))
    if related:
        links = [f"{_unlinked(label.text)} {_link(label.span, id)}".lstrip() for id, label in enumerate(related, 1)]
        parts.append(f"See: {'; '.join(links)}.")
    return "\n".join(parts)


def _sentence(text: str) -> str:
    text = _unlinked(text).rstrip()
    return text if text.endswith((".", "!", "?")) else text + "."


def _unlinked(text: str) -> str:
    """Text in which nothing is a link. Braces stay single: viewers show `{{` as it is where nothing is filled in."""
    return well_formed(text).replace("](", "\\](")


def _link(span: Span, id: int) -> str:
    text = well_formed(f"{span.file.path}:{span.line}")
    for character in "\\[]":
        text = text.replace(character, "\\" + character)
    return f"[{text}]({id})"


def _notification(notice: Notice, failed: bool) -> om.Notification:
    note = _note(_sentence(notice.message or "unreadable"), "error" if failed else "warning")
    if notice.path:
        place = om.PhysicalLocation(artifact_location=om.ArtifactLocation(uri=uri(notice.path)))
        note.locations = [om.Location(physical_location=place)]
    return note


def _note(text: str, level: str = "warning") -> om.Notification:
    return om.Notification(message=om.Message(text=text), level=level)


def uri(path: str) -> str:
    """A path as a URI reference: relative to the working directory, or absolute for a file that isn't below it.

    GitHub takes relative references from the root of the repository; one that climbs out of it means nothing there.
    """
    path = normpath(path)
    if not os.path.isabs(path) and path != ".." and not path.startswith("../"):
        return _quote(path)
    path = os.path.abspath(path).replace(os.sep, "/")
    return "file://" + _quote(path if path.startswith("/") else "/" + path)


def _quote(path: str) -> str:
    try:
        return quote(path, errors="surrogateescape")
    except UnicodeEncodeError:  # a lone surrogate that stands for no byte: only a Windows name has one
        return quote(path, errors="surrogatepass")
