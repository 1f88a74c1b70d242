"""Elements of HTML as text. All that isn't written here goes through `text`, so that nothing in it is markup."""

from __future__ import annotations

from grpo_lint.reporters.html.masking import masked
from grpo_lint.reporters.markup import escaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_TEXT = 2000
"""Characters of a message, a value or a path; what is cut off is told."""


def text(given: str) -> str:
    """Anybody's text as content of an element or an attribute: on one line, secrets masked, its length bounded."""
    cut = f"{given[:MAX_TEXT]}... ({len(given) - MAX_TEXT:,} more characters)" if len(given) > MAX_TEXT else given
    return escaped(masked(cut))


def element(tag: str, *content: str, **attributes: object) -> str:
    """An element around content that is HTML already; attributes are any text, and one that is None is left out.

    A `_` in an attribute's name stands for `-`; one at its end tells it from a word of Python's.
    """
    listed = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{text(str(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    return f"<{tag}{listed}>{''.join(content)}</{tag}>"


def table(head: Iterable[str], rows: Iterable[str], caption: str, **attributes: object) -> str:
    """A table of rows that are HTML already, in a box that scrolls by itself; its first column names the row."""
    cells = "".join(element("th", text(title), scope="col") for title in head)
    whole = element(
        "table",
        element("caption", text(caption)),
        element("thead", element("tr", cells)),
        element("tbody", "\n".join(rows)),
    )
    return element("div", whole, class_="scroll", tabindex=0, role="region", aria_label=caption, **attributes)


def row(first: str, *cells: str, **attributes: object) -> str:
    """A row of a table, of cells' content as HTML."""
    rest = "".join(element("td", cell) for cell in cells)
    return element("tr", element("th", first, scope="row"), rest, **attributes)
