"""Values that refer to another option, `${a.b}`, `${oc.select:a.b,0}`, and values to compute with."""

from __future__ import annotations

_HUGE = float("inf")


def reference(text: str) -> tuple[str, str | None]:
    """(key, value where nothing sets it) that a text refers to; an empty key where it is anything else."""
    key, comma, otherwise = (part.strip() for part in text[2:-1].removeprefix("oc.select:").partition(","))
    whole = text.startswith("${") and text.endswith("}") and _consists(key, "_.")
    if not whole or (comma and not _consists(otherwise, "_.-")):
        return "", None
    return key, otherwise if comma else None


def _consists(text: str, more: str) -> bool:
    """Whether a text consists of letters, digits and some more characters."""
    return text != "" and all(char.isalnum() or char in more for char in text)


def computable(value: object, kind: str) -> bool:
    """Whether a relation can compute with a value: `.inf` is a number to YAML, and 0 processes to a variable."""
    if type(value) not in (int, float) or not -_HUGE < value < _HUGE:  # type: ignore[operator]
        return False
    return kind != "processes" or value > 0  # type: ignore[operator]


def counted(value: object) -> object:
    """A number that an option's parser takes as text."""
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value
