"""The command line. Exit codes: 0 clean, 1 findings at or above --fail-on, 2 usage or internal error, 130 Ctrl-C."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn, TextIO

    from grpo_lint.arguments import Options
    from grpo_lint.baseline import Baseline
    from grpo_lint.changes import Changes
    from grpo_lint.report import Report
    from grpo_lint.reporters import Style
    from grpo_lint.reporters.verdicts import Judged
    from grpo_lint.settings import Settings
    from grpo_lint.source import SourceFile

CLEAN, FOUND, FAILED, INTERRUPTED = 0, 1, 2, 130


class UsageError(Exception):
    """Something the user wrote on the command line that can't be used."""


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
    from grpo_lint.arguments import COMMANDS, Options, parser
    from grpo_lint.modules import module
    from grpo_lint.settings import SettingsError

    command = words[0] if words and words[0] in COMMANDS else "check"
    if words and words[0] == command:
        words = words[1:]
    try:
        options = Options()
        if command == "check" and not any(word.startswith("-") for word in words):
            options.paths = words  # as a hook calls us; importing argparse would take a tenth of the time
        else:
            parser(command).parse_args(words, options)
        _require_working_directory()
        if command in ("matrix", "guide", "compare"):
            module(command).answer(options)
            return CLEAN
        return {"check": _check, "show": _show, "validate": _validate, "explain": _explain, "rules": _rules}[command](
            options
        )
    except SystemExit as end:  # from argparse, which has said why
        return CLEAN if end.code == CLEAN else FAILED
    except (SettingsError, UsageError) as error:
        _say(str(error))
        return FAILED


def _require_working_directory() -> None:
    import os

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


def _settings(options: Options, paths: Sequence[str]) -> Settings:
    from grpo_lint.arguments import told
    from grpo_lint.configure import configure

    return configure(paths, told(options), options.settings, not options.no_settings)


def _check(options: Options) -> int:
    if options.version:
        return _version()
    if options.completion is not None:
        from grpo_lint.completion import script

        sys.stdout.write(script(options.completion))
        return CLEAN
    if options.verdicts:
        return _check_verdicts(options)
    outputs = [_output(text) for text in options.output or ([] if options.statistics else ["text"])]
    given = _given(options)
    paths = list(given) or options.paths or ["."]
    settings = _settings(options, paths)
    if options.show_settings:
        from grpo_lint.show_settings import write

        write(settings, sys.stdout)
        return CLEAN
    report = _lint(options, settings, paths, given)
    for format, path in outputs:
        _write(format, path, report, options.color)
    if options.statistics:
        from grpo_lint.statistics import write as write_statistics

        write_statistics(report, sys.stderr if options.output else sys.stdout)
    if report.errors:
        return FAILED
    return FOUND if settings.fail_on != "never" and report.fails(settings.fail_on) else CLEAN


def _given(options: Options) -> dict[str, bytes]:
    """The file that standard input stands for, with its bytes; empty when standard input isn't to be linted."""
    name = options.stdin_filename
    if name is None and not options.stdin:
        return {}
    if name is None:
        raise UsageError(
            "--stdin: say with --stdin-filename NAME where the text belongs and, by its suffix, what it is"
        )
    if options.paths:
        raise UsageError(f"--stdin-filename {name}: no other paths can be linted with it")
    if options.diff_file == "-":
        raise UsageError("--diff-file -: standard input is the file to lint already")
    from grpo_lint.discover import kind_of
    from grpo_lint.source import MAX_BYTES

    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise UsageError(f"--stdin: more than {MAX_BYTES:,} bytes")
    if kind_of(name, data) is None:
        raise UsageError(
            f"--stdin-filename {name}: no file of this name is read; it has to end like .sh, .yaml or .json"
        )
    return {name: data}


def _lint(options: Options, settings: Settings, paths: Sequence[str], given: dict[str, bytes]) -> Report:
    """The report, without the findings that a baseline or a diff leaves out."""
    from grpo_lint.engine import Linter, MissingPath
    from grpo_lint.terminal import progress

    if options.write_baseline is not None and (options.baseline is not None or options.diff_file is not None):
        raise UsageError("--write-baseline: it takes all findings, so neither --baseline nor --diff-file goes with it")
    changes = _changes(options.diff_file) if options.diff_file is not None else None
    known = _baseline(options.baseline) if options.baseline is not None else None
    shown = progress()
    try:
        report = Linter(settings, given, shown).check(paths)
    except MissingPath as error:
        raise UsageError(f"{error}: there is no such file or directory") from None
    finally:
        if shown is not None:
            shown.clear()
    if options.write_baseline is not None:
        from grpo_lint.baseline import Baseline
        from grpo_lint.reporters.characters import count

        known = Baseline.of(options.write_baseline, report.diagnostics)
        known.save()
        _say(f"{count(len(report.diagnostics), 'finding')} written to {options.write_baseline}")
    if known is not None:
        known.apply(report, paths)
    if changes is not None:
        changes.narrow(report)
    return report


def _changes(path: str) -> Changes:
    from grpo_lint.changes import MAX_BYTES, Changes
    from grpo_lint.source import Unreadable, read_bytes

    try:
        data = sys.stdin.buffer.read(MAX_BYTES + 1) if path == "-" else read_bytes(path, MAX_BYTES)
    except Unreadable as error:
        raise UsageError(f"--diff-file {path}: {error}") from None
    if len(data) > MAX_BYTES:
        raise UsageError(f"--diff-file {path}: more than {MAX_BYTES:,} bytes")
    return Changes(data.decode("utf-8", "surrogateescape"))


