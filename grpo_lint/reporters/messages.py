"""What a finding says, as harmless lines, for formats that have one field for all of it."""

from __future__ import annotations

from grpo_lint.reporters.characters import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.diagnostics import Diagnostic, Label


def in_lines(diagnostic: Diagnostic) -> list[str]:
    """The message, then `when: ...` and `help: ...` if there are any; help may take several lines."""
    lines = [diagnostic.message]
    if diagnostic.when:
        lines.append(f"when: {' and '.join(diagnostic.when)}")
    if diagnostic.help:
        lines += f"help: {diagnostic.help}".split("\n")
    return [visible(line) for line in lines]


def in_one_line(diagnostic: Diagnostic) -> str:
    """`message (when A=1 and B=2); help: ...`"""
    when = f" (when {' and '.join(diagnostic.when)})" if diagnostic.when else ""
    help = f"; help: {' '.join(diagnostic.help.split())}" if diagnostic.help else ""
    return visible(diagnostic.message + when + help)


def placed(label: Label) -> str:
    """`path:line:column: text`"""
    span = label.span
    line, column = span.file.position(span.start)
    return visible(f"{span.file.path}:{line}:{column}: {label.text}".removesuffix(": "))
