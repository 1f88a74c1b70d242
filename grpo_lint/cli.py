"""The command line. Exit codes: 0 clean, 1 findings at or above --fail-on, 2 usage or internal error, 130 Ctrl-C."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence
    from typing import NoReturn

    from grpo_lint.diagnostics import Severity
    from grpo_lint.report import Report
    from grpo_lint.settings import Settings

CLEAN, FOUND, FAILED, INTERRUPTED = 0, 1, 2, 130

COMMANDS = ("check", "show", "explain", "rules")

EPILOG = """commands:
  check [PATHS...]   lint files and directories (the default command; default path: .)
  show PATHS...      what each run gets: every setting, its value and where it comes from
  explain RULE...    a rule's page
  rules              the list of rules

`grpo-lint COMMAND --help` tells more."""


class Options:
    """What the command line asks for, and what holds where it doesn't say; argparse fills it in."""

    paths: Sequence[str] = ()
    output: list[str] | None = None
    select: list[str] | None = None
    ignore: list[str] | None = None
    fail_on: Severity = "warning"
    color: str = "auto"
    version: bool = False
    target: list[str] | None = None
    format: str = "table"
    only: str | None = None
    rules: Sequence[str] = ()


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
    from grpo_lint.settings import SettingsError

    command = words[0] if words and words[0] in COMMANDS else "check"
    if words and words[0] == command:
        words = words[1:]
    try:
        options = Options()
        if command == "check" and not any(word.startswith("-") for word in words):
            options.paths = words  # as a hook calls us; importing argparse would take a tenth of the time
        else:
            _parser(command).parse_args(words, options)
        _require_working_directory()
        return {"check": _check, "show": _show, "explain": _explain, "rules": _rules}[command](options)
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
    from grpo_lint.reporters.characters import emit, visible

    emit(f"grpo-lint: {visible(message)}\n", sys.stderr)


