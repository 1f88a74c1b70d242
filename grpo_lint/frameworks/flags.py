"""Command lines that argparse reads, over a framework's option table: the words after a program become options.

An option is known by the name that its table gives it (`--tensor-model-parallel-size`), however it is spelled on the
line, and its value is true while a switch is in force, `--disable-x` included: a table's default for a switch that
clears something is turned round. `--no-x` of a pair sets `--x` to false.
"""

from __future__ import annotations

import re
from bisect import bisect_left

from grpo_lint.frameworks import tables
from grpo_lint.located import Unknown, Word
from grpo_lint.patterns import lazy
from grpo_lint.runconfig import default
from grpo_lint.unified import UNSET, Origin, Setting, unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, Literal

    from grpo_lint.located import Value
    from grpo_lint.runconfig import RunConfig
    from grpo_lint.source import Span
    from grpo_lint.unified import Layer

    Bools = Literal["switch", "optional"]

_NEGATIVE = lazy(r"-\d+$|-\d*\.\d+$|-\d+\.?\d*[eE][-+]?\d+$")
_SUFFIXED = lazy(r"(\d+(?:\.\d+)?)([kmgtKMGT])$")
_MULTIPLIERS = {
    letter: base**power
    for power, pair in enumerate(("kK", "mM", "gG", "tT"), 1)
    for letter, base in zip(pair, (1000, 1024), strict=True)
}
_NUMBERED = lazy(r"\bint\b(?!.*\bstr\b)")
_NUMBERS = lazy(r"literal\[\s*-?\d")
MANY = 1_000_000
"""The most values of an option that takes any number of them."""


FLAGS_AFTER_ALL = frozenset(
    ("--disable-cuda-graph", "--enable-dp-attention", "--enable-flashinfer-allreduce-fusion", "--sampling-backend")
)
"""Fields of SGLang's that make no flag, and whose flags its parser adds by hand (0.5.23, srt/server_args.py)."""


class Kind:
    """How an option takes values: between `least` and `most` words, `const` where it may stand alone."""

    __slots__ = ("const", "least", "most", "name", "type")

    def __init__(self, name: str, type: str, least: int, most: int, const: Any = True) -> None:
        self.name = name
        self.type = type
        self.least = least
        self.most = most
        self.const = const


class Given:
    """An option as a line gives it: its kind, the place of the flag, and its values."""

    __slots__ = ("kind", "span", "values")

    def __init__(self, kind: Kind, span: Span, values: tuple[Word, ...]) -> None:
        self.kind = kind
        self.span = span
        self.values = values


class Arguments:
    """A command line as a parser takes it apart. `hidden`: some words can't be known, so options may be missing."""

    __slots__ = ("given", "hidden", "positionals")

    def __init__(self) -> None:
        self.given: list[Given] = []
        self.positionals: list[Word] = []
        self.hidden = False

    def last(self, name: str) -> Given | None:
        return next((given for given in reversed(self.given) if given.kind.name == name), None)


