"""A relation between settings, declared once and close to its arithmetic.

    @relation("INV101", "mini-batch-exceeds-batch", "verl",
              batch=number("data.train_batch_size"), mini=number("actor_rollout_ref.actor.ppo_mini_batch_size"),
              bad="data.train_batch_size=32 ...", good="data.train_batch_size=64 ...", source="verl 0.9.1, ...")
    def mini_batch(o: Operands) -> Iterator[Finding]:
        '''What it is about, in a sentence.

        Why it matters.
        '''
        if o.mini > o.batch:
            yield o.fault("mini", f"{o('mini')} > {o('batch')}: verl counts prompts, not responses", "batch")

The keywords name operands: options of the framework, read with their defaults where these are sure to count. In the
function `o.mini` is the operand's value, `o["mini"]` its Setting, and `o("mini")` how a message tells it, "(its
default)" included. A relation is judged only when every operand is decided and every number is one; without a number
it does not apply.
"""

from __future__ import annotations

from grpo_lint.diagnostics import ERROR, WARNING
from grpo_lint.frameworks import deepspeed, verl
from grpo_lint.rules.avoidance.verl_run import launched, own_trainer
from grpo_lint.rules.invariants.launchers import placeholder, world_size
from grpo_lint.rules.invariants.references import computable, counted, reference
from grpo_lint.rules.rule import Finding, Rule, dedent
from grpo_lint.runconfig import default, release
from grpo_lint.unified import UNSET, Setting, unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from grpo_lint.diagnostics import Severity
    from grpo_lint.rules.rule import Evidence
    from grpo_lint.runconfig import RunConfig

    Body = Callable[["Operands"], Iterable[Finding]]


class Operand:
    """What a relation reads: the first of `keys` that someone wrote, else the first key's default.

    `otherwise` is the program's own default where no table of options has it.
    """

    __slots__ = ("keys", "kind", "of", "otherwise")

    def __init__(self, kind: str, keys: tuple[str, ...], of: str = "", otherwise: object = None) -> None:
        self.kind = kind
        self.keys = keys
        self.of = of
        self.otherwise = otherwise


def number(*keys: str, otherwise: object = None) -> Operand:
    """An option that must be a number; the relation does not apply where it is null, unset or a word."""
    return Operand("number", keys, otherwise=otherwise)


def value(*keys: str) -> Operand:
    """An option of any type; None where it is unset."""
    return Operand("value", keys)


def given(*keys: str) -> Operand:
    """An option of any type that someone wrote; None where nobody did, whatever the default is."""
    return Operand("given", keys)


def flag(*keys: str) -> Operand:
    """An option that is true or not; anything but true, unset included, is False."""
    return Operand("flag", keys)


def argument(*keys: str) -> Operand:
    """An option of the program that the run starts, in a relation of another framework; None where it is unset."""
    return Operand("value", keys, of="the run")


def of(framework: str, *keys: str) -> Operand:
    """An option of another framework than the relation's; None where it is unset."""
    return Operand("value", keys, of=framework)


def processes() -> Operand:
    """The number of processes that the launcher starts, over all nodes; it must be known."""
    return Operand("processes", ("processes",))


def field(*names: str) -> Operand:
    """A unified field that must be a number; the first of them that has a value."""
    return Operand("field", names)


def environment(name: str) -> Operand:
    """A variable of the environment that the launch sets; None where it sets none."""
    return Operand("environment", (name,))


def told(name: str) -> Operand:
    """A unified field of any type that someone wrote; None where nobody did."""
    return Operand("told", (name,))


class Operands:
    """The operands of one run."""

    __slots__ = ("_cautious", "_settings", "_values", "run")

    def __init__(self, run: RunConfig, cautious: str = "") -> None:
        self.run = run
        self._settings: dict[str, Setting] = {}
        self._values: dict[str, Any] = {}
        self._cautious = cautious

    def put(self, name: str, setting: Setting, value: object) -> None:
        self._settings[name], self._values[name] = setting, value

    def __getattr__(self, name: str) -> Any:
        return self._values[name]

    def __getitem__(self, name: str) -> Setting:
        return self._settings[name]

    def __call__(self, name: str) -> str:
        """An operand as a message tells it: "ppo_mini_batch_size 256 (its default)"."""
        setting = self._settings[name]
        if setting.value is None:
            return f"{_short(setting, name)} is not set"
        shown = str(setting.value).lower() if isinstance(setting.value, bool) else str(setting.value)
        by_default = bool(setting.chain) and not setting.explicit and setting.chain[-1].layer != "derived"
        return f"{_short(setting, name)} {shown}" + (" (its default)" if by_default else "")

    def fault(
        self, at: str, message: str, *others: str, help: str = "", label: str = "", severity: Severity | None = None
    ) -> Finding:
        """A finding at an operand, with the places of others that it collides with.

        Where the release isn't known and only newer ones have the check, the message says so and it is a warning.
        """
        if self._cautious:
            message, severity = f"{message} ({self._cautious})", severity or WARNING
        places = [(self._settings[other], self(other)) for other in others]
        return Finding(message, self._settings[at], label, places, help, None, severity)


