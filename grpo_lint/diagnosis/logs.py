"""Where a log comes from: a file, a pipe, or standard input, read up to a limit."""

from __future__ import annotations

import os
import stat
import sys

from grpo_lint.source import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

    from grpo_lint.diagnosis.log import Log

    Scan = Callable[[Callable[[int], bytes], str], Log]

MAX_BYTES = 16 << 30
"""Bytes of a log that are read: some minutes' work."""

COMPRESSED = {b"\x1f\x8b": "zcat", b"\x28\xb5\x2f\xfd": "zstdcat", b"\xfd7zXZ": "xzcat", b"BZh": "bzcat"}
"""The first bytes of a compressed file, and what shows its text."""


def read(path: str, scan: Scan) -> Log:
    """Let `scan` read a log; `-` is standard input. Raises Unreadable for what is no log."""
    try:
        if path == "-":
            return scan(_bounded(sys.stdin.buffer, "-"), "standard input")
        mode = os.stat(path).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode)):
            raise Unreadable("neither a file nor a pipe")
        with open(path, "rb") as stream:
            return scan(_bounded(stream, path), path)
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from None


def _bounded(stream: BinaryIO, path: str) -> Callable[[int], bytes]:
    """Reads from a stream, to the limit. Raises Unreadable at the first chunk of a compressed one."""
    left = MAX_BYTES
    first = True

    def read(size: int) -> bytes:
        nonlocal left, first
        block = stream.read(min(size, left))
        left -= len(block)
        if first:
            first = False
            for magic, program in COMPRESSED.items():
                if block.startswith(magic):
                    raise Unreadable(f"it is compressed: {program} {path} | grpo-lint diagnose --log -")
        return block

    return read
