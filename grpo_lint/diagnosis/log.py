"""Reads a training log for known texts, as a stream: a log may be gigabytes, binary, or one line without an end.

A signature is a text as its framework prints it, with `{}` where a value stands. It is looked for by its longest piece,
and only where that is found are the other pieces compared. Since each search is a pass over the log, lines that differ
from others in numbers alone are passed over first. What is kept of a log are the numbers of lines: its own text may
hold secrets, and is never shown beyond a signature.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

CHUNK = 1 << 20
"""Bytes that are read at once."""
REACH = 4096
"""Bytes of a line, before and after its longest piece, that a signature may spread over."""
HOLE = 200
"""Bytes that a value may have."""
ENOUGH = 1000
"""Lines with one signature after which no more are counted."""
TRIES = 100_000
"""Places that may look like a signature and be none, after which it is given up: a log may be made to look so."""

_ESCAPES = re.compile(rb"\x1b(?:\[[0-?]{0,40}[ -/]{0,8}[@-~]|\][^\x07\x1b\n]{0,200}(?:\x07|\x1b\\)|[@-Z\\-_])")
_SPLIT = 256
"""Bytes at the end of a chunk in which a terminal's escape may be cut in two."""


class Signature:
    """A text to look for: its pieces around the values, of which `anchor` is the longest."""

    __slots__ = ("anchor", "index", "pieces", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.pieces = tuple(piece.encode() for piece in text.split("{}"))
        self.anchor = max(self.pieces, key=len)
        self.index = self.pieces.index(self.anchor)

    def __repr__(self) -> str:
        return f"Signature({self.text!r})"

    def found(self, line: bytes, at: int) -> str | None:
        """The text with its values, where all pieces stand around the anchor at a place of a line; else None.

        A value that is anything but a number is left out.
        """
        values: list[bytes] = []
        end = at
        for piece in reversed(self.pieces[: self.index]):
            start = line.rfind(piece, max(0, end - HOLE - len(piece)), end) if piece else end
            if start < 0:
                return None
            values.insert(0, line[start + len(piece) : end] if piece else b"")
            end = start
        end = at + len(self.anchor)
        for piece in self.pieces[self.index + 1 :]:
            start = line.find(piece, end, end + HOLE + len(piece)) if piece else end
            if start < 0:
                return None
            values.append(line[end:start] if piece else _number(line, end))
            end = start + len(piece) if piece else end + len(values[-1])
        if self.pieces[-1][-1:].isalnum() and line[end : end + 1].isalnum():
            return None
        return self._filled(values)

    def _filled(self, values: Sequence[bytes]) -> str:
        head, *rest = self.text.split("{}")
        return head + "".join(_shown(value) + piece for value, piece in zip(values, rest, strict=True))


def _number(line: bytes, start: int) -> bytes:
    """The digits from a place on."""
    end = start
    while end < len(line) and end < start + 24 and line[end : end + 1] in b"0123456789.":
        end += 1
    return line[start:end].rstrip(b".")


def _shown(value: bytes) -> str:
    text = value.decode("ascii", "replace").strip()
    return text if text and len(text) <= 24 and all(c in "0123456789.,-+eE" for c in text) else "..."


class Hit:
    """A signature in a log: the first of its lines, by number, how many there are, and the text with its values."""

    __slots__ = ("_last", "count", "lines", "signature", "text")

    def __init__(self, signature: Signature, text: str) -> None:
        self.signature = signature
        self.text = text
        self.lines: list[int] = []
        self.count = 0
        self._last = 0

    def __repr__(self) -> str:
        return f"Hit({self.text!r}, {self.lines}, {self.count})"

    def add(self, line: int) -> None:
        if line == self._last:
            return
        self._last = line
        self.count += 1
        if len(self.lines) < 3:
            self.lines.append(line)


class Log:
    """What was found in a log: its hits, how many lines it has, and the signatures that were given up."""

    __slots__ = ("given_up", "hits", "lines", "name", "size")

    def __init__(self, name: str) -> None:
        self.name = name
        self.hits: dict[Signature, Hit] = {}
        self.given_up: list[Signature] = []
        self.lines = 0
        self.size = 0


class _Reader:
    """A stream's text in a window that moves along: what was looked at, what is to be looked at, and what is beyond."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._raw = b""
        self.text = b""
        self.done = 0
        self.limit = 0
        self.line = 1
        self.size = 0

    def advance(self) -> bool:
        """Take in the next chunk. False where there is none and all has been looked at."""
        keep = max(0, self.limit - REACH)
        self.line += self.text.count(b"\n", 0, keep)
        self.text, self.done = self.text[keep:], self.limit - keep
        block = self._read(CHUNK)
        self.size += len(block)
        self._raw += block
        self.text += self._clean(last=not block)
        self.limit = len(self.text) if not block else max(self.done, len(self.text) - REACH)
        return bool(block) or self.done < self.limit

    def _clean(self, last: bool) -> bytes:
        """What is raw as plain text: without escapes, the zeros of UTF-16, and the returns of progress bars."""
        raw = self._raw
        cut = -1 if last else raw.rfind(b"\x1b", max(0, len(raw) - _SPLIT))
        self._raw = raw[cut:] if cut >= 0 else b""
        raw = (raw[:cut] if cut >= 0 else raw).translate(None, b"\x00\r")
        if b"\x1b" in raw:
            raw = _ESCAPES.sub(b"", raw)
        return raw


class Sieve:
    """Tells which signatures can be in a part of a log, from its distinct lines without their digits.

    The lines of training are alike but for numbers, so that most parts of a log have none that is new. A signature
    that was in one line counts from then on.
    """

    MOST = 8000
    """Lines that are remembered, each of up to LONGEST bytes."""
    LONGEST = 512

    def __init__(self, signatures: Iterable[Signature]) -> None:
        self._anchors = {signature: signature.anchor.translate(None, _DIGITS) for signature in signatures}
        self._held: list[Signature] = []
        self._seen = set[bytes]()

    def held(self, part: bytes) -> list[Signature]:
        """The signatures that can be in a part of the log, and those that could be in one before."""
        new = set(part.translate(None, _DIGITS).split(b"\n")) - self._seen
        if new:
            text = b"\n".join(new)
            found = [signature for signature, anchor in self._anchors.items() if anchor in text]
            self._held += found
            for signature in found:
                del self._anchors[signature]
            if len(self._seen) < self.MOST:
                self._seen.update(line for line in new if len(line) <= self.LONGEST)
        return self._held


_DIGITS = b"0123456789"


def scan(read: Callable[[int], bytes], signatures: Iterable[Signature], name: str = "") -> Log:
    """Look for signatures in what `read(size)` gives until it gives nothing. Raises whatever `read` does."""
    log = Log(name)
    wanted = dict.fromkeys(signatures, TRIES)
    sieve = Sieve(wanted)
    longest = max((len(signature.anchor) for signature in wanted), default=0)
    reader = _Reader(read)
    while reader.advance():
        for signature in sieve.held(reader.text[reader.done : reader.limit + longest]):
            if signature not in wanted:
                continue
            wanted[signature] -= _search(signature, reader, log)
            hit = log.hits.get(signature)
            if hit is not None and hit.count >= ENOUGH:
                del wanted[signature]
            elif wanted[signature] <= 0:
                log.given_up.append(signature)
                del wanted[signature]
    log.size = reader.size
    log.lines = reader.line + reader.text.count(b"\n") - (reader.text.endswith(b"\n") or not reader.text)
    return log


def _search(signature: Signature, reader: _Reader, log: Log) -> int:
    """Note the lines with a signature among what is to be looked at. The number of places that only looked so."""
    text, anchor = reader.text, signature.anchor
    failed = 0
    at = text.find(anchor, reader.done, reader.limit + len(anchor) - 1)
    while 0 <= at < reader.limit:
        start = text.rfind(b"\n", max(0, at - REACH), at) + 1 or max(0, at - REACH)
        end = text.find(b"\n", at, at + REACH)
        end = end if end >= 0 else min(len(text), at + REACH)
        found = signature.found(text[start:end], at - start)
        if found is None:
            failed += 1
            end = at + 1
            if failed >= TRIES:
                break
        else:
            hit = log.hits.setdefault(signature, Hit(signature, found))
            hit.add(reader.line + text.count(b"\n", 0, at))
            if hit.count >= ENOUGH:
                break
        at = text.find(anchor, end, reader.limit + len(anchor) - 1)
    return failed