def _short(setting: Setting, name: str) -> str:
    key = setting.key or name
    return key if key.startswith("-") else ".".join(key.split(".")[-1:])


SETTLED = {"verl": "0.5.0", "trl": "0.19.0", "megatron-core": "0.12.0"}
"""Releases from which on a check counts as always there: who runs an older one says so, or keeps a copy of it."""


class Relation(Rule):
    """A rule made of a relation. `ready` is the run asked about last, with its operands where they are decided."""

    __slots__ = ("bad", "bounds", "files", "good", "operands", "ready", "source", "target", "unless", "when")

    def __init__(self, id: str, name: str, frameworks: tuple[str, ...], docstring: str | None, **more: Any) -> None:
        super().__init__(id, name, docstring, frameworks=frameworks, **more)
        self.bad = self.good = self.source = self.target = self.unless = ""
        self.files: dict[str, str] = {}
        self.operands: dict[str, Operand] = {}
        self.bounds = (frameworks[0], "", "")
        self.when: Callable[[RunConfig], bool] | None = None
        self.ready: tuple[RunConfig | None, Operands | None] = (None, None)

    @property
    def page(self) -> str:
        from grpo_lint.rules.invariants.pages import page

        return page(self, dedent(self._docstring))

    def undecided(self, run: RunConfig) -> str:
        """As for every rule. What is read on the way is kept for the check that follows."""
        self.ready = (run, None)
        framework = run.framework if run.framework in self.frameworks else self.frameworks[0]
        if not takes_part(run, framework) or (self.when is not None and not self.when(run)):
            return ""
        package, since, until = self.bounds
        old = before(run, package, since) if since else False
        if old is None and release(since) <= release(SETTLED.get(package, "0")):
            old = False
        if old or (until and before(run, package, until) is not True):
            return ""
        o = Operands(run, f"from {package} {since} on" if old is None else "")
        reason = self._fill(o, framework)
        if reason == "":
            self.ready = (run, o)
        return reason or ""

    def _fill(self, o: Operands, framework: str) -> str | None:
        """Read the operands. None where the relation does not apply, else why one of them isn't decided, if so."""
        reason = ""
        for name, operand in self.operands.items():
            setting = read(o.run, framework, operand)
            if operand.kind in ("given", "told") and not setting.explicit:
                setting = UNSET
            if operand.kind == "number" and framework in LINES:
                setting = setting.map(counted)
            if operand.kind == "flag" and setting.unset and not _told(o.run, framework):
                reason = reason or f"{operand.keys[0]}: not all arguments are known"
            if name == "nodes" and placeholder(setting):
                setting = unknown("one node, unless the cluster says otherwise", *setting.chain)
            if not setting.decided:
                reason = reason or f"{setting.key or name}: {setting.reason or 'it has more than one value'}"
            elif operand.kind in ("number", "field", "processes") and not computable(setting.value, operand.kind):
                return None
            else:
                o.put(name, setting, setting.value is True if operand.kind == "flag" else setting.value)
        return reason

    def judge(self, run: RunConfig, body: Body) -> Iterable[Finding]:
        if self.ready[0] is not run:
            self.undecided(run)
        o = self.ready[1]
        return body(o) if o is not None else ()


def relation(
    id: str,
    name: str,
    framework: str,
    /,
    *,
    bad: str,
    good: str,
    source: str,
    severity: Severity = ERROR,
    evidence: Evidence = "solid",
    topics: tuple[str, ...] = (),
    also: tuple[str, ...] = (),
    since: str = "",
    until: str = "",
    package: str = "",
    target: str = "",
    unless: str = "",
    mentions: tuple[str, ...] = (),
    files: dict[str, str] | None = None,
    when: Callable[[RunConfig], bool] | None = None,
    **operands: Operand,
) -> Callable[[Body], Relation]:
    """Make a rule of a relation. `bad` and `good` are its examples: arguments of the framework's program, or a file.

    It holds in releases of `package` (the framework itself by default) from `since` to before `until`, and where `when`
    is true of the run. `also` are frameworks that have the same options. `target` is the release for the examples, as
    `--target` takes it; `files` are what they name. `mentions`: see Rule.
    """

    def declare(body: Body) -> Relation:
        told = {"severity": severity, "evidence": evidence, "topics": topics, "mentions": mentions}
        made = Relation(id, name, (framework, *also), body.__doc__, **told)
        made.bad, made.good, made.source, made.target, made.unless = bad, good, source, target, unless
        made.files = files or {}
        made.operands, made.bounds, made.when = operands, (package or framework, since, until), when
        made.check = lambda run: made.judge(run, body)
        return made

    return declare


_run: RunConfig | None = None
_memo: dict[tuple[str, object], Any] = {}
"""What was read of the run that is being judged: many relations share a few options."""