def _baseline(path: str) -> Baseline:
    from grpo_lint.baseline import Baseline

    return Baseline.load(path)


def _check_verdicts(options: Options) -> int:
    from grpo_lint.engine import MissingPath
    from grpo_lint.judge import of_files
    from grpo_lint.reporters.verdicts import FORMATS

    outputs = [_output(text, FORMATS) for text in options.output or ["text"]]
    given = _given(options)
    paths = list(given) or options.paths or ["."]
    settings = _settings(options, paths)
    try:
        judged, notices, errors = of_files(paths, settings, given)
    except MissingPath as error:
        raise UsageError(f"{error}: there is no such file or directory") from None
    for notice in notices:
        _say(f"{notice.path}: {notice.message}")
    _write_verdicts(outputs, judged, settings.profile, options.color)
    return FAILED if errors else FOUND if any(one.fails for one in judged) else CLEAN


def _validate(options: Options) -> int:
    from grpo_lint.judge import of_config
    from grpo_lint.reporters.verdicts import FORMATS
    from grpo_lint.validate import InvalidConfig

    outputs = [_output(text, FORMATS) for text in options.output or ["text"]]
    settings = _settings(options, ["."])
    try:
        judged = [of_config(_config(options), settings)]
    except InvalidConfig as error:
        for fault in error.faults:
            _say(fault)
        return FAILED
    _write_verdicts(outputs, judged, settings.profile, options.color)
    return FOUND if judged[0].fails else CLEAN


def _config(options: Options) -> SourceFile:
    """The text of the unified config, from wherever the command line says."""
    from grpo_lint.source import MAX_BYTES, SourceFile, Unreadable, decode, read_bytes

    path = options.config_file
    try:
        if options.config == "-" or path == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
            if len(data) > MAX_BYTES:
                raise Unreadable(f"more than {MAX_BYTES:,} bytes")
            return SourceFile("<stdin>", decode(data))
        if path is not None:
            return SourceFile(path, decode(read_bytes(path)))
    except Unreadable as error:
        raise UsageError(f"{path or '-'}: {error}") from None
    return SourceFile("<config>", options.config or "")


def _write_verdicts(outputs: list[tuple[str, str]], judged: list[Judged], profile: str, color: str) -> None:
    from functools import partial

    from grpo_lint.reporters.verdicts import write

    for format, path in outputs:
        _write_to(path, f"{format}={path}", color, partial(write, format, judged, profile))


def _output(text: str, formats: tuple[str, ...] = ()) -> tuple[str, str]:
    from grpo_lint.reporters import FORMATS

    formats = formats or FORMATS
    format, equals, path = text.partition("=")
    if format not in formats:
        from grpo_lint.nearest import suggestion

        known = f"known are {', '.join(formats)}"
        raise UsageError(f"--output {text}: no format is called {format!r}{suggestion(format, formats, known)}")
    if equals and not path:
        raise UsageError(f"--output {text}: name a file after the =, or leave the = out for standard output")
    return format, path


def _write(format: str, path: str, report: Report, color: str) -> None:
    from grpo_lint.reporters import write

    _write_to(path, f"{format}={path}", color, lambda out, style: write(format, report, out, style))


def _write_to(path: str, output: str, color: str, write: Callable[[TextIO, Style], None]) -> None:
    """Let `write` write to standard output or, whole or not at all, to a file."""
    from grpo_lint.reporters import Style
    from grpo_lint.terminal import colored, use_utf8, width

    if not path:
        use_utf8()
        write(sys.stdout, Style(colored(color), width()))
        sys.stdout.flush()
        return
    import io

    from grpo_lint import atomic

    text = io.StringIO()
    write(text, Style(color == "always", 80))
    try:
        atomic.write(path, text.getvalue())
    except OSError as error:
        raise UsageError(f"--output {output}: {error.strerror}") from None


def _show(options: Options) -> int:
    from grpo_lint.engine import Linter, MissingPath
    from grpo_lint.hardware import assume
    from grpo_lint.show import write_json, write_table
    from grpo_lint.terminal import use_utf8, width

    linter = Linter(_settings(options, options.paths))
    try:
        runs = [run for file in linter.read(options.paths) for run in file.reading.runs]
        for run in runs:
            assume(run, linter.settings)
    except MissingPath as error:
        raise UsageError(f"{error}: there is no such file or directory") from None
    use_utf8()
    for notice in linter.notices:
        _say(f"{notice.path}: {notice.message}")
    changed = options.only == "changed"
    if options.format == "json":
        write_json(runs, sys.stdout, changed)
    else:
        write_table(runs, sys.stdout, changed, width())
    return FAILED if linter.errors else CLEAN


def _explain(options: Options) -> int:
    from grpo_lint.explain import page, rule_named
    from grpo_lint.terminal import use_utf8

    pages = [page(rule_named(name)) for name in options.rules]
    use_utf8()
    sys.stdout.write("\n".join(pages))
    return CLEAN


def _rules(options: Options) -> int:
    from grpo_lint.explain import write_json, write_table
    from grpo_lint.terminal import use_utf8

    use_utf8()
    (write_json if options.format == "json" else write_table)(sys.stdout)
    return CLEAN
