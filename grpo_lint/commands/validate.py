"""`grpo-lint validate` and `grpo-lint check --verdicts`: what each of the avoidance rules says of a config."""

from __future__ import annotations

import sys
from functools import partial

from grpo_lint.arguments import UsageError
from grpo_lint.engine import MissingPath
from grpo_lint.judge import of_config, of_files
from grpo_lint.outputs import given, output, settings_of, write_to
from grpo_lint.reporters.verdicts import FORMATS, write
from grpo_lint.source import MAX_BYTES, SourceFile, Unreadable, decode, read_bytes
from grpo_lint.terminal import say
from grpo_lint.validate import InvalidConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.arguments import Options
    from grpo_lint.reporters.verdicts import Judged


def answer(options: Options) -> int:
    """Write the verdicts on a unified config, and give the exit code."""
    outputs = [output(text, FORMATS) for text in options.output or ["text"]]
    settings = settings_of(options, ["."])
    try:
        judged = [of_config(_config(options), settings)]
    except InvalidConfig as error:
        for fault in error.faults:
            say(fault)
        return 2
    _write_verdicts(outputs, judged, settings.profile, options.color)
    return 1 if judged[0].fails else 0


def of_each_run(options: Options) -> int:
    """Write the verdicts on each run of the files, and give the exit code."""
    outputs = [output(text, FORMATS) for text in options.output or ["text"]]
    texts = given(options)
    paths = list(texts) or options.paths or ["."]
    settings = settings_of(options, paths)
    try:
        judged, notices, errors = of_files(paths, settings, texts)
    except MissingPath as error:
        raise UsageError(f"{error}: there is no such file or directory") from None
    for notice in notices:
        say(f"{notice.path}: {notice.message}")
    _write_verdicts(outputs, judged, settings.profile, options.color)
    return 2 if errors else 1 if any(one.fails for one in judged) else 0


def _config(options: Options) -> SourceFile:
    """The text of the unified config, from wherever the command line says."""
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
    for format, path in outputs:
        write_to(path, f"{format}={path}", color, partial(write, format, judged, profile))
