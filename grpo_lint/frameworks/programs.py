"""Programs whose whole parser the option tables hold: what a launch gives them, and where.

    program = program_of(run)            # None: a program with options of its own, or none of these
    program.uses                         # the options given, in order, each with what its table says of it
    program.release("vllm")              # the release of a table's package, where it is told

A script of somebody's own reads options that no table has; nothing can be said of what it doesn't know. A program is
`closed` where its own package alone says what it reads, so that a release that was read settles the matter.
"""

from __future__ import annotations

import re

from grpo_lint.frameworks import tables
from grpo_lint.frameworks.flags import Arguments
from grpo_lint.located import DYNAMIC
from grpo_lint.modules import module
from grpo_lint.patterns import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from grpo_lint.frameworks.flags import Dialect, Given, Kind
    from grpo_lint.located import Word
    from grpo_lint.runconfig import RunConfig, Version
    from grpo_lint.source import Span
    from grpo_lint.unified import Origin

    Found = tuple[str, Kind | None, str, str, dict[str, Any]]

PACKAGES = {"megatron": "megatron-core", "ms_swift": "ms-swift", "llama_factory": "llamafactory"}
"""Table: the package whose release its options go by, where the name is another."""
READ = ("vllm", "sglang", "openrlhf", "trl", "ms_swift", "slime", "megatron", "llama_factory")
"""Frameworks that have such programs."""
_NAME = lazy(r"--[A-Za-z][\w.-]*")
_NAMED = re.compile(r"[\w.-]")
TRIES = 20
"""How often a key's text is looked for before its value: it may be a part of others in between."""
MANY = 100
"""More names than these that no table has are no slips."""
_COMMON = frozenset(("--help", "--version", "--config", "--accelerate_config"))
"""What parsers take besides their options."""


class Use:
    """An option as a launch gives it.

    `shown` is its name as given, `written` the same as the parser folds it; `kind` how it is taken (None: no table has
    it); `table`, `name` and `entry` are set where that very name is in a table, and no alias of another. `span` is the
    place of the name, `words` its values on the line, `origin` the origin of a value that stands in a file.
    """

    __slots__ = ("entry", "kind", "name", "origin", "shown", "span", "table", "words", "written")

    def __init__(self, shown: str, span: Span, words: tuple[Word, ...] = (), origin: Origin | None = None) -> None:
        self.shown = shown
        self.written = shown
        self.kind: Kind | None = None
        self.span = span
        self.words = words
        self.origin = origin
        self.table = ""
        self.name = ""
        self.entry: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"Use({self.written})"


class Program:
    """A program, how it reads its line, and what it is given there and in the file that it names.

    `loose` are words that belong to no option, each with the option that stands before it.
    """

    __slots__ = ("closed", "dialect", "loose", "more", "run", "title", "uses")

    def __init__(self, run: RunConfig, title: str, closed: bool, dialect: Dialect, more: tuple[str, ...] = ()) -> None:
        self.run = run
        self.title = title
        self.dialect = dialect
        self.closed = closed
        self.more = more
        self.uses: list[Use] = []
        self.loose: list[tuple[Word, Use]] = []

    def release(self, table: str) -> Version | None:
        """The release of a table's package that the run is known to use."""
        return self.run.versions.get(PACKAGES.get(table, table))

    def names(self) -> list[str]:
        """Every name that the program takes, in some release."""
        found = list(self.dialect.names())
        for table in self.more:
            found += [name for name in tables.table(table).options if name.startswith("--")]
        return found

    def takes(self, name: str) -> bool:
        """Whether a table has a name, if only in Python, or a name begins with it where that may be enough."""
        if name in _COMMON or any(name in tables.table(table).options for table, _ in self.dialect.tables):
            return True
        if any(name in tables.table(table).options for table in self.more):
            return True
        shortened = self.dialect.abbreviates or self.dialect.bools == "optional"  # Hugging Face's parser shortens, too
        return shortened and bool(self.dialect.completions(name))