def _remembered(run: RunConfig, framework: str, key: object, work: Callable[[], Any]) -> Any:
    global _run
    if run is not _run:
        _memo.clear()
        _run = run
    place = (framework, key)
    if place not in _memo:
        _memo[place] = work()
    return _memo[place]


def takes_part(run: RunConfig, framework: str) -> bool:
    """Whether a framework runs the training or the server, or its settings are a part of the run's.

    A YAML of verl's alone proves nothing: it is a base that command lines complete.
    """
    if run.framework == framework:
        return framework != verl.NAME or bool(run.command)
    if framework == deepspeed.NAME:
        return bool(_remembered(run, framework, None, lambda: deepspeed.configured(run.options)))
    if framework == "accelerate":
        return bool(_remembered(run, framework, None, lambda: any(run.options.written(framework))))
    return False


def read(run: RunConfig, framework: str, operand: Operand) -> Setting:
    if operand.kind in ("field", "told"):
        settings: list[Setting] = [getattr(run, name) for name in operand.keys]
        return next((setting for setting in settings if not setting.unset), settings[0])
    if operand.kind == "environment":
        return run.environment(operand.keys[0])
    if operand.kind == "processes":
        return _remembered(run, "", processes, lambda: world_size(run))  # type: ignore[no-any-return]
    framework = run.framework if operand.of == "the run" else operand.of or framework
    keys = operand.keys
    if framework == "openrlhf":
        from grpo_lint.frameworks.openrlhf import spelled

        keys = tuple(spelled(run, key) for key in keys)
    first = option(run, framework, keys[0])
    if len(keys) > 1 and not first.explicit:
        others = (option(run, framework, key) for key in keys[1:])
        first = next((other for other in others if other.explicit or not other.decided), first)
    if first.unset and operand.otherwise is not None and _sure(run, framework):
        return default(operand.otherwise, f"default of {framework}", keys[0])
    return first


def before(run: RunConfig, package: str, release: str) -> bool | None:
    """`run.before`, worked out once for each release that relations ask about."""
    return _remembered(run, package, ("before", release), lambda: run.before(package, release))  # type: ignore[no-any-return]


def option(run: RunConfig, framework: str, key: str) -> Setting:
    """An option as a relation sees it: a default counts only where the framework's own program is really started."""
    return _remembered(run, framework, key, lambda: _option(run, framework, key))  # type: ignore[no-any-return]


def _option(run: RunConfig, framework: str, key: str) -> Setting:
    setting = verl.option(run, key) if framework == verl.NAME else run.option(framework, key)
    if setting.decided and not setting.explicit and not _sure(run, framework):
        return UNSET
    if isinstance(setting.value, str) and setting.value.startswith("${"):
        return _referred(run, framework, setting)
    return setting


def _sure(run: RunConfig, framework: str) -> bool:
    """Whether a framework's defaults are those of the run: scripts on verl and TRL may have others."""
    if framework == verl.NAME:
        return is_launched(run)
    if framework == "trl":
        return run.complete and bool(_remembered(run, framework, "program", lambda: _is_command(run, framework)))
    return run.complete


def _told(run: RunConfig, framework: str) -> bool:
    """Whether a switch that is not on a command line is off: words that aren't known may hold it."""
    return run.complete or framework not in LINES


LINES = ("openrlhf", "slime", "megatron", "vllm", "sglang")
"""Frameworks whose options stand on a command line alone."""


def _is_command(run: RunConfig, name: str) -> bool:
    return any(word.text.rsplit("/", 1)[-1] == name for word in run.command[:8])


def _referred(run: RunConfig, framework: str, setting: Setting) -> Setting:
    """What a value that refers to another option comes to: `${a.b}`, `${oc.select:a.b,0}`."""
    key, otherwise = reference(setting.value)
    if key in ("", setting.key):
        return unknown(f"{setting.value} is not worked out", *setting.chain)
    other = option(run, framework, key)
    if other.unset and otherwise is not None:
        return setting.map(lambda _: deepspeed.plain(otherwise))
    return other


def is_own(run: RunConfig) -> bool:
    """Whether verl's own entry point is started, which checks the config first; a recipe's may not."""
    return bool(_remembered(run, verl.NAME, own_trainer, lambda: own_trainer(run)))


def is_launched(run: RunConfig) -> bool:
    return bool(_remembered(run, verl.NAME, launched, lambda: launched(run)))


def divisors(total: float, limit: int) -> list[int]:
    """The divisors of a number, smallest first, up to `limit`."""
    return [n for n in range(1, limit + 1) if n <= total and total % n == 0]


def listed(numbers: Iterable[object]) -> str:
    """Numbers or words as a help line tells them: "1, 2, 4 or 7"."""
    words = [str(n) for n in numbers]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}" if words else "none"


def relations(names: dict[str, object]) -> Iterator[Relation]:
    """The relations among a module's names."""
    return (found for found in names.values() if isinstance(found, Relation))
