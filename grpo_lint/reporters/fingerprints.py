"""Names by which a finding is recognised in another run, although lines may have moved."""

from __future__ import annotations

import sys
from array import array
from hashlib import sha256
from itertools import accumulate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from grpo_lint.diagnostics import Diagnostic

_BLOCK = 100
_BASE = 37
_MASK = (1 << 64) - 1
_SHIFT = pow(_BASE, _BLOCK, 1 << 64)
_END = 0xFFFF
_UNITS = "utf-16-le" if sys.byteorder == "little" else "utf-16-be"
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


def line_hashes(text: str, wanted: Collection[int]) -> dict[int, str]:
    """GitHub's `primaryLocationLineHash` of the wanted lines (from 1) of a file.

    It is a polynomial hash of the 100 UTF-16 units from a line's start, blanks left out, CR LF and CR read as LF, an
    end mark and zeros after the last; then a colon and how often that hash was met in the file so far. Lines are
    counted as GitHub counts them, where a CR alone ends a line too. Read from `src/fingerprints.ts` of
    github/codeql-action at 0225834cc549.
    """
    plain = text.replace("\r\n", "\n").replace("\r", "\n").translate(_BLANKS)
    units = array("H", plain.encode(_UNITS, "surrogatepass"))
    units.append(_END)
    starts = [0, *(index + 1 for index, unit in enumerate(units) if unit == 10)]
    units.extend([0] * _BLOCK)
    sums = array("Q", accumulate(units, lambda total, unit: (total * _BASE + unit) & _MASK, initial=0))

    def value(start: int) -> int:
        return (sums[start + _BLOCK] - sums[start] * _SHIFT) & _MASK

    # Only hashes of wanted lines are counted: a file may have millions of lines.
    met = {value(starts[line - 1]): 0 for line in wanted if line <= len(starts)}
    found: dict[int, str] = {}
    for line, start in enumerate(starts, 1):
        hashed = value(start)
        if hashed in met:
            met[hashed] += 1
            if line in wanted:
                found[line] = f"{hashed:x}:{met[hashed]}"
    return found
