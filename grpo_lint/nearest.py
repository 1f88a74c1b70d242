"""What somebody may have meant by a name that isn't known."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable


def suggestion(name: str, known: Iterable[str], otherwise: str) -> str:
    """The end of a message about a name that isn't known: the nearest that is, or else where to find them."""
    from difflib import get_close_matches

    by_lower = {each.lower(): each for each in known}
    close = get_close_matches(name.lower(), by_lower, 1)
    return f"; did you mean {by_lower[close[0]]}?" if close else f"; {otherwise}"
