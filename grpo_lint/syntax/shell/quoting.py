"""Whether a place of a script stands in quotes, and what text has to look like there to stand for itself."""

from __future__ import annotations

from grpo_lint.patterns import lazy
from grpo_lint.syntax.shell.compound import Parser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.syntax.shell.lexer import Mode
    from grpo_lint.syntax.shell.tree import Lit, Part

    Regions = list[tuple[int, int, bool]]

_BARE = lazy(r"[\w.,:/@%+=-]*")
"""What stands for itself wherever a word may stand: in quotes of either kind, outside of them, in `${X:-...}`."""
_SPECIAL = lazy(r"""[\\'"$`!\n\r]""")
"""What may mean something else in one or the other kind of quotes."""


def text_for(text: str, start: int, end: int, replacement: str) -> str | None:
    """What to write in place of a part of a script's word so that it reads `replacement`; None where that isn't sure.

    The part must not hold quotes itself.
    """
    if _BARE.fullmatch(replacement):
        return replacement
    if _SPECIAL.search(replacement):
        return None
    return replacement if quoted(text, start, end) else f"'{replacement}'"


def quoted(text: str, start: int, end: int) -> bool:
    """Whether a part of a script stands within quotes or in a here-document."""
    marker = _Marker(text)
    marker.script()
    around = [region for region in marker.regions if region[0] <= start and end <= region[1]]
    return min(around, key=lambda region: (region[1] - region[0], region[2]), default=(0, 0, False))[2]


class _Marker(Parser):
    """A parser that notes what is quoted on its way."""

    def __init__(self, text: str, start: int = 0, end: int | None = None, regions: Regions | None = None) -> None:
        super().__init__(text, start, end)
        self.regions: Regions = [] if regions is None else regions

    def inner(self, text: str, offsets: list[int] | None, start: int = 0, end: int | None = None) -> Parser:
        if offsets is not None:  # its offsets are those of another text
            return super().inner(text, offsets, start, end)
        parser = _Marker(text, start, end, self.regions)
        parser.depth, parser.faults = self.depth, self.faults
        return parser

    def scan(self, mode: Mode, quoted: bool = False) -> list[Part]:
        start = self.at
        parts = super().scan(mode, quoted)
        self.regions.append((start, self.at, quoted))
        return parts

    def single(self, parts: list[Part]) -> None:
        start = self.at
        super().single(parts)
        self.regions.append((start + 1, self.at - 1, True))

    def ansi(self) -> Lit:
        start = self.at
        found = super().ansi()
        self.regions.append((start + 2, self.at - 1, True))
        return found
