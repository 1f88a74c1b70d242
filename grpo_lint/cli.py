"""The command line. Exit codes: 0 clean, 1 findings at or above --fail-on, 2 usage or internal error, 130 Ctrl-C."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from grpo_lint.arguments import Options
    from grpo_lint.baseline import Baseline
    from grpo_lint.changes import Changes
    from grpo_lint.engine import Linter
    from grpo_lint.report import Report
    from grpo_lint.settings import Settings

CLEAN, FOUND, FAILED, INTERRUPTED = 0, 1, 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if sys.stdout is None or sys.stderr is None:  # closed by whoever started us
        _open_closed_streams()
    try:
        if words in (["--version"], ["-V"]):
            return _version()
        import gc

        gc.disable()  # a linting is short, and cycles are few: collecting costs a tenth of the time
        code = _run(words)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        return _failed(error)


def run() -> NoReturn:
    """The program: as `main`, but ends the process at once.

    Taking a process apart in good order costs as much as importing a tenth of it, for memory that ends with it anyway.
    """
    import os

    if sys.argv[1:2] != ["--version"]:
        from grpo_lint.modules import find_directly

        find_directly()
    code = main()
    sys.stderr.flush()
    os._exit(code)


def _open_closed_streams() -> None:
    import os

    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115


def _version() -> int:
    from grpo_lint import __version__

    sys.stdout.write(f"grpo-lint {__version__}\n")
    sys.stdout.flush()
    return CLEAN


def _run(words: list[str]) -> int:
    from grpo_lint.arguments import COMMANDS, Options, UsageError, parser
    from grpo_lint.modules import module
    from grpo_lint.settings import SettingsError

    command = words[0] if words and words[0] in COMMANDS else "check"
    if words and words[0] == command:
        words = words[1:]
    try:
        options = Options()
        if command == "check" and not any(word.startswith("-") for word in words):
            options.paths = words  # as a hook calls us; importing argparse would take a tenth of the time
        elif "--" in words:  # after which a path may start with a dash
            parser(command).parse_args(words, options)
        else:
            parser(command).parse_intermixed_args(words, options)  # paths may stand among options
        _require_working_directory()
        if command == "check":
            return _check(options)
        code: int = module(f"commands.{command}").answer(options)
        return code
    except SystemExit as end:  # from argparse, which has said why
        return CLEAN if end.code == CLEAN else FAILED
    except (SettingsError, UsageError) as error:
        _say(str(error))
        return FAILED


def _require_working_directory() -> None:
    import os

    from grpo_lint.arguments import UsageError

    try:
        os.getcwd()
    except OSError as error:
        raise UsageError(f"the working directory can't be used: {error.strerror}") from None


def _failed(error: Exception) -> int:
    """Say in a line what went wrong outside of any file; a traceback's exit code would mean findings."""
    if isinstance(error, OSError):
        _abandon_output()
        if not isinstance(error, BrokenPipeError):  # else our reader has gone, and wants to hear no more
            _say(f"can't write to standard output: {error.strerror}")
        return FAILED
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = f" at {place.tb_frame.f_code.co_filename}:{place.tb_lineno}" if place is not None else ""
    _say(f"internal error, please report it: {type(error).__name__}: {error}{where}")
    return FAILED