class Dialect:
    """A program's parser: the tables of its options with the prefix under which each stands, and its habits.

    `folds` is the character that `-` and `_` in names become where the parser takes either, "" where it doesn't.
    `bools` says how bools without an action are given: as switches, or with an optional word (Hugging Face).
    `abbreviates`: a unique beginning of a name is enough. `dotted`: what follows a dot is a key of a JSON option.
    `suffixes`: integers may end in k, M and so on. `inherits`: those of transformers' TrainingArguments count, too.
    """

    __slots__ = (
        "_in_order",
        "_known",
        "_other_names",
        "abbreviates",
        "bools",
        "dotted",
        "folds",
        "framework",
        "inherits",
        "suffixes",
        "tables",
    )

    def __init__(
        self,
        framework: str,
        names: tuple[tuple[str, str], ...],
        *,
        folds: str = "",
        bools: Bools = "switch",
        abbreviates: bool = False,
        suffixes: bool = False,
        dotted: bool = False,
        inherits: bool = False,
    ) -> None:
        self.framework = framework
        self.tables = names
        self.folds = folds
        self.bools: Bools = bools
        self.abbreviates = abbreviates
        self.suffixes = suffixes
        self.dotted = dotted
        self.inherits = inherits
        self._known: dict[str, Kind | None] = {}
        self._in_order: list[str] = []
        self._other_names: dict[str, dict[str, str]] = {}

    def kind(self, flag: str) -> Kind | None:
        """How an option is taken, by its flag as written without a value; None for one that no table has."""
        name = self.folded(flag)
        if name not in self._known:
            self._known[name] = self._found(name)
        return self._known[name]

    def _found(self, name: str) -> Kind | None:
        found = self._spelled(name)
        if found is not None:
            return found
        if self.dotted and "." in name:
            head, _, keys = name.partition(".")
            whole = self.kind(head)
            return Kind(f"{whole.name}.{keys}", "", 1, 1) if whole is not None and keys else None
        if not self.abbreviates or not name.startswith("--") or len(name) < 3:
            return None
        matches = {kind.name: kind for known in self.completions(name) if (kind := self._spelled(known)) is not None}
        return next(iter(matches.values())) if len(matches) == 1 else None

    def _spelled(self, name: str) -> Kind | None:
        """An option by its whole name, an alias, or the name of its opposite (`--no-x`)."""
        found = self._entry(name)
        if found is not None:
            return self._taken(*found)
        if not name.startswith(("--no-", "--no_")) or name[4] != ("_" if self.folds == "_" else "-"):
            return None
        found = self._entry("--" + name[5:])
        kind = self._taken(*found) if found is not None else None
        if found is None or kind is None or kind.least or "bool" not in kind.type.lower():
            return None
        clears = found[1].get("more", {}).get("action") == "store_false"
        return None if clears else Kind(kind.name, kind.type, 0, 0, False)

    def _entry(self, name: str) -> tuple[str, dict[str, Any]] | None:
        """(the option's name with its prefix, its entry) by name or alias; the first table that has it."""
        for table_name, prefix in (*self.tables, *((("transformers", ""),) if self.inherits else ())):
            table = tables.table(table_name)
            options = table.options
            own = "--" + name[len(prefix) :] if prefix and name.startswith(prefix) else name
            if prefix and own is name:
                continue
            if own not in options or options[own]["spells"][-1][1] < len(table.releases) - 1:  # renamed since
                own = self.aliases(table_name).get(own, own)
            entry = options.get(own)
            if entry is not None and (own in FLAGS_AFTER_ALL or not entry.get("more", {}).get("no_cli")):
                return (prefix + own.removeprefix("--") if prefix else own), entry
        return None

    def aliases(self, table_name: str) -> dict[str, str]:
        """The names of a table's options by their aliases."""
        if table_name not in self._other_names:
            options = tables.table(table_name).options
            spelled = {alias: name for name, entry in options.items() for alias in entry.get("aliases", ())}
            self._other_names[table_name] = spelled
        return self._other_names[table_name]

    def names(self) -> Iterator[str]:
        """Every name and alias that a line may hold, opposites included."""
        for table_name, prefix in (*self.tables, *((("transformers", ""),) if self.inherits else ())):
            for name in (*tables.table(table_name).options, *self.aliases(table_name)):
                if name.startswith("--"):
                    yield prefix + name[2:] if prefix else name
                    yield f"--no{'_' if self.folds == '_' else '-'}{name[2:]}"

    def completions(self, start: str) -> list[str]:
        """The names that begin with a text."""
        if not self._in_order:
            self._in_order = sorted(set(self.names()))
        first = bisect_left(self._in_order, start)
        last = bisect_left(self._in_order, start + "\U0010ffff")
        return self._in_order[first:last]

    def folded(self, flag: str) -> str:
        """A name as the table spells it; what follows the first dot is a key, not a name."""
        if not self.folds or not flag.startswith("--"):
            return flag
        name, dot, rest = flag[2:].partition(".")
        return "--" + name.replace("_" if self.folds == "-" else "-", self.folds) + dot + rest

    def _taken(self, name: str, entry: dict[str, Any]) -> Kind:
        more, choices = entry.get("more", {}), entry.get("choices") or ("",)
        type_ = "int" if all(type(choice) is int for choice in choices) else entry.get("type") or ""
        action, nargs = str(more.get("action") or ""), more.get("nargs")
        if action in ("store_true", "store_false") or action.endswith(("BooleanOptionalAction", "TrueAction")):
            return Kind(name, "bool", 0, 0)
        if action.endswith(("DeprecatedAction", "StoreConstAction")):
            return Kind(name, type_, 0, 0)
        if type(nargs) is int:
            return Kind(name, type_, nargs, nargs)
        if nargs in ("+", "*"):
            return Kind(name, type_, int(nargs == "+"), MANY)
        lowered = type_.lower()
        if "bool" in lowered and "str" in lowered:
            return Kind(name, type_, 0, 1)
        if "bool" in lowered:
            return Kind(name, type_, 0, 1 if self.bools == "optional" else 0)
        if re.match(r"(?:optional\[)?(?:list|set)\[|optional\[union\[(?:set|dict)\[", lowered):
            return Kind(name, type_, 1, MANY)
        return Kind(name, type_, 1, 1)