_known: dict[tuple[str, str, str], Found] = {}
"""What the tables say of a name, by framework, family of commands and the name as written."""
_slips: dict[tuple[str, str, str], str] = {}
_last: tuple[RunConfig, Program | None] | None = None
"""The run asked for last, since each rule asks for the same one in turn."""


def program_of(run: RunConfig) -> Program | None:
    """The program that a launch starts, if its whole parser is known."""
    global _last
    if run.framework not in READ:
        return None
    if _last is None or _last[0] is not run:
        _last = run, _started(run)
    return _last[1]


def _started(run: RunConfig) -> Program | None:
    at = next((at for at, word in enumerate(run.command) if word.span is run.anchor), None)
    if at is None and (run.command or run.framework != "llama_factory"):
        return None
    name = run.command[at].text.rsplit("/", 1)[-1] if at is not None else ""
    args = run.command[at + 1 :] if at is not None else ()
    framework = module(f"frameworks.{run.framework}")
    told = _told(run, name, args[0].text if args else "")
    if told is None or not isinstance(run.arguments, Arguments):
        return None
    program = Program(run, *told, framework.DIALECT, ("accelerate",) if run.framework == "trl" else ())
    _from_file(run, program)
    _from_line(run.arguments, program)
    return program


def _told(run: RunConfig, name: str, first: str) -> tuple[str, bool] | None:
    """(what to call the program, whether it is closed)."""
    framework = run.framework
    if framework == "vllm":
        return ("vllm serve" if first == "serve" else "vllm's server", True)
    if framework == "sglang":  # `sglang serve` may start a server for diffusion models, which has options of its own
        return ("sglang serve", False) if name == "sglang" else ("sglang.launch_server", True)
    if framework == "openrlhf":
        return (run.engine, True) if run.engine == "train_ppo_ray" else None
    if framework == "trl":
        return ("trl grpo", False) if name == "trl" and first == "grpo" else None
    if framework == "ms_swift":
        return (run.engine, False) if run.engine.rpartition(" ")[2] in ("rlhf", "sft", "pt") else None
    if framework == "llama_factory":
        return ("llamafactory-cli train", False) if not _on_megatron(run) else None
    if framework == "slime":
        return (name, False) if name in ("train.py", "train_async.py") and run.engine != "miles" else None
    return (name, False) if name in ("pretrain_gpt.py", "train_rl.py") else None


def _on_megatron(run: RunConfig) -> bool:
    """Whether LLaMA-Factory trains on Megatron, whose own options its file then holds, too."""
    if not run.environment("USE_MCA").unset:
        return True
    return any("megatron" in key or "_mca" in key or "model_parallel" in key for key in run.options.keys(run.framework))


def _from_line(arguments: Arguments, program: Program) -> None:
    before: dict[int, Use] = {}
    for given in arguments.given:
        name = _written(given)
        use = Use(name, _flag_place(given.span, name), given.values)
        _look_up(use, program)
        program.uses.append(use)
        before[id(given.span)] = use
    loose = {id(word) for word in arguments.positionals}
    words = program.run.command if loose else ()
    for at, word in enumerate(words[1:]):
        if id(word) in loose and id(words[at].span) in before and "=" not in words[at].text:
            program.loose.append((word, before[id(words[at].span)]))


def _written(given: Given) -> str:
    """A flag's name as it is written where it stands as such, else as its table spells it."""
    text = given.span.text.partition("=")[0]
    return text if _NAME.fullmatch(text) else given.kind.name


def _flag_place(span: Span, name: str) -> Span:
    return span.file.span(span.start, span.start + len(name)) if span.text.startswith(f"{name}=") else span


