"""What somebody says went wrong, in the words of the data: a fault (nan, out of memory, ...) and what it is about."""

from __future__ import annotations

from grpo_lint.diagnosis.log import Signature, scan
from grpo_lint.modules import packaged
from grpo_lint.patterns import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from grpo_lint.diagnosis.log import Hit, Log

CAUSES = packaged("knowledge", "causes.json")
MAX_TEXT = 20_000
"""Characters of a symptom that are read."""
OF_FAULT = 10.0
"""What a fault counts; what it is about counts the more the fewer causes have to do with it, up to 6."""
ENOUGH = 3.0
"""What has to fit of a symptom without a fault."""

_WORD = lazy(r"[^\s/,;!?\"`()\[\]{}<>|=]+")


def load() -> dict[str, Any]:
    """What is known of causes, as the data file has it."""
    import json

    with open(CAUSES, encoding="utf-8") as file:
        known: dict[str, Any] = json.load(file)
    return known


class Symptom:
    """A symptom that was told or that a log shows: its faults, and what it is about, in the data's words.

    `weight` is 1, or less for what few lines of a log show, compared with what most do.
    """

    __slots__ = ("about", "faults", "text", "weight")

    def __init__(self, text: str, faults: Iterable[str] = (), about: Iterable[str] = (), weight: float = 1.0) -> None:
        self.weight = weight
        self.text = text
        self.faults = tuple(faults)
        self.about = tuple(about)

    def __repr__(self) -> str:
        return f"Symptom({self.text!r}, {self.faults}, {self.about})"

    @property
    def known(self) -> tuple[str, ...]:
        """The words that were understood."""
        return (*self.faults, *self.about)


def stems(text: str) -> list[str]:
    """A text's words without their endings and without those that say nothing: "the losses aren't rising" and so on."""
    words = (word.strip(".:*-'") for word in _WORD.findall(text.lower().replace("n't", " not")))
    return [_stem(word) for word in words if word and word not in _SAYS_NOTHING]


_FILLERS = """
a an the my our its it i we very at of on in for with by and but or still always just only does do did has have had been
be ever any some this that there when while after get gets got getting keep keeps
"""
_SAYS_NOTHING = frozenset(_FILLERS.split())


def _stem(word: str) -> str:
    """A word of letters without the endings of plurals and verbs; what holds anything else is a name."""
    if not word.isalpha() or len(word) < 4:
        return word
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) > len(ending) + 3:
            word = word[: -len(ending)]
            break
    else:
        if word.endswith(("sses", "xes", "ches", "shes", "zes")):
            word = word[:-2]
        elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
            word = word[:-1]
    if len(word) > 4 and word[-1] == word[-2] and word[-1] not in "sl":  # stopp(ed), stopp(ing)
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


class Vocabulary:
    """The words of the data by what they mean, phrases before single words."""

    def __init__(self, known: dict[str, Any]) -> None:
        self.faults: dict[str, list[str]] = known["faults"]
        self._subjects: dict[str, list[str]] = known["subjects"]
        meanings: dict[str, list[str]] = {}
        for table in (known["faults"], known["subjects"]):
            for name, phrases in table.items():
                for phrase in phrases:
                    meanings.setdefault(" ".join(stems(phrase)), []).append(name)
        self._meanings = dict(sorted(meanings.items(), key=lambda row: -row[0].count(" ")))

    def read(self, text: str) -> Symptom:
        """What a text says; each of its words counts once, with the longest phrase that it is a part of."""
        rest = f" {' '.join(stems(text[:MAX_TEXT]))} "
        found = set[str]()
        for phrase, names in self._meanings.items():
            if f" {phrase} " in rest:
                rest = rest.replace(f" {phrase} ", " | ")
                found.update(names)
        faults, about = ([name for name in table if name in found] for table in (self.faults, self._subjects))
        return Symptom(text, faults, about)