def parse(words: Sequence[Word], dialect: Dialect) -> Arguments:
    """Take a program's arguments apart as argparse would; a flag that no table has takes the word after it, if any."""
    arguments, at = Arguments(), 0
    while at < len(words):
        word = words[at]
        text = word.text
        at += 1
        if text == "--":
            arguments.positionals += words[at:]
            break
        if not looks_like_flag(text):
            if word.dynamic:
                arguments.hidden = True
            arguments.positionals.append(word)
            continue
        name, equals, _ = text.partition("=")
        kind = dialect.kind(name)
        if kind is None and not name.startswith("--"):
            arguments.positionals.append(word)
            continue
        kind = kind or Kind(name, "", 0, 1)
        arguments.hidden = arguments.hidden or any(piece.reason for piece in word.cut(0, len(name)).pieces)
        if equals:
            arguments.given.append(Given(kind, word.span, (word.cut(len(name) + 1),)))
            continue
        start = at
        while at < len(words) and at - start < kind.most and not looks_like_flag(words[at].text):
            at += 1
        arguments.given.append(Given(kind, word.span, tuple(words[start:at])))
    return arguments


def looks_like_flag(text: str) -> bool:
    """As argparse sees it: a dash, but no negative number, nor a word with a space in it."""
    return text.startswith("-") and len(text) > 1 and not _NEGATIVE.match(text) and " " not in text.partition("=")[0]


def put(arguments: Arguments, run: RunConfig, dialect: Dialect, layer: Layer = "override") -> None:
    """Set the options of a line, which the run keeps as it is; the last of each counts."""
    run.arguments = arguments
    for given in arguments.given:
        run.options.put(dialect.framework, given.kind.name, setting(given, dialect, layer))
    if arguments.hidden:
        run.complete = False


def setting(given: Given, dialect: Dialect, layer: Layer = "override") -> Setting:
    """What a given option comes to."""
    kind = given.kind
    if not given.values:
        if kind.least:
            return unknown(f"{kind.name} stands without a value", Origin(layer, given.span, (), "", kind.name))
        return Setting("known", kind.const, (Origin(layer, given.span, (), "", kind.name, kind.const),))
    if kind.most <= 1:
        return word_setting(given.values[0], kind.name, layer, kind.type, dialect.suffixes)
    first = given.values[0]
    via = tuple(place for word in given.values for piece in word.pieces for place in piece.via)
    reason = next((word.reason for word in given.values if word.dynamic), "")
    data = [typed(word.text, _item(kind.type), dialect.suffixes) for word in given.values]
    origin = Origin(layer, first.span, via, "", kind.name, data)
    return unknown(reason, origin) if reason else Setting("known", data, (origin,))


