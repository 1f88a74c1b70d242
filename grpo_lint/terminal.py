"""Standard output and error: what they can show, and whether somebody looks."""

from __future__ import annotations

import os
import sys

from grpo_lint.source import masked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO


def say(message: str) -> None:
    """A line about the linting itself, on standard error."""
    from grpo_lint.reporters.characters import emit, visible

    emit(f"grpo-lint: {masked(visible(message))}\n", sys.stderr)


class Discreet:
    """A stream without credentials: also those that a value was put together to, which no file holds in one piece."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self.encoding = getattr(out, "encoding", None)

    def write(self, text: str) -> int:
        return self._out.write(masked(text))


def discreet(out: TextIO) -> TextIO:
    """A stream to write reports to."""
    stream: object = Discreet(out)
    return stream  # type: ignore[return-value]


def use_utf8() -> None:
    """Let a terminal or pipe of another encoding show what it can rather than fail."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")


def colored(color: str, stream: TextIO | None = None) -> bool:
    """Whether to colour what goes to a stream: standard output, if not told."""
    if color != "auto":
        return color == "always"
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or ((stream or sys.stdout).isatty() and os.environ.get("TERM") != "dumb")


def width() -> int:
    """The terminal's width, within what reads well; 80 where there is none."""
    try:
        columns = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        return 80
    return max(60, min(columns, 120))


class Progress:
    """Shows on a terminal how far a long linting is: a line that is written over, and cleared at the end."""

    PATIENCE = 1.0
    """Seconds before anything is shown: most lintings are over by then."""
    PACE = 0.1

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._next = clock() + self.PATIENCE
        self._shown = False

    def __call__(self, files: int, found: int) -> None:
        now = self._clock()
        if now >= self._next:
            from grpo_lint.reporters.characters import count

            self._next = now + self.PACE
            self._shown = True
            sys.stderr.write(f"\r\x1b[K{count(files, 'file')}, {count(found, 'finding')} so far")
            sys.stderr.flush()

    def clear(self) -> None:
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def progress() -> Progress | None:
    """A Progress when somebody looks at standard error; None in a pipe, in CI, and on a terminal without cursor."""
    if not sys.stderr.isatty() or os.environ.get("CI") or os.environ.get("TERM") == "dumb":
        return None
    from time import monotonic

    return Progress(monotonic)
