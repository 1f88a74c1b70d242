"""Names by which a finding is recognised in another run, although lines may have moved."""

from __future__ import annotations

from array import array
from functools import lru_cache
from hashlib import sha256
from operator import mul

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from grpo_lint.diagnostics import Diagnostic
    from grpo_lint.report import Report, Suppressed

_BLOCK = 100
_POWERS = tuple(pow(37, _BLOCK - 1 - index, 1 << 64) for index in range(_BLOCK))
_MASK = (1 << 64) - 1
_END = "\uffff"
_BLANKS = str.maketrans({" ": None, "\t": None})


def identities(diagnostics: Iterable[Diagnostic]) -> list[str]:
    """A name for each finding, of its rule, its file's path and its option; 32 hexadecimal digits.

    Findings that agree in all three are numbered in the order given. Neither lines nor values nor messages count.
    """
    seen: dict[tuple[str, str, str], int] = {}
    names: list[str] = []
    for diagnostic in diagnostics:
        what = (diagnostic.rule, diagnostic.primary.span.file.path, diagnostic.key)
        seen[what] = seen.get(what, 0) + 1
        text = "\0".join((*what, str(seen[what])))
        names.append(sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32])
    return names


def named(report: Report) -> list[tuple[Diagnostic, Suppressed | None, str]]:
    """The findings of a report, then those that don't count with the reason why not, and the name of each.

    A name doesn't change when another finding is suppressed: all are numbered together, in the order of their places.
    """
    if not report.suppressed:
        return [(d, None, name) for d, name in zip(report.diagnostics, identities(report.diagnostics), strict=True)]
    found: list[tuple[Diagnostic, Suppressed | None]] = [(diagnostic, None) for diagnostic in report.diagnostics]
    found += [(one.diagnostic, one) for one in report.suppressed]
    order = sorted(range(len(found)), key=lambda index: found[index][0].order)
    names = dict(zip(order, identities(found[index][0] for index in order), strict=True))
    return [(diagnostic, why, names[index]) for index, (diagnostic, why) in enumerate(found)]


def line_hashes(text: str, wanted: Collection[int]) -> dict[int, str]:
    """GitHub's `primaryLocationLineHash` of the wanted lines (from 1) of a file.

    It is a polynomial hash of the 100 UTF-16 units from a line's start, blanks left out, CR LF and CR read as LF, an
    end mark and zeros after the last; then a colon and how often that hash was met in the file so far. Lines are
    counted as GitHub counts them, where a CR alone ends a line too. Read from `src/fingerprints.ts` of
    github/codeql-action at 0225834cc549.
    """
    plain = text.replace("\r\n", "\n").replace("\r", "\n").translate(_BLANKS)
    if plain and max(plain) > _END:
        plain = "".join(map(chr, array("H", plain.encode("utf-16", "surrogatepass")[2:])))
    padded = plain + _END + "\0" * _BLOCK
    last = max(wanted, default=0)
    # Only hashes of wanted lines are counted: a file may have millions of lines.
    met = {_hash(window): 0 for line, window in _windows(padded, last) if line in wanted}
    found: dict[int, str] = {}
    for line, window in _windows(padded, last):
        hashed = _hash(window)
        if hashed in met:
            met[hashed] += 1
            if line in wanted:
                found[line] = f"{hashed:x}:{met[hashed]}"
    return found


def _windows(padded: str, last: int) -> Iterator[tuple[int, str]]:
    """(number, what is hashed) of the lines up to the last wanted one; the end mark ends the last line there is."""
    line, start = 1, 0
    while line <= last:
        yield line, padded[start : start + _BLOCK]
        start = padded.find("\n", start) + 1
        if not start:
            return
        line += 1


@lru_cache(1024)
def _hash(window: str) -> int:
    total: int = sum(map(mul, map(ord, window), _POWERS))
    return total & _MASK
