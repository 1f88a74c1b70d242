"""The arguments of the command line, and the settings that they tell."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterable, Sequence
    from typing import Any

    from grpo_lint.settings import Layer

COMMANDS = ("check", "show", "validate", "explain", "rules", "matrix", "guide", "compare", "diagnose", "recommend")

EPILOG = """commands:
  check [PATHS...]   lint files and directories (the default command; default path: .)
  show PATHS...      what each run gets: every setting, its value and where it comes from
  validate           a verdict of each of the 36 avoidance rules on a unified config
  explain RULE...    a rule's page
  rules              the list of rules
  matrix             which classes of bugs hit which frameworks
  guide TOPIC        which of two ways to take (fsdp, zero, sync, sleep, engine), for runs or from facts
  compare A B        two ways to do one thing, such as fsdp1 and fsdp2, with sources
  diagnose           what may have caused a symptom, or what a log shows
  recommend [TOPIC]  a config that passes, in a framework's own format

`grpo-lint COMMAND --help` tells more."""


class UsageError(Exception):
    """Something the user wrote on the command line that can't be used."""


class Options:
    """What the command line asks for, and what holds where it doesn't say; argparse fills it in."""

    paths: Sequence[str] = ()
    output: list[str] | None = None
    select: list[str] | None = None
    ignore: list[str] | None = None
    enforce: list[str] | None = None
    level: list[str] | None = None
    per_file_ignore: list[str] | None = None
    require_reason: bool = False
    min_severity: str | None = None
    fail_on: str | None = None
    exit_zero: bool = False
    exclude: list[str] | None = None
    include: list[str] | None = None
    include_docs: bool = False
    profile: str | None = None
    settings: str | None = None
    no_settings: bool = False
    show_settings: bool = False
    baseline: str | None = None
    write_baseline: str | None = None
    diff_file: str | None = None
    diff_base: str | None = None
    fix: bool = False
    unsafe_fixes: bool = False
    diff: bool = False
    stdin: bool = False
    stdin_filename: str | None = None
    statistics: bool = False
    completion: str | None = None
    color: str = "auto"
    version: bool = False
    target: list[str] | None = None
    verdicts: bool = False
    config: str | None = None
    config_file: str | None = None
    format: str = "table"
    only: str | None = None
    memory: bool = False
    rules: Sequence[str] = ()
    as_stated: bool = False
    by_class: bool = False
    topic: str = ""
    torch: str | None = None
    verl: str | None = None
    deepspeed: str | None = None
    nodes: int | None = None
    gpus: int | None = None
    offload: bool | None = None
    fits: bool | None = None
    muon: bool | None = None
    separate: bool | None = None
    adapters: bool | None = None
    rslora: bool | None = None
    mtp: bool | None = None
    npu: bool | None = None
    resync: bool | None = None
    choices: Sequence[str] = ()
    symptom: list[str] | None = None
    log: list[str] | None = None
    reasons: bool = False


def parser(command: str) -> ArgumentParser:
    """The parser of one command."""
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
        parser.add_argument("--include-docs", action="store_true", help="read Markdown's code fences and notebooks too")
        parser.add_argument("--memory", action="store_true", help="estimate what each run takes of a GPU, term by term")
        add_sources(parser)
    elif command == "validate":
        _add_validate(parser)
    elif command == "explain":
        parser.add_argument(
            "rules", nargs="+", metavar="RULE", help="a rule's id or name, such as NOT07 or group-size-1"
        )
    elif command == "rules":
        parser.add_argument("--format", choices=("table", "json"), help="default: table")
    else:
        from grpo_lint.answer_arguments import OF_COMMANDS

        OF_COMMANDS[command](parser)
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
    parser.add_argument(
        "--verdicts", action="store_true", help="print what each of the 36 avoidance rules says of each run, instead"
    )
    parser.add_argument("--statistics", action="store_true", help="count the findings of each rule")
    parser.add_argument("--color", choices=("auto", "always", "never"), help="default: auto")
    parser.add_argument("--version", "-V", action="store_true", help="print the version and exit")
    parser.add_argument("--completion", choices=("bash", "zsh", "fish"), help="print a script for a shell's completion")
    _add_rules(parser)
    group = parser.add_argument_group("fixes")
    group.add_argument("--fix", action="store_true", help="write the safe fixes into the files")
    group.add_argument(
        "--unsafe-fixes", action="store_true", help="with --fix or --diff: the fixes that change a run, too"
    )
    group.add_argument("--diff", action="store_true", help="print what --fix would change, and write nothing")
    _add_files(parser)
    add_sources(parser)


def _add_validate(parser: ArgumentParser) -> None:
    from grpo_lint.reporters.verdicts import FORMATS

    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument(
        "--config", metavar="JSON", help='such as {"zero_stage": 2, "group_size": 8}; - reads it from input'
    )
    group.add_argument("--config-file", metavar="FILE", help="a file that holds it; - reads it from input")
    parser.add_argument(
        "--output",
        action="append",
        metavar="FORMAT[=FILE]",
        help=f"write the verdicts as {', '.join(FORMATS)} to a file or standard output (default: text)",
    )
    parser.add_argument("--select", action="append", metavar="RULES", help="only these: ids, names, prefixes, topics")
    parser.add_argument("--ignore", action="append", metavar="RULES", help="leave these out")
    parser.add_argument("--color", choices=("auto", "always", "never"), help="default: auto")
    add_sources(parser)


