"""What Hydra itself makes of an override, in the shape that the tests compare."""

from __future__ import annotations

from typing import Any

from antlr4.error.Errors import LexerNoViableAltException, RecognitionException
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, Glob, IntervalSweep, QuotedString, RangeSweep
from hydra.errors import HydraException

from grpo_lint.located import Piece, Unknown, Value, Word
from grpo_lint.source import SourceFile
from grpo_lint.syntax.hydra.functions import Sweep
from grpo_lint.syntax.hydra.overrides import Override

PREFIX = {"CHANGE": "", "ADD": "+", "FORCE_ADD": "++", "DEL": "~"}
PARSER = OverridesParser.create()


def word(text: str) -> Word:
    """A word that is written literally, alone in its file."""
    span = SourceFile("run.sh", text).span(0, len(text))
    return Word((Piece(text, span),), span)


def plain(data: Any) -> Any:
    """Data from either side, sweeps and key types made comparable; floats as text (nan, and 1 is not 1.0)."""
    if isinstance(data, Value):
        return plain(data.data)
    if isinstance(data, dict):
        return {_key(key): plain(child) for key, child in data.items()}
    if isinstance(data, list | tuple):
        return [plain(child) for child in data]
    if isinstance(data, QuotedString):
        return "str", data.text
    if isinstance(data, ChoiceSweep):
        return "choice", [plain(child) for child in data.list]
    if isinstance(data, RangeSweep):
        return "range", plain([data.start, data.stop, data.step])
    if isinstance(data, IntervalSweep):
        return "interval", plain([data.start, data.end])
    if isinstance(data, Glob):
        return "glob", plain([data.include, data.exclude])
    if isinstance(data, Sweep):
        return data.kind, plain(data.items if data.kind == "choice" else data.bounds)
    if isinstance(data, Unknown):
        return "unknown", data.reason
    return type(data).__name__, str(data)


def _key(key: Any) -> str:
    return key if isinstance(key, str) else "null" if key is None else str(key).lower()


def hydra(text: str) -> tuple[str, str, str | None, Any] | str:
    """(prefix, key, package, value) as Hydra reads it, or the text of its refusal."""
    try:
        found = PARSER.parse_overrides([text])[0]
    except (HydraException, RecursionError, ValueError) as error:
        return str(error)
    value = "absent" if found.value_type is None else plain(found.value())
    return PREFIX[found.type.name], found.key_or_group, found.package, value


def failure(text: str) -> tuple[int | None, bool]:
    """The offset at which Hydra's lexer or parser fails, and whether it is the lexer; None where it fails elsewhere."""
    try:
        PARSER.parse_rule(text, "override")
    except (HydraException, ValueError) as error:
        cause = error.__cause__
        if isinstance(cause, LexerNoViableAltException):
            return int(cause.startIndex), True
        if isinstance(cause, RecognitionException) and cause.offendingToken is not None:
            return int(cause.offendingToken.start), False
    return None, False


def ours(override: Override) -> tuple[str, str, str | None, Any] | str:
    """The same of our own reading."""
    if override.problem is not None:
        return override.problem.message
    value = "absent" if override.value is None else plain(override.value)
    return override.prefix, override.key, override.package, value