def _parser(command: str) -> ArgumentParser:
    import argparse

    parser = argparse.ArgumentParser(
        prog="grpo-lint" if command == "check" else f"grpo-lint {command}",
        description="Finds the fault in an RL post-training config before a GPU is allocated.",
        epilog=EPILOG if command == "check" else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    if command == "check":
        _add_check(parser)
    elif command == "show":
        parser.add_argument("paths", nargs="+", metavar="PATH", help="a launch script or config file, or a directory")
        parser.add_argument("--format", choices=("table", "json"), help="default: table")
        parser.add_argument("--only", choices=("changed",), help="leave the frameworks' defaults out")
        _add_target(parser)
    elif command == "explain":
        parser.add_argument(
            "rules", nargs="+", metavar="RULE", help="a rule's id or name, such as NOT07 or group-size-1"
        )
    else:
        parser.add_argument("--format", choices=("table", "json"), help="default: table")
    return parser


def _add_check(parser: ArgumentParser) -> None:
    from grpo_lint.reporters import FORMATS

    parser.add_argument("paths", nargs="*", metavar="PATH", help="files and directories to lint (default: .)")
    parser.add_argument(
        "--output",
        action="append",
        metavar="FORMAT[=FILE]",
        help=f"write the report as {', '.join(FORMATS)} to a file or standard output; may be repeated (default: text)",
    )
    parser.add_argument("--select", action="append", metavar="RULES", help="only these: ids, names, prefixes, topics")
    parser.add_argument(
        "--ignore", action="append", metavar="RULES", help="leave these out: ids, names, prefixes, topics"
    )
    parser.add_argument(
        "--fail-on",
        choices=("note", "warning", "error"),
        help="exit with 1 on findings of this severity or worse (default: warning)",
    )
    parser.add_argument("--color", choices=("auto", "always", "never"), help="default: auto")
    parser.add_argument("--version", "-V", action="store_true", help="print the version and exit")
    _add_target(parser)


def _add_target(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--target",
        action="append",
        metavar="FRAMEWORK=RELEASE",
        help="the release that a framework runs at, such as verl=0.9.1; may be repeated",
    )


def _settings(options: Options) -> Settings:
    from grpo_lint.run import FRAMEWORKS
    from grpo_lint.settings import Settings, parse_targets

    return Settings(
        parse_targets(options.target or [], FRAMEWORKS),
        _names(options.select),
        _names(options.ignore),
        options.fail_on,
    )


def _names(values: list[str] | None) -> tuple[str, ...]:
    return tuple(name.strip() for value in values or () for name in value.split(",") if name.strip())


def _check(options: Options) -> int:
    from grpo_lint.engine import Linter, MissingPath

    if options.version:
        return main(["--version"])
    outputs = [_output(text) for text in options.output or ["text"]]
    settings = _settings(options)
    try:
        report = Linter(settings).check(options.paths or ["."])
    except MissingPath as error:
        raise UsageError(f"{error}: there is no such file or directory") from None
    for format, path in outputs:
        _write(format, path, report, options.color)
    if report.errors:
        return FAILED
    return FOUND if report.fails(settings.fail_on) else CLEAN


def _output(text: str) -> tuple[str, str]:
    from grpo_lint.nearest import suggestion
    from grpo_lint.reporters import FORMATS

    format, equals, path = text.partition("=")
    if format not in FORMATS:
        known = f"known are {', '.join(FORMATS)}"
        raise UsageError(f"--output {text}: no format is called {format!r}{suggestion(format, FORMATS, known)}")
    if equals and not path:
        raise UsageError(f"--output {text}: name a file after the =, or leave the = out for standard output")
    return format, path


def _write(format: str, path: str, report: Report, color: str) -> None:
    from grpo_lint.reporters import Style, write

    if not path:
        _use_utf8()
        write(format, report, sys.stdout, Style(_colored(color), _width()))
        sys.stdout.flush()
        return
    import io

    text = io.StringIO()
    write(format, report, text, Style(color == "always", 80))
    try:
        with open(path, "w", encoding="utf-8", newline="") as stream:
            stream.write(text.getvalue())
    except OSError as error:
        raise UsageError(f"--output {format}={path}: {error.strerror}") from None


def _use_utf8() -> None:
    """Let a terminal or pipe of another encoding show what it can rather than fail."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def _colored(color: str) -> bool:
    import os

    if color != "auto":
        return color == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")


def _width() -> int:
    """The terminal's width, within what reads well; 80 where there is none."""
    import os

    try:
        columns = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return 80
    return max(60, min(columns, 120))


def _show(options: Options) -> int:
    from grpo_lint.engine import Linter, MissingPath
    from grpo_lint.show import write_json, write_table

    linter = Linter(_settings(options))
    try:
        runs = [run for file in linter.read(options.paths) for run in file.reading.runs]
    except MissingPath as error:
        raise UsageError(f"{error}: there is no such file or directory") from None
    _use_utf8()
    for notice in linter.notices:
        _say(f"{notice.path}: {notice.message}")
    changed = options.only == "changed"
    if options.format == "json":
        write_json(runs, sys.stdout, changed)
    else:
        write_table(runs, sys.stdout, changed, _width())
    return FAILED if linter.errors else CLEAN


def _explain(options: Options) -> int:
    from grpo_lint.nearest import suggestion
    from grpo_lint.rules import RULES

    by_name = {name: rule for rule in RULES for name in (rule.id, rule.name)}
    pages = []
    for name in options.rules:
        rule = by_name.get(name) or by_name.get(name.upper())
        if rule is None:
            raise UsageError(f"no rule is called {name!r}{suggestion(name, by_name, '`grpo-lint rules` lists them')}")
        twin = f" · states the same fault as {rule.twin}" if rule.twin else ""
        head = f"# {rule.id} {rule.name}\n\n{rule.severity} · evidence: {rule.evidence} · since {rule.since}{twin}"
        pages.append(f"{head}\n\n{rule.page}\n")
    _use_utf8()
    sys.stdout.write("\n".join(pages))
    return CLEAN


def _rules(options: Options) -> int:
    from grpo_lint.rules import RULES

    _use_utf8()
    if options.format == "json":
        import json

        fields = ("id", "name", "severity", "evidence", "since", "summary", "page")
        rows = [{**{f: getattr(rule, f) for f in fields}, "topics": list(rule.topics)} for rule in RULES]
        sys.stdout.write(json.dumps({"schema": 1, "rules": rows}, indent=1, ensure_ascii=False) + "\n")
        return CLEAN
    width = max(len(rule.name) for rule in RULES)
    for rule in RULES:
        sys.stdout.write(f"{rule.id:<6} {rule.name:<{width}}  {rule.severity:<7}  {rule.summary}\n")
    return CLEAN
