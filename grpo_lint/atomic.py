"""Writes files whole or not at all."""

from __future__ import annotations

import os
import stat


def write(path: str, text: str) -> None:
    """Replace a file's text, or make the file. Raises OSError, and the file then is as it was."""
    write_bytes(path, text.encode("utf-8", "backslashreplace"))


def write_bytes(path: str, data: bytes) -> None:
    """Replace a file's bytes, or make the file. Raises OSError, and the file then is as it was.

    The bytes go to a new file beside it, which takes the old one's mode and then its place. A link stays a link. What
    is no regular file (`/dev/stdout`, a pipe) is written to as it is.
    """
    target = os.path.realpath(path)
    try:
        mode: int | None = os.stat(target).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        with open(path, "wb") as stream:
            stream.write(data)
        return
    new, handle = _beside(target)
    try:
        with open(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(handle)
        if mode is not None:
            os.chmod(new, stat.S_IMODE(mode))
        os.replace(new, target)
    except BaseException:
        os.unlink(new)
        raise


def _beside(path: str) -> tuple[str, int]:
    """A new file in the folder of another one, and its handle; one that a crash left behind is passed over."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    number = 0
    while True:
        new = os.path.join(os.path.dirname(path), f".grpo-lint-{os.getpid()}-{number}.new")
        try:
            return new, os.open(new, flags, 0o666)
        except FileExistsError:
            number += 1
