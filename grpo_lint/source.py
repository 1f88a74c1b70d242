"""A text file and places in it.

Places are kept as code-point offsets from the start of the file's text (a byte-order mark is not part of the text);
lines and columns, both counted from 1, are worked out only when something is shown.
"""

from __future__ import annotations

import os
import stat
from bisect import bisect_right

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.credentials import Credential

MAX_BYTES = 8 * 1024 * 1024
"""Larger files are not read: no config is that long, and reading must stay bounded in memory."""


CREDENTIAL_HINTS = (
    # what known tokens begin with
    "hf_", "sk-", "AKIA", "ASIA", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "AIza", "xox", "nvapi-", "gsk_",
    "wandb_v1_", "eyJ",
    # parts of the names that secrets have
    "API_KEY", "api_key", "api-key", "apiKey", "APIKEY", "apikey", "ACCESS_KEY", "access_key", "SECRET", "secret",
    "_TOKEN", "hub_token", "hub-token", "auth_token", "auth-token", "access_token", "access-token",
    "api_token", "api-token", "PASSWORD", "password", "PASSWD", "passwd", "wandb_key", "wandb-key", "wandb login",
)  # fmt: skip
"""A text without any of these holds no credential but a password in a URL; most texts hold none."""


class Unreadable(Exception):
    """A file that can't be read as text; the message says why, without the path."""


class SourceFile:
    """A file's text, and its path as shown to people: POSIX, relative to the working directory if below it.

    Credentials in `text` are masked, each character by another, so that nothing that is read from it can be printed;
    `credentials` are their places. `original` is what the file holds: the text for an edit, never for a message.
    """

    __slots__ = ("_starts", "credentials", "original", "path", "text")

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.original = text
        self.credentials: tuple[Credential, ...] = ()
        if may_hold_credentials(text):
            from grpo_lint.credentials import find, mask

            self.credentials = find(text)
            text = mask(text, self.credentials)
        self.text = text
        self._starts: list[int] | None = None

    def __repr__(self) -> str:
        return f"SourceFile({self.path!r})"

    @property
    def starts(self) -> list[int]:
        """The offset at which each line starts; a line ends at LF or CR LF."""
        if self._starts is None:
            starts, at = [0], self.text.find("\n")
            while at >= 0:
                starts.append(at + 1)
                at = self.text.find("\n", at + 1)
            self._starts = starts
        return self._starts

    def forget_lines(self) -> None:
        """Work the lines out anew: the text was replaced by another of the same length."""
        self._starts = None

    def position(self, offset: int) -> tuple[int, int]:
        """(line, column) of an offset, both from 1; columns count code points."""
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a line (from 1) without its line end; empty past the last line."""
        if not 1 <= number <= len(self.starts):
            return ""
        start = self.starts[number - 1]
        end = self.starts[number] - 1 if number < len(self.starts) else len(self.text)
        return self.text[start:end].removesuffix("\r")

    def span(self, start: int, end: int) -> Span:
        return Span(self, start, end)


class Span:
    """A half-open range of code-point offsets in a file."""

    __slots__ = ("end", "file", "start")

    def __init__(self, file: SourceFile, start: int, end: int) -> None:
        self.file = file
        self.start = start
        self.end = end

    def __repr__(self) -> str:
        return f"Span({self.file.path}:{self.line}:{self.column}, {self.text!r})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Span)
            and self.file.path == other.file.path
            and self.start == other.start
            and self.end == other.end
        )

    def __hash__(self) -> int:
        return hash((self.file.path, self.start, self.end))

    @property
    def text(self) -> str:
        return self.file.text[self.start : self.end]

    @property
    def masked(self) -> bool:
        """Whether a part of the text is a credential's: an edit can't be worked out from it."""
        return any(one.start < self.end and self.start < one.end for one in self.file.credentials)

    @property
    def line(self) -> int:
        return self.file.position(self.start)[0]

    @property
    def column(self) -> int:
        return self.file.position(self.start)[1]

    @property
    def end_position(self) -> tuple[int, int]:
        """(line, column) just past the last character."""
        return self.file.position(self.end)


def may_hold_credentials(text: str | bytes) -> bool:
    """Whether it is worth a look: False for most texts, at the price of a few searches."""
    if isinstance(text, bytes):
        return any(hint.encode() in text for hint in CREDENTIAL_HINTS)
    for hint in CREDENTIAL_HINTS:
        if hint in text:
            return True
    return "://" in text and "@" in text


def masked(text: str) -> str:
    """A text that is about to be printed, without the credentials that a value came to on the way."""
    if not may_hold_credentials(text):
        return text
    from grpo_lint.credentials import find, mask

    return mask(text, find(text))


def decode(data: bytes) -> str:
    """Bytes as text: UTF-8, or UTF-16 and UTF-32 where a byte-order mark says so.

    Raises Unreadable for binary data and for any other encoding.
    """
    if data.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        encoding = "utf-32"
    elif data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    else:
        encoding = "utf-8"
    if encoding == "utf-8" and b"\0" in data:
        raise Unreadable("binary file (it contains NUL bytes)")
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise Unreadable(f"not valid {encoding.upper()} at byte {error.start}; save it as UTF-8") from None


def read_bytes(path: str, limit: int = MAX_BYTES) -> bytes:
    """A regular file's bytes. Raises Unreadable for anything else, and for more than `limit` bytes."""
    try:
        info = os.stat(path)
        if not stat.S_ISREG(info.st_mode):
            raise Unreadable("not a regular file")
        if info.st_size > limit:
            raise Unreadable(f"too large: {info.st_size:,} bytes, the limit is {limit:,}")
        with open(path, "rb") as stream:
            data = stream.read(limit + 1)
    except OSError as error:
        raise Unreadable(error.strerror or str(error)) from None
    if len(data) > limit:
        raise Unreadable(f"too large: more than {limit:,} bytes")
    return data
