"""Values of Hydra's that refer to another option: `${a.b}`, `${oc.select:a.b,0}`."""

from __future__ import annotations


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