class Match:
    """How a cause fits what was told: its score, the words that fit, and the logs' lines that name it."""

    __slots__ = ("cause", "lines", "score", "words")

    def __init__(self, cause: dict[str, Any]) -> None:
        self.cause = cause
        self.score = 0.0
        self.words: dict[str, None] = {}
        self.lines: list[tuple[str, Hit]] = []

    @property
    def rank(self) -> tuple[int, float]:
        """For sorting, the best first: a log's line that names the cause weighs more than any words."""
        return (-len(self.lines), -self.score)


class Matcher:
    """Compares symptoms and logs with the causes."""

    def __init__(self, known: dict[str, Any]) -> None:
        from math import log2

        self.vocabulary = Vocabulary(known)
        self._causes: list[dict[str, Any]] = known["causes"]
        self._signals: list[dict[str, Any]] = known["signals"]
        self._named: dict[Signature, dict[str, Any]] = {
            Signature(row["text"]): cause for cause in self._causes for row in cause.get("log", ())
        }
        self._shown: dict[Signature, dict[str, Any]] = {
            Signature(text): signal for signal in self._signals for text in signal["texts"]
        }
        uses = [name for cause in self._causes for name in cause["about"]]
        self._weights = {name: min(6.0, log2(len(self._causes) / uses.count(name))) for name in set(uses)}

    def read_log(self, read: Callable[[int], bytes], name: str) -> Log:
        """Look for all known texts in a log."""
        return scan(read, (*self._named, *self._shown), name)

    def read_text(self, text: str) -> Log:
        """The same for a symptom, which may be a line of a log."""
        from io import BytesIO

        return self.read_log(BytesIO(text[:MAX_TEXT].encode("utf-8", "replace")).read, "the symptom")

    def shown(self, hit: Hit) -> dict[str, Any] | None:
        """The signal that a line of a log is; None where it names a cause."""
        return self._shown.get(hit.signature)

    def named(self, hit: Hit) -> dict[str, Any] | None:
        """The cause that a line of a log names; None where it only shows a symptom."""
        return self._named.get(hit.signature)

    def symptoms(self, log: Log) -> list[Symptom]:
        """The symptoms that a log's lines show, each once, by how many lines show it."""
        lines: dict[tuple[str, ...], int] = {}
        for hit in log.hits.values():
            signal = self.shown(hit)
            if signal is not None:
                key = (signal["fault"], *signal["about"])
                lines[key] = max(hit.count, lines.get(key, 0))
        most = max(lines.values(), default=0)
        return [Symptom(log.name, key[:1], key[1:], count / most) for key, count in lines.items()]

    def matches(self, symptoms: Iterable[Symptom], logs: Iterable[Log]) -> list[Match]:
        """The causes that fit, the best first. One that fits half as well as the best one is left out."""
        found: dict[str, Match] = {}
        for log in logs:
            for hit in log.hits.values():
                cause = self.named(hit)
                if cause is not None:
                    found.setdefault(cause["id"], Match(cause)).lines.append((log.name, hit))
        for symptom in symptoms:
            fitting = [(cause, *self._fit(symptom, cause)) for cause in self._causes]
            best = max((about for _, faults, about in fitting if faults or not symptom.faults), default=0.0)
            for cause, faults, about in fitting:
                if faults and 2 * (OF_FAULT + about) > OF_FAULT + best:
                    self._add(found, symptom, cause, faults * OF_FAULT + about)
                elif not symptom.faults and about >= ENOUGH and 2 * about > best:
                    self._add(found, symptom, cause, about)
        return sorted(found.values(), key=lambda match: match.rank)

    @staticmethod
    def _add(found: dict[str, Match], symptom: Symptom, cause: dict[str, Any], score: float) -> None:
        match = found.setdefault(cause["id"], Match(cause))
        match.score += score * symptom.weight
        of_cause = {*cause["faults"], *cause["about"]}
        match.words.update(dict.fromkeys(name for name in symptom.known if name in of_cause))

    def _fit(self, symptom: Symptom, cause: dict[str, Any]) -> tuple[int, float]:
        """How many of a symptom's faults a cause has, and how much what they are about says."""
        faults = len(set(symptom.faults).intersection(cause["faults"]))
        return faults, sum(self._weights[name] for name in symptom.about if name in cause["about"])
