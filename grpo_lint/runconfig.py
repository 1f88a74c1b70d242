"""What a run really gets: every raw option with its origins, and the unified config worked out from them."""

from __future__ import annotations

from grpo_lint.source import Span
from grpo_lint.unified import FIELDS, UNSET, Origin, Setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from grpo_lint.located import Word

    Defaults = Callable[[str], Setting]
    Resolve = Callable[[str, Setting], Setting]


class Options:
    """The raw options of a run by (framework, key), each with its chain of origins.

    A framework's defaults are asked for one key at a time, since a tree holds over a thousand and rules read a few.
    """

    __slots__ = ("_defaults", "_keys", "_resolvers", "_set")

    def __init__(self) -> None:
        self._set: dict[tuple[str, str], Setting] = {}
        self._defaults: dict[str, Defaults] = {}
        self._keys: dict[str, Callable[[], Iterable[str]]] = {}
        self._resolvers: dict[str, Resolve] = {}

    def use_defaults(self, framework: str, defaults: Defaults, keys: Callable[[], Iterable[str]]) -> None:
        """Let `defaults(key)` answer for options that nothing sets; `keys()` lists all that it knows."""
        self._defaults[framework] = defaults
        self._keys[framework] = keys

    def use_resolver(self, framework: str, resolve: Resolve) -> None:
        """Let `resolve(key, setting)` replace values that refer to other options."""
        self._resolvers[framework] = resolve

    def put(self, framework: str, key: str, setting: Setting) -> None:
        """Set an option on top of what is there: the new value rules, the older origins stay in its chain."""
        below = self._raw(framework, key).chain
        self._set[framework, key] = Setting(
            setting.state, setting.value, (*below, *setting.chain), setting.alternatives, setting.reason
        )

    def get(self, framework: str, key: str) -> Setting:
        """An option as its framework gets it: what is written, or else the default, references resolved."""
        setting = self._raw(framework, key)
        resolve = self._resolvers.get(framework)
        return setting if resolve is None else resolve(key, setting)

    def _raw(self, framework: str, key: str) -> Setting:
        setting = self._set.get((framework, key))
        if setting is not None:
            return setting
        defaults = self._defaults.get(framework)
        return defaults(key) if defaults is not None else UNSET

    @property
    def frameworks(self) -> set[str]:
        """Those of which something sets an option; no value is worked out for that."""
        return {name for name, _ in self._set}

    def written(self, framework: str | None = None) -> Iterator[tuple[str, str, Setting]]:
        """(framework, key, setting) of every option that something sets, in the order of first setting."""
        for name, key in self._set:
            if framework is None or name == framework:
                yield name, key, self.get(name, key)

    def keys(self, framework: str) -> Iterator[str]:
        """The keys of the options that something sets; of one framework, or of all for ""."""
        for name, key in self._set:
            if not framework or name == framework:
                yield key

    def chains(self) -> Iterator[tuple[Origin, ...]]:
        """The origins of every option that something sets, as they stand: no reference is followed."""
        for setting in self._set.values():
            yield setting.chain

    def all(self) -> Iterator[tuple[str, str, Setting]]:
        """`written`, then the defaults that nothing overrides."""
        yield from self.written()
        for framework, keys in self._keys.items():
            for key in keys():
                if (framework, key) not in self._set:
                    yield framework, key, self.get(framework, key)

    def below(self, framework: str, prefix: str) -> Iterator[tuple[str, Setting]]:
        """(rest of the key, setting) of the written options under a dotted prefix."""
        start = prefix + "."
        for name, key in self._set:
            if name == framework and key.startswith(start):
                yield key[len(start) :], self.get(name, key)

    def variants(self, limit: int = 8) -> list[tuple[tuple[str, ...], Options]]:
        """The options once for each combination of alternatives: (conditions, options with those values).

        Past `limit` combinations the alternatives stay as they are, undecided.
        """
        open_keys = [key for key, setting in self._set.items() if setting.state == "alternatives"]
        total = 1
        for key in open_keys:
            total *= len(self._set[key].alternatives)
        if not open_keys or total > limit:
            return [((), self)]
        found: list[tuple[tuple[str, ...], Options]] = [((), self)]
        for key in open_keys:
            found = [
                ((*conditions, condition), options._with(key, value))
                for conditions, options in found
                for condition, value in self._set[key].alternatives
            ]
        return found

    def _with(self, key: tuple[str, str], value: object) -> Options:
        copy = Options()
        copy._defaults, copy._keys, copy._resolvers = self._defaults, self._keys, self._resolvers
        copy._set = {**self._set, key: Setting("known", value, self._set[key].chain)}
        return copy