def _add_rules(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("which findings count")
    group.add_argument(
        "--select",
        action="append",
        metavar="RULES",
        help="only these: ids, names, prefixes of ids, topics, comma between",
    )
    group.add_argument("--ignore", action="append", metavar="RULES", help="leave these out")
    group.add_argument(
        "--level", action="append", metavar="RULE=LEVEL", help="report a rule as error, warning or note, or turn it off"
    )
    group.add_argument(
        "--per-file-ignore", action="append", metavar="PATTERN=RULES", help="leave rules out in files that match"
    )
    group.add_argument("--enforce", action="append", metavar="RULES", help="rules that no comment can suppress")
    group.add_argument("--require-reason", action="store_true", help="report suppressing comments without a reason")
    group.add_argument("--min-severity", choices=("note", "warning", "error"), help="report nothing below this")
    group.add_argument(
        "--fail-on",
        choices=("note", "warning", "error", "never"),
        help="exit with 1 on findings of this severity or worse (default: warning)",
    )
    group.add_argument("--exit-zero", action="store_true", help="exit with 0 whatever is found: --fail-on never")
    group.add_argument("--baseline", metavar="FILE", help="known findings, which don't count")
    group.add_argument(
        "--write-baseline", metavar="FILE", help="write what is found now as known, and let it not count"
    )
    group.add_argument(
        "--diff-base",
        metavar="REV",
        help="report findings on lines that changed since this commit or branch only; starts git to ask it",
    )
    group.add_argument(
        "--diff-file",
        metavar="FILE",
        help="report findings on lines that a unified diff touches only; - reads it from input",
    )


def _add_files(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("which files")
    group.add_argument("--exclude", action="append", metavar="PATTERN", help="leave out, as .gitignore writes it")
    group.add_argument("--include", action="append", metavar="PATTERN", help="of directories, lint only what matches")
    group.add_argument("--include-docs", action="store_true", help="lint Markdown's code fences and notebooks as well")
    group.add_argument("--stdin", action="store_true", help="lint standard input")
    group.add_argument(
        "--stdin-filename", metavar="NAME", help="the file that standard input stands for; need not exist"
    )


def add_sources(parser: ArgumentParser) -> None:
    """What tells the settings, for commands that read the user's files."""
    group = parser.add_argument_group("settings")
    group.add_argument(
        "--target",
        action="append",
        metavar="FRAMEWORK=RELEASE",
        help="the release that a framework runs at, such as verl=0.9.1; may be repeated",
    )
    group.add_argument(
        "--profile", metavar="NAME", help="a named set of settings: default, strict, rtx4090, or one of yours"
    )
    files = group.add_mutually_exclusive_group()
    files.add_argument("--settings", metavar="FILE", help="take settings from this file, not from the nearest one")
    files.add_argument("--no-settings", action="store_true", help="take settings from no file")
    if parser.prog == "grpo-lint":
        group.add_argument("--show-settings", action="store_true", help="print the settings that hold, and stop")


def told(options: Options) -> Layer:
    """The settings that the command line tells. Raises SettingsError for what can't be one."""
    import os

    from grpo_lint.settings import Layer

    values: dict[str, Any] = {}
    for name in ("select", "ignore", "enforce"):
        texts = getattr(options, name)
        if texts is not None:
            values[name] = _rules(texts, f"--{name}")
    plain = {
        "min-severity": options.min_severity,
        "fail-on": "never" if options.exit_zero else options.fail_on,
        "profile": options.profile,
        "require-reason": options.require_reason or None,
        "exclude": options.exclude and tuple(options.exclude),
        "include": options.include and tuple(options.include),
        "include-docs": options.include_docs or None,
    }
    values |= {name: value for name, value in plain.items() if value is not None}
    _tables(options, values)
    return Layer("the command line", os.path.realpath("."), values)


def _tables(options: Options, values: dict[str, Any]) -> None:
    from grpo_lint.selection import meant, unknown
    from grpo_lint.settings import SettingsError, parse_targets

    if options.target is not None:
        from grpo_lint.run import FRAMEWORKS

        values["targets"] = parse_targets(options.target, FRAMEWORKS)
    for text in options.level or ():
        name, _, level = text.partition("=")
        if not meant(name):
            raise unknown(name, f"--level {text}")
        if level not in ("error", "warning", "note", "off"):
            raise SettingsError(f"--level {text}: write RULE=error, RULE=warning, RULE=note or RULE=off")
        values.setdefault("levels", {})[name] = level
    for text in options.per_file_ignore or ():
        pattern, equals, names = text.rpartition("=")
        if not equals or not pattern:
            raise SettingsError(f"--per-file-ignore {text}: write PATTERN=RULES, such as 'tests/=NOT07,DO03'")
        ignored = values.setdefault("per-file-ignores", {})
        ignored[pattern] = (*ignored.get(pattern, ()), *_rules([names], f"--per-file-ignore {text}"))


def _rules(texts: Iterable[str], where: str) -> tuple[str, ...]:
    from grpo_lint.selection import meant, unknown

    names = tuple(name.strip() for text in texts for name in text.split(",") if name.strip())
    for name in names:
        if not meant(name):
            raise unknown(name, where)
    return names
