"""`--fix` and `--diff`: fixes what can be fixed, and writes it, or shows what it would write."""

from __future__ import annotations

import sys

from grpo_lint import atomic
from grpo_lint.arguments import UsageError
from grpo_lint.discover import shown
from grpo_lint.outputs import reads_stdin
from grpo_lint.repair import Repair
from grpo_lint.reporters.characters import count
from grpo_lint.source import SourceFile, Unreadable, decode, read_bytes
from grpo_lint.terminal import colored, say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grpo_lint.arguments import Options
    from grpo_lint.changes import Changes
    from grpo_lint.repair import Lint
    from grpo_lint.report import Report

_COLORS = {"+": "32", "-": "31", "@": "36"}
_BOLD = "1"


def fixed(
    options: Options, paths: Sequence[str], given: dict[str, bytes], look: Lint, changes: Changes | None
) -> tuple[Report, bool]:
    """Fix, and return the report of what is left, and whether something is, or would be, edited."""
    _require(options)
    repair = Repair(look, paths, given, options.unsafe_fixes, changes)
    report = repair.run()
    if options.diff:
        _show(repair, options)
        for notice in report.notices if report.errors else ():
            say(f"{notice.path}: {notice.message}" if notice.path else notice.message)
    elif reads_stdin(options):
        data = next(iter(repair.after.values()), next(iter(given.values())))
        _write_out(data)
    elif not _write(repair, report):
        report, _ = look({})  # what stands in the files, since not all could be written
        report.errors = True
    if repair.fixed:
        does = "would fix" if options.diff else "fixed"
        files = len({path for one in repair.fixed for path in one.edits})
        say(f"{does} {count(len(repair.fixed), 'finding')} in {count(files, 'file')}")
    return report, bool(repair.after)


def _require(options: Options) -> None:
    if not (options.fix or options.diff):
        raise UsageError("--unsafe-fixes: say with --fix or --diff what to do with the fixes")
    if options.diff:
        others = (options.output, options.write_baseline, options.statistics or None)
        names = ("--output", "--write-baseline", "--statistics")
        for name, value in zip(names, others, strict=True):
            if value is not None:
                raise UsageError(f"--diff: it prints a diff in place of a report, so {name} does not go with it")
    elif reads_stdin(options) and any("=" not in text for text in options.output or ()):
        raise UsageError("--fix: standard output has the fixed text, so name a file: --output FORMAT=FILE")


def _write(repair: Repair, report: Report) -> bool:
    """Write each file that changed, whole or not at all; False, with what was in the way said, if one couldn't be."""
    whole = True
    for path, data in repair.after.items():
        name = shown(path)
        try:
            if read_bytes(path) != repair.before[path]:
                why = "it changed while it was being fixed; run it once more"
            else:
                atomic.write_bytes(path, data)
                continue
        except Unreadable as error:
            why = str(error)
        except OSError as error:
            why = error.strerror or str(error)
        say(f"{name}: not fixed: {why}")
        repair.fixed = [one for one in repair.fixed if path not in one.edits]
        whole = False
    return whole


def _write_out(data: bytes) -> None:
    """Bytes to standard output as they are."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _show(repair: Repair, options: Options) -> None:
    """The changes as a unified diff, which `patch` and `git apply` take. A terminal gets it without control codes."""
    terminal, color = sys.stdout.isatty(), colored(options.color)
    for path in sorted(repair.after, key=shown):
        lines = "".join(_diff(shown(path), repair.before[path], repair.after[path]))
        if terminal or color:
            from grpo_lint.reporters.characters import visible

            sys.stdout.write("".join(f"{_painted(visible(line), color)}\n" for line in lines.splitlines()))
        else:
            _write_out(lines.encode("utf-8", "surrogateescape"))


def _painted(line: str, color: bool) -> str:
    code = _BOLD if line.startswith(("--- ", "+++ ")) else _COLORS.get(line[:1], "")
    return f"\x1b[{code}m{line}\x1b[0m" if color and code else line


def _diff(name: str, before: bytes, after: bytes) -> Iterator[str]:
    from difflib import unified_diff

    old, new = (SourceFile(name, decode(data)).text.split("\n") for data in (before, after))  # credentials masked
    for line in unified_diff(_ended(old), _ended(new), name, name):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _ended(lines: list[str]) -> list[str]:
    """Lines with their ends; a last one without an end has none."""
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
