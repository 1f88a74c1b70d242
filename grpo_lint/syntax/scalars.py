"""What YAML's plain scalars mean to the two readers that configs are written for.

Source: `yaml/resolver.py` and `yaml/constructor.py` of PyYAML 6.0.3 (SafeLoader), and `get_yaml_loader` in
`omegaconf/_utils.py` of OmegaConf 2.3.1, which adds YAML 1.2 floats to SafeLoader and takes its timestamps away. PyYAML
reads YAML 1.1: `no` is False, `012` is 10, `1:30` is 90, and `1e-6` is a string.

A timestamp stays text here: nothing that reads a config's values expects a date, and a date isn't JSON.
"""

from __future__ import annotations

import re

from grpo_lint.syntax.document import MAX_DIGITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Unreadable(Exception):
    """The consumer's reader recognises the scalar's type, and then fails on it; the message says why."""


def _cased(words: str) -> tuple[str, ...]:
    return tuple(form for word in words.split() for form in (word, word.title(), word.upper()))


_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(_cased("yes true on"), True),
    **dict.fromkeys(_cased("no false off"), False),
    **dict.fromkeys(("", "~", *_cased("null"))),
}
_NUMERIC = frozenset("-+.0123456789")

_FLOAT = r"""
    [-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?
  | \.[0-9][0-9_]*(?:[eE][-+][0-9]+)?
  | [-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*
  | [-+]?\.(?:inf|Inf|INF)
  | \.(?:nan|NaN|NAN)
"""
_OMEGACONF_FLOAT = r"""
  | [-+]?[0-9]+(?:_[0-9]+)*\.[0-9_]*(?:[eE][-+]?[0-9]+)?
  | [-+]?[0-9]+(?:_[0-9]+)*[eE][-+]?[0-9]+
  | \.[0-9]+(?:_[0-9]+)*(?:[eE][-+][0-9]+)?
  | [-+]?[0-9]+(?:_[0-9]+)*(?::[0-5]?[0-9])+\.[0-9_]*
"""
_INT = r"""
    [-+]?0b[01_]+
  | [-+]?0[0-7_]+
  | [-+]?(?:0|[1-9][0-9_]*)
  | [-+]?0x[0-9a-fA-F_]+
  | [-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+
"""
_SIMPLE = re.compile(r"[-+]?(?:0|[1-9][0-9]*)(\.[0-9]*)?([eE][-+]?[0-9]+)?")
_NUMBER = {  # compiled on first use, which few files need
    "pyyaml": rf"(?P<float>{_FLOAT})|(?P<int>{_INT})",
    "omegaconf": rf"(?P<float>{_FLOAT}{_OMEGACONF_FLOAT})|(?P<int>{_INT})",
}
_TIMESTAMP = r"""(?:[0-9]{4}-[0-9]{2}-[0-9]{2}
      | [0-9]{4}-[0-9][0-9]?-[0-9][0-9]?(?:[Tt]|[ \t]+)[0-9][0-9]?:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?
        (?:[ \t]*(?:Z|[-+](?P<zone>[0-9][0-9]?)(?::[0-9]{2})?))?)"""


def resolve(text: str, resolver: str) -> Any:
    """A plain scalar's data: None, a bool, an int, a float, or the text itself.

    Raises Unreadable where the consumer fails.
    """
    if text in _WORDS:
        return _WORDS[text]
    first = text[0]
    if first in _NUMERIC:
        if len(text) > MAX_DIGITS:
            return _resolve_long(text)
        return _resolve_number(text, resolver)
    if first in "=<" and text in ("=", "<<"):
        raise Unreadable(f"a plain {text} has a meaning of its own in YAML 1.1; quote it")
    return text


def _resolve_long(text: str) -> str:
    """What is far too long for any setting stays text, without a search that would take memory by its length."""
    if re.fullmatch("[-+]?[0-9_:]+", text):
        raise Unreadable(f"a number of {len(text):,} digits; Python reads at most {MAX_DIGITS:,}")
    return text


def _resolve_number(text: str, resolver: str) -> Any:
    match = _SIMPLE.fullmatch(text)
    if match is not None and match[2] is None:
        return int(text) if match[1] is None else float(text)
    if match is not None and resolver == "omegaconf":
        return float(text)
    match = re.fullmatch(_NUMBER[resolver], text, re.VERBOSE)
    if match is not None:
        return _to_float(text) if match.lastgroup == "float" else _to_int(text)
    match = re.fullmatch(_TIMESTAMP, text, re.VERBOSE) if resolver == "pyyaml" else None
    if match is not None:
        _check_timestamp(text, match["zone"])
    return text


def convert(text: str, tag: str) -> Any:
    """A scalar's data under one of the core tags (`!!str`, `!!int` ...); text for others. Raises Unreadable."""
    if tag == "!!int":
        return _to_int(text)
    if tag == "!!float":
        return _to_float(text)
    if tag == "!!bool":
        return _to_bool(text)
    return None if tag == "!!null" else text


def _to_int(text: str) -> int:
    """An integer as PyYAML makes it from YAML 1.1 notation. Raises Unreadable."""
    digits = text.replace("_", "")
    sign = -1 if digits[:1] == "-" else 1
    digits = digits[1:] if digits[:1] in ("+", "-") else digits
    if len(digits) > MAX_DIGITS:
        raise Unreadable(f"a number of {len(digits):,} digits; Python reads at most {MAX_DIGITS:,}")
    try:
        if digits.startswith("0b"):
            return sign * int(digits[2:], 2)
        if digits.startswith("0x"):
            return sign * int(digits[2:], 16)
        if digits[0] == "0":
            return sign * int(digits, 8)
        value = 0
        for part in digits.split(":"):
            value = value * 60 + int(part)
    except (ValueError, IndexError):
        raise Unreadable("looks like an integer, but isn't one") from None
    return sign * value


def _to_float(text: str) -> float:
    """A float as PyYAML makes it from YAML 1.1 notation. Raises Unreadable."""
    digits = text.replace("_", "").lower()
    sign = -1.0 if digits[:1] == "-" else 1.0
    digits = digits[1:] if digits[:1] in ("+", "-") else digits
    if digits == ".inf":
        return sign * float("inf")
    if digits == ".nan":
        return float("nan")
    try:
        value, base = 0.0, 1.0
        for part in reversed(digits.split(":")):
            value += float(part) * base
            base *= 60
    except ValueError:
        raise Unreadable("looks like a float, but isn't one") from None
    return sign * value


def _to_bool(text: str) -> bool:
    """A bool from YAML 1.1 notation. Raises Unreadable."""
    value = _WORDS.get(text.lower())
    if value is None:
        raise Unreadable("isn't a bool")
    return value


def _check_timestamp(text: str, zone: str | None) -> None:
    import datetime

    numbers = [int(number) for number in re.findall("[0-9]+", text)]
    numbers = numbers[: 6 if len(numbers) > 3 else 3]
    try:
        datetime.datetime(*numbers)  # type: ignore[arg-type]
        datetime.timezone(datetime.timedelta(hours=int(zone or 0)))
    except ValueError:
        raise Unreadable("looks like a date, but there is no such date") from None
