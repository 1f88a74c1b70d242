"""JUnit's XML, as Jenkins and GitLab show it: a test suite a file that has findings, a test case a finding.

Nothing but what `junit-10.xsd` of jenkinsci/xunit-plugin (at 031e285ef3b6) allows is written. An error and a warning
are failures; a note is a skipped test, which fails no build. A test case's class and name are made of the rule, the
path and the option, so that its history survives moves of lines. The suite `grpo-lint` comes last and is always there,
since Jenkins refuses a report without tests: its one test passes if the linting is whole, and lists what was not read.
"""

from __future__ import annotations

from grpo_lint.reporters.markup import DECLARATION, attributes, paragraph
from grpo_lint.reporters.messages import in_lines, in_one_line, placed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TextIO

    from grpo_lint.diagnostics import Diagnostic
    from grpo_lint.report import Report
    from grpo_lint.reporters import Style


def write(report: Report, out: TextIO, style: Style) -> None:
    """Suites in the order of their paths' first findings, then the linting itself."""
    suites: dict[str, list[Diagnostic]] = {}
    for diagnostic in report.diagnostics:
        suites.setdefault(diagnostic.primary.span.file.path, []).append(diagnostic)
    notes, errors = report.count("note"), int(report.errors)
    failures = len(report.diagnostics) - notes
    total = attributes(name="grpo-lint", tests=failures + notes + 1, failures=failures, errors=errors)
    lines = [DECLARATION, f"<testsuites{total}>"]
    for path, diagnostics in suites.items():
        lines += _suite(path, diagnostics)
    lines += _linting(report)
    out.write("\n".join([*lines, "</testsuites>", ""]))


def _suite(path: str, diagnostics: list[Diagnostic]) -> Iterable[str]:
    notes = sum(diagnostic.severity == "note" for diagnostic in diagnostics)
    tests = len(diagnostics)
    counts = attributes(name=path, tests=tests, failures=tests - notes, errors=0, skipped=notes, file=path)
    yield f"  <testsuite{counts}>"
    seen: dict[tuple[str, str], int] = {}
    for diagnostic in diagnostics:
        what = (diagnostic.rule, diagnostic.key)
        seen[what] = seen.get(what, 0) + 1
        yield from _case(diagnostic, seen[what])
    yield "  </testsuite>"


def _case(diagnostic: Diagnostic, nth: int) -> Iterable[str]:
    """A test case. Of findings that agree in rule, path and option, all but the first have their number in the name."""
    path = diagnostic.primary.span.file.path
    name = (f"{path}: {diagnostic.key}" if diagnostic.key else path) + (f" ({nth})" if nth > 1 else "")
    outcome = "skipped" if diagnostic.severity == "note" else "failure"
    head = attributes(type=f"{diagnostic.rule} {diagnostic.severity}", message=in_one_line(diagnostic))
    body = paragraph([placed(diagnostic.primary), *in_lines(diagnostic), *map(placed, diagnostic.related)])
    yield f"    <testcase{attributes(classname=f'grpo-lint.{diagnostic.rule}', name=name, time=0)}>"
    yield f"      <{outcome}{head}>{body}</{outcome}>"
    yield "    </testcase>"


def _linting(report: Report) -> Iterable[str]:
    counts = attributes(name="grpo-lint", tests=1, failures=0, errors=int(report.errors), skipped=0)
    yield f"  <testsuite{counts}>"
    yield f"    <testcase{attributes(classname='grpo-lint.linting', name='every file is read', time=0)}>"
    told = [f"{notice.path}: {notice.message}" if notice.path else notice.message for notice in report.notices]
    if report.errors:
        message = attributes(type="incomplete", message="the linting is not whole")
        yield f"      <error{message}>{paragraph(told)}</error>"
    elif told:
        yield f"      <system-out>{paragraph(told)}</system-out>"
    yield "    </testcase>"
    yield "  </testsuite>"
