"""Where a report goes: what --output says, and writing it there; and what is linted in place of a file."""

from __future__ import annotations

import sys

from grpo_lint.arguments import UsageError
from grpo_lint.terminal import colored, discreet, use_utf8, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TextIO

    from grpo_lint.arguments import Options
    from grpo_lint.reporters import Style
    from grpo_lint.settings import Settings


def settings_of(options: Options, paths: Sequence[str]) -> Settings:
    from grpo_lint.arguments import told
    from grpo_lint.configure import configure

    return configure(paths, told(options), options.settings, not options.no_settings)


def output(text: str, formats: tuple[str, ...] = ()) -> tuple[str, str]:
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


def write_to(path: str, output: str, color: str, write: Callable[[TextIO, Style], None], aside: bool = False) -> None:
    """Let `write` write to standard output (`aside`: standard error) or, whole or not at all, to a file."""
    from grpo_lint.reporters import Style

    if not path:
        use_utf8()
        stream = sys.stderr if aside else sys.stdout
        write(discreet(stream), Style(colored(color, stream), width()))
        stream.flush()
        return
    import io

    from grpo_lint import atomic

    text = io.StringIO()
    write(discreet(text), Style(color == "always", 80))
    try:
        atomic.write(path, text.getvalue())
    except OSError as error:
        raise UsageError(f"--output {output}: {error.strerror}") from None


def reads_stdin(options: Options) -> bool:
    """Whether standard input is what is linted."""
    return options.stdin or options.stdin_filename is not None


def given(options: Options) -> dict[str, bytes]:
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
