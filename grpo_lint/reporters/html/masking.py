"""Secrets in what is shown: a report is sent around, and what a script holds should not travel with it."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SHOWN = "\u2022" * 6
"""What stands for a secret of any length."""

_NAME = r"""
    (?: pass(?:word|wd|phrase) | secret | credential s? | private[_.-]?key | api[_.-]?key | access[_.-]?key
      | (?: access | api | auth | bearer | bot | gh | github | gitlab | hf | hub | hugging_?face(?:_?hub)? | id | jwt
          | refresh | security | session | wandb | swanlab ) [_.-]? token )
"""
_SAYS_SO = re.compile(rf"(?xi) {_NAME} (?: [_.-]? (?: id | key | value | str ) )? $ | (?: ^ | \. ) token $")
"""Ends the name of a setting whose value is a secret."""

_VALUE = r"""
    (?: (?P<quote> ["'] ) (?P<quoted> [^"'\n$]{6,} ) (?P=quote) | (?P<bare> [^\s"'$<\[{(,;|&)\\] [^\s"',;|&)\\]{5,} ) )
"""
_SET = (
    re.compile(
        rf"""(?xi)
        (?: {_NAME} (?: [_.-]? (?: key | value | str ) )? | (?<! [\w-] ) token ) ["']? \s* [=:] \s* {_VALUE}
        """
    ),
    re.compile(rf"""(?xi) (?<! \S ) -- (?: [\w.-]* {_NAME} | token ) \s+ {_VALUE}"""),
)
"""A name that says so, with what it is set to; `$VARIABLE` and `<placeholder>` are none."""

_SHAPES = re.compile(
    r"""(?x)
      \b hf_ [A-Za-z0-9]{16,}
    | \b sk- [A-Za-z0-9_-]{16,}
    | \b gh[pousr]_ [A-Za-z0-9]{20,} | \b github_pat_ \w{20,} | \b glpat- [\w-]{16,}
    | \b xox[abeprs]- [\w-]{10,}
    | \b (?: AKIA | ASIA ) [A-Z0-9]{16} \b | \b AIza [\w-]{30,}
    | \b eyJ [\w-]{8,} \. [\w-]{8,} (?: \. [\w-]* )?
    | (?<= :// ) [^\s/:@'"$]{1,200} : [^\s/@'"$]{1,200} (?= @ )
    | (?i: (?<= bearer\  ) | (?<= basic\  ) ) [A-Za-z0-9+/=_.~-]{12,}
    | (?<= wandb\ login\  ) [0-9a-f]{20,}
    | -----BEGIN\ [A-Z ]* PRIVATE\ KEY----- [^-]* (?: -----END[A-Z -]* )?
    """
)
"""What is a secret by its own form, whatever it is set to."""

_HARMLESS = re.compile(r"(?i)(?:true|false|none|null|auto|empty|\d+|[./~].*|https?://[^@]*|<.*|\*+|x+|your.*|.*here)$")


def says_so(name: str) -> bool:
    """Whether a setting's name says that its value is a secret: `HF_TOKEN`, `api_key`; not `max_tokens`."""
    return _SAYS_SO.search(name.lstrip("-")) is not None


def secrets(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of what looks like a secret in a text."""
    for found in _SHAPES.finditer(text):
        yield found.span()
    for form in _SET:
        for found in form.finditer(text):
            group = "quoted" if found["quoted"] else "bare"
            if not _HARMLESS.match(found[group]):
                yield found.span(group)


def masked(text: str) -> str:
    """A text in which dots stand for each secret."""
    if len(text) < 8:
        return text
    return _MARK.sub(SHOWN, covered(text))


_MARK = re.compile("\0+")


def covered(text: str) -> str:
    """A text of the same length in which each secret is NULs, so that offsets into it stay right."""
    for start, end in secrets(text):
        text = text[:start] + "\0" * (end - start) + text[end:]
    return text


def uncover(text: str) -> str:
    """A part of a text that was `covered`, with dots for what is hidden."""
    return _MARK.sub(SHOWN, text)