def _from_file(run: RunConfig, program: Program) -> None:
    """What a file gives that the line names: keys are flags there, as are LLaMA-Factory's words after the file."""
    loose = isinstance(run.arguments, Arguments) and not run.arguments.given
    layers = ("file", "override") if run.framework == "llama_factory" and loose else ("file",)
    for _, key, setting in run.options.written(run.framework):
        origin = next((origin for origin in setting.chain if origin.layer in layers and origin.span), None)
        if origin is None or origin.span is None or "." in key:
            continue
        use = Use(key, key_place(origin.span, origin.key.removeprefix("--")), (), origin)
        _look_up(use, program)
        program.uses.append(use)


def _look_up(use: Use, program: Program) -> None:
    """Fill in what the tables say of a name as it is written."""
    key = program.run.framework, program.title.partition(" ")[0], use.shown
    if key not in _known:
        _known[key] = _found(use.shown, program)
    use.written, use.kind, use.table, use.name, use.entry = _known[key]


def _found(shown: str, program: Program) -> Found:
    dialect = program.dialect
    written = dialect.folded(shown)
    kind = dialect.kind(written) if DYNAMIC not in shown else None
    for table, prefix in (*dialect.tables, *((("transformers", ""),) if dialect.inherits else ())):
        name = "--" + written[len(prefix) :] if prefix and written.startswith(prefix) else written
        entry = tables.table(table).options.get(name) if not prefix or name is not written else None
        if entry is not None and _of_command(entry, program) and name not in dialect.aliases(table):
            return written, kind, table, name, entry
    return written, kind, "", "", {}


def _of_command(entry: dict[str, Any], program: Program) -> bool:
    """Whether an entry is the program's own: ms-swift has two families of commands, which share names."""
    command = str(entry.get("more", {}).get("command", ""))
    return program.run.framework != "ms_swift" or command.partition(" ")[0] == program.title.partition(" ")[0]


def key_place(value: Span, key: str) -> Span:
    """Where the key of a value stands in a file, or the section of that name that holds it: the last one before it.

    The value's own place if it isn't found within a few tries.
    """
    leaf, text, end = key.rpartition(".")[2], value.file.text, value.start
    for _ in range(TRIES):
        end = text.rfind(leaf, 0, end) if leaf else -1
        if end < 0:
            break
        match = re.compile(rf"""(["']?){re.escape(leaf)}\1(?=\s*:)""").match(
            text, end - (text[end - 1 : end] in ("'", '"'))
        )
        if match is not None and not _NAMED.match(text, match.start() - 1):
            return value.file.span(match.start(), match.end())
    return value


def renames(use: Use) -> bool:
    """Whether the option that took another's place takes the same values and means the same by them.

    So it is with OpenRLHF's flags, which got other names all at once, and with those of sglang's flags that still store
    what they did (0.5.23, arg_groups/argparse_actions.py); the modes of context parallelism got other names, too.
    """
    if use.table == "sglang":
        action = str(use.entry.get("more", {}).get("action") or "")
        kept = action in ("DeprecatedStoreTrueAction", "DeprecatedAliasStoreAction")
        return kept and use.name != "--nsa-prefill-cp-mode"
    return use.table == "openrlhf"


def strangers(program: Program) -> Iterator[Use]:
    """The options given that no table has in any release; none where there are too many of them to be slips."""
    unknown_uses = [use for use in program.uses if use.kind is None and not use.entry]
    for use in unknown_uses if len(unknown_uses) <= MANY else ():
        unknown = _NAME.fullmatch(use.written)
        if unknown and not _below_json(use, program) and not program.takes(use.written):
            yield use


def meant(use: Use, program: Program) -> str:
    """The option that an unknown name is a slip of the pen for; "" if it is none. Forks' names come again and again."""
    key = program.run.framework, program.title.partition(" ")[0], use.shown
    if key not in _slips:
        from grpo_lint.frameworks import slips

        _slips[key] = slips.meant(use.written, program.names())
    return _slips[key]


def _below_json(use: Use, program: Program) -> bool:
    """Whether a name is a key of an option that takes JSON, which may have keys of its own."""
    return program.dialect.dotted and "." in use.written