def file_setting(value: Value, name: str, dialect: Dialect) -> Setting:
    """A value of a file whose keys are a parser's options: argparse types a text there, as on the line; other values
    stay what the file's reader makes of them."""
    origin = Origin("file", value.span, value.via, "", name.removeprefix("--"), value.plain())
    if isinstance(value.data, Unknown):
        return unknown(value.data.reason, origin)
    kind = dialect.kind(name) if isinstance(value.data, str) else None
    if kind is not None and kind.most <= 1:
        origin.data = typed(str(value.data), kind.type, dialect.suffixes)
    return Setting("known", origin.data, (origin,))


def word_setting(word: Word, key: str, layer: Layer, type_: str = "", suffixes: bool = False) -> Setting:
    """A word of a command line as a setting of its option's type."""
    via = (*(place for piece in word.pieces for place in piece.via), *word.via)
    note = next((piece.note for piece in word.pieces if piece.note), "")
    data = typed(word.text, type_, suffixes)
    origin = Origin(layer, word.span, via, note, key, data)
    return unknown(word.reason, origin) if word.dynamic else Setting("known", data, (origin,))


def typed(text: str, type_: str, suffixes: bool = False) -> Any:
    """A word as a value of an option's type; the word itself where it isn't one."""
    lowered = type_.lower()
    if not lowered:
        return _json(text) if text[:1] in ("{", "[") else _plain(text)
    if "bool" in lowered and text.lower() in ("true", "false", "yes", "no", "t", "f", "y", "n", "1", "0"):
        return text.lower() in ("true", "yes", "t", "y", "1")
    if "dict" in lowered or "json" in lowered or (text[:1] in ("{", "[") and not lowered.startswith("str")):
        return _json(text)
    if _NUMBERED.search(lowered) or _NUMBERS.search(lowered):
        suffixed = _SUFFIXED.match(text) if suffixes else None
        if suffixed is not None:
            return int(float(suffixed[1]) * _MULTIPLIERS[suffixed[2]])
        return _converted(text, int)
    return _converted(text, float) if "float" in lowered and "str" not in lowered else text


def _item(type_: str) -> str:
    return re.sub(r"(?i)optional\[|list\[|set\[|\]|\| none", "", type_).strip()


def _converted(text: str, convert: type[int] | type[float]) -> Any:
    try:
        return convert(text)
    except ValueError:
        return text


def _plain(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    number = _converted(text, int)
    return number if number is not text else _converted(text, float)


def _json(text: str) -> Any:
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def use_defaults(run: RunConfig, dialect: Dialect, packages: dict[str, str]) -> None:
    """Let the tables answer for what nothing sets. `packages` names the package whose release a table goes by."""

    def release(table_name: str) -> str | None:
        version = run.versions.get(packages.get(table_name, table_name))
        return version.text if version is not None else None

    def lookup(key: str) -> Setting:
        for table_name, prefix in dialect.tables:
            if key.startswith(prefix):
                name = "--" + key[len(prefix) :] if prefix else key
                option = tables.option(table_name, name, release(table_name))
                if option is not None and option.default is not tables.MISSING:
                    return _default(option, key, table_name, release(table_name))
        return UNSET

    def keys() -> Iterable[str]:
        for table_name, prefix in dialect.tables:
            for name in tables.table(table_name).options:
                if lookup(key := prefix + name.removeprefix("--") if prefix else name) is not UNSET:
                    yield key

    run.options.use_defaults(dialect.framework, lookup, keys)


def _default(option: tables.Option, key: str, table_name: str, release: str | None) -> Setting:
    value = option.default
    note = f"default of {table_name.replace('_', '-')}" + (f" {release}" if release else "")
    origin = Origin("default", None, (), note, key, value)
    if isinstance(value, Unknown):
        return unknown(value.reason, origin)
    if isinstance(value, dict) and "expr" in value:
        return unknown(f"the default is worked out: {value['expr']}", origin)
    if option.more.get("action") == "store_false" and isinstance(value, bool):
        value = not value
    return default(value, note, key)