class Version:
    """A release that a run is known to use, and how that is known."""

    __slots__ = ("parts", "source", "span", "text")

    def __init__(self, text: str, source: str, span: Span | None = None) -> None:
        self.text = text
        self.source = source
        self.span = span
        self.parts = release(text)

    def __repr__(self) -> str:
        return f"Version({self.text!r}, {self.source!r})"


def release(text: str) -> tuple[int, ...]:
    """The numeric release of a version as a tuple that compares: "0.19.3" is (0, 19, 3), "0.9" equals "0.9.0"."""
    if text not in _RELEASES:
        _RELEASES[text] = _release(text)
    return _RELEASES[text]


_RELEASES: dict[str, tuple[int, ...]] = {}
"""Each rule asks about the same few releases."""


def _release(text: str) -> tuple[int, ...]:
    parts: list[int] = []
    for part in text.lstrip("v").split("+")[0].split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        parts.append(int(digits))
        if digits != part:
            break
    while len(parts) > 1 and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


class RunConfig:
    """The config of one run. Each unified field is an attribute that holds a Setting; UNSET where nothing says.

    `framework` is the one that runs the training or the server; `frameworks` all whose options take part. `anchor` is
    where to point when nothing better has a place: the program on the command line, or the file's first key.
    `complete` is False when options may come from a place that could not be read: absence then proves nothing.
    `candidates` are the releases of a framework that the config itself admits, oldest first, where none is told.
    `arguments` is the program's line as its parser takes it apart (frameworks.flags.Arguments), where it has a table.
    """

    __slots__ = (
        "anchor",
        "arguments",
        "candidates",
        "command",
        "complete",
        "engine",
        "env",
        "fields",
        "framework",
        "options",
        "versions",
        "when",
    )

    def __init__(self, framework: str, options: Options, anchor: Span) -> None:
        self.framework = framework
        self.options = options
        self.anchor = anchor
        self.engine = ""
        self.fields: dict[str, Setting] = {}
        self.versions: dict[str, Version] = {}
        self.candidates: dict[str, tuple[str, ...]] = {}
        self.env: dict[str, Setting] = {}
        self.when: tuple[str, ...] = ()
        self.command: tuple[Word, ...] = ()
        self.arguments: object = None
        self.complete = True

    def __getattr__(self, name: str) -> Setting:
        if name not in FIELDS:
            raise AttributeError(f"no unified field is called {name!r}")
        return self.fields.get(name, UNSET)

    @property
    def frameworks(self) -> set[str]:
        return {self.framework, *self.options.frameworks}

    def option(self, framework: str, key: str) -> Setting:
        """A raw option as its framework would get it."""
        return self.options.get(framework, key)

    def before(self, framework: str, version: str) -> bool | None:
        """Whether the run's release of a framework is older than `version`; None when that isn't known.

        Where no release is told, the candidates answer if they all agree.
        """
        known = self.versions.get(framework)
        if known is not None:
            return known.parts < release(version)
        answers = {release(candidate) < release(version) for candidate in self.candidates.get(framework, ())}
        return answers.pop() if len(answers) == 1 else None

    def mentions(self, words: Iterable[str]) -> bool:
        """Whether the files say anything of one of these.

        A word is a unified field, which has to be on; else a part of an option's key or a variable of the environment;
        where it starts with # or -, it may be a part of the text, too.
        """
        for word in words:
            if word in FIELDS:
                setting: Setting = getattr(self, word)
                if not setting.decided or setting.value not in (None, False, 0, "", "none"):
                    return True
            elif (
                word in self.env
                or any(word in key for key in self.options.keys(""))
                or (word[0] in "#-" and word in self.anchor.file.text)
            ):
                return True
        return False

    def environment(self, name: str) -> Setting:
        return self.env.get(name, UNSET)


def default(value: object, note: str, key: str) -> Setting:
    """A framework's own default; `note` names the release it was read from."""
    return Setting("known", value, (Origin("default", None, (), note, key, value),))