def _abandon_output() -> None:
    """Let go of standard output, so that the interpreter doesn't try once more at its exit."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(message: str) -> None:
    from grpo_lint.terminal import say

    say(message)


def _check(options: Options) -> int:
    if options.version:
        return _version()
    if options.completion is not None:
        from grpo_lint.completion import script

        sys.stdout.write(script(options.completion))
        return CLEAN
    if options.verdicts:
        from grpo_lint.commands.validate import of_each_run

        return of_each_run(options)
    from grpo_lint.outputs import given, output, settings_of

    outputs = [output(text) for text in options.output or ([] if options.statistics else ["text"])]
    texts = given(options)
    paths = list(texts) or options.paths or ["."]
    settings = settings_of(options, paths)
    if options.show_settings:
        from grpo_lint.show_settings import write

        write(settings, sys.stdout)
        return CLEAN
    linting = _Linting(options, settings, paths, texts)
    if options.fix or options.diff or options.unsafe_fixes:
        from grpo_lint.commands.fix import fixed

        report, edited = fixed(options, paths, texts, linting.look, linting.changes)
        if options.diff:
            return FAILED if report.errors else FOUND if edited else CLEAN
    else:
        report, _ = linting.look({})
    linting.conclude(report)
    for format, path in outputs:
        _write(format, path, report, options)
    if options.statistics:
        from grpo_lint.statistics import write as write_statistics

        write_statistics(report, sys.stderr if options.output or (texts and options.fix) else sys.stdout)
    if report.errors:
        return FAILED
    return FOUND if settings.fail_on != "never" and report.fails(settings.fail_on) else CLEAN


class _Linting:
    """What the command line asks to lint: a look at it gives the findings that no baseline or diff leaves out."""

    def __init__(self, options: Options, settings: Settings, paths: Sequence[str], given: dict[str, bytes]) -> None:
        from grpo_lint.arguments import UsageError

        into = options.write_baseline
        if into is not None and (options.baseline or options.diff_file or options.diff_base):
            told = "neither --baseline nor --diff-file nor --diff-base goes with it"
            raise UsageError(f"--write-baseline: it takes all findings, so {told}")
        self.settings = settings
        self.paths = paths
        self.given = given
        self.changes = _changes(options, paths, given)
        self._into = into
        self._linter = _linter(options)
        self._known = _baseline(options.baseline) if options.baseline is not None else None

    def look(self, edited: dict[str, bytes]) -> tuple[Report, set[str]]:
        """The report, and the resolved path of each file looked at. `edited` files read as if they had these bytes."""
        from grpo_lint.arguments import UsageError
        from grpo_lint.engine import MissingPath
        from grpo_lint.terminal import progress

        shown = progress()
        linter = self._linter(self.settings, self.given, shown, edited)
        try:
            report = linter.check(self.paths)
        except MissingPath as error:
            raise UsageError(f"{error}: there is no such file or directory") from None
        finally:
            if shown is not None:
                shown.clear()
        if self._known is not None:
            self._known.apply(report, self.paths)
        if self.changes is not None:
            self.changes.narrow(report)
        return report, linter.seen

    def conclude(self, report: Report) -> None:
        """Write the baseline that is asked for; what is in it no longer counts."""
        if self._into is None:
            return
        from grpo_lint.baseline import Baseline
        from grpo_lint.reporters.characters import count

        known = Baseline.of(self._into, report.diagnostics)
        known.save()
        _say(f"{count(len(report.diagnostics), 'finding')} written to {self._into}")
        known.apply(report, self.paths)


def _baseline(path: str) -> Baseline:
    from grpo_lint.baseline import Baseline

    return Baseline.load(path)


def _linter(options: Options) -> type[Linter]:
    """What lints: with runs that are kept only where a report shows them."""
    from grpo_lint.engine import Linter
    from grpo_lint.reporters import WITH_RUNS

    if not any(text.partition("=")[0] in WITH_RUNS for text in options.output or ()):
        return Linter
    from grpo_lint.sweep import Sweep

    return Sweep


def _changes(options: Options, paths: Sequence[str], given: dict[str, bytes]) -> Changes | None:
    """What the report is narrowed to; None where it isn't."""
    from grpo_lint.arguments import UsageError

    path, base = options.diff_file, options.diff_base
    if base is not None:
        if path is not None:
            raise UsageError(f"--diff-base {base}: --diff-file tells what changed already")
        if given:
            raise UsageError(f"--diff-base {base}: git compares files, not what comes from standard input")
        from grpo_lint.git import changes

        return changes(base, paths)
    if path is None:
        return None
    from grpo_lint.changes import MAX_BYTES, Changes
    from grpo_lint.source import Unreadable, read_bytes

    try:
        data = sys.stdin.buffer.read(MAX_BYTES + 1) if path == "-" else read_bytes(path, MAX_BYTES)
    except Unreadable as error:
        raise UsageError(f"--diff-file {path}: {error}") from None
    if len(data) > MAX_BYTES:
        raise UsageError(f"--diff-file {path}: more than {MAX_BYTES:,} bytes")
    return Changes(data.decode("utf-8", "surrogateescape"))


def _write(format: str, path: str, report: Report, options: Options) -> None:
    from grpo_lint.outputs import reads_stdin, write_to
    from grpo_lint.reporters import write

    aside = options.fix and reads_stdin(options)  # standard output has the fixed text
    write_to(path, f"{format}={path}", options.color, lambda out, style: write(format, report, out, style), aside)
