"""verl: recognising its launches and YAML files, and reading them into options over the tree that they start from."""

from __future__ import annotations

import os

from grpo_lint.frameworks import hydra_entry, tables
from grpo_lint.frameworks.verl import NAME, unify
from grpo_lint.frameworks.verl_packaged import use_packaged_tree
from grpo_lint.located import Unknown
from grpo_lint.syntax.hydra.overrides import parse
from grpo_lint.unified import Origin, Setting, unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from grpo_lint.discover import Repository
    from grpo_lint.launch import Launch
    from grpo_lint.located import Problem, Value, Word
    from grpo_lint.runconfig import Options, RunConfig
    from grpo_lint.syntax.hydra.compose import Composition
    from grpo_lint.syntax.hydra.config import ComposeProblem
    from grpo_lint.syntax.hydra.overrides import Override
    from grpo_lint.unified import Layer

__all__ = ("read", "read_document", "recognises", "recognises_document", "unify")

ENTRIES = {
    # entry point: engine whose tree it starts from
    "verl.trainer.main_ppo": "dp",
    "verl.trainer.main_ppo_v0": "dp",
    "verl.trainer.main_ppo_sync": "dp",
    "verl.experimental.fully_async_policy.fully_async_main": "fully_async",
    "verl.experimental.one_step_off_policy.main_ppo": "one_step_off",
}
"""Modules whose `hydra.main` names a packaged tree (verl 0.2 to 0.9.1)."""

TOP_KEYS = ("actor_rollout_ref", "algorithm", "trainer", "data", "critic", "reward_model")
TELLING = ("actor_rollout_ref.", "algorithm.adv_estimator=")
"""What makes the arguments of another program verl's: a fork's own entry point keeps the layout."""

CYCLE = "include each other"
"""What the composer says of defaults lists that lead back to each other."""
CONFIG_NAMES = {"ppo_trainer": "dp", "ppo_megatron_trainer": "megatron"}

HYDRA_FLAGS = {
    "--config-path": True, "-cp": True, "--config-name": True, "-cn": True, "--config-dir": True, "-cd": True,
    "--package": True, "-p": True, "--cfg": True, "-c": True, "--multirun": False, "-m": False, "--run": False,
    "-r": False, "--resolve": False, "--help": False, "-h": False, "--hydra-help": False, "--version": False,
}  # fmt: skip
"""Hydra 1.3's own flags (hydra/_internal/utils.py), and whether each takes a value."""


def module_of(launch: Launch) -> str:
    """The module that a launch runs; a script's path is read as one (`verl/trainer/main_ppo.py`)."""
    if launch.is_module:
        return launch.program
    return launch.program.removesuffix(".py").lstrip("./").replace("/", ".")


def recognises(launch: Launch) -> bool:
    """Whether a launch runs verl: by its entry point, or by two or more overrides of verl's own keys."""
    if _entry(launch):
        return True
    telling = sum(word.text.lstrip("+~").startswith(TELLING) for word in launch.args)
    return telling >= 2


def _entry(launch: Launch) -> str:
    module = module_of(launch)
    return next((name for name in ENTRIES if module == name or module.endswith("." + name)), "")


def recognises_document(root: Value) -> bool:
    """Whether a YAML document is a verl config: `actor_rollout_ref` with its parts, and another of verl's top keys."""
    if not isinstance(root.data, dict):
        return False
    section = root.data.get("actor_rollout_ref")
    if section is None and _extends(root):
        return True
    if section is None or not isinstance(section.data, dict):
        return False
    parts = section.data.keys() & {"actor", "rollout", "model", "ref", "hybrid_engine"}
    return bool(parts) and any(key in root.data for key in TOP_KEYS[1:])


def _extends(root: Value) -> bool:
    """Whether a document's `defaults` name verl's own primary config, and its searchpath verl's folder."""
    parents, path = root.data.get("defaults"), root.get("hydra.searchpath")
    named = [item.data for item in parents.data] if parents is not None and parents.is_list else []
    where = [str(item.data) for item in path.data] if path is not None and path.is_list else []
    return any(name in CONFIG_NAMES for name in named if isinstance(name, str)) and any("verl" in w for w in where)


def read(launch: Launch, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read a launch into `run`: its overrides, over the tree that its entry point starts from.

    The tree is composed from the repository where it lies there, else it is the packaged one of the release.
    """
    flags, overrides = _split(launch.args)
    run.engine = _engine(_entry(launch), flags, overrides)
    composed = _compose(launch, flags, overrides, path, run, repository)
    if composed is not None and composed.root is not None:
        from grpo_lint.frameworks.verl_problems import told

        _put_deletions(run.options, overrides)
        problems = list(told(composed.problems, (n for n, _ in composed.root.leaves()), run.engine or "dp"))
        _put_refused(run.options, composed.problems)
        return problems
    problems = list(_refused(overrides))
    if composed is not None:
        from grpo_lint.frameworks.verl_problems import told

        problems = list(told(composed.problems, ()))
    elif _entry(launch) and "--config-path" not in flags:
        problems += use_packaged_tree(run, overrides)
    run.complete = run.complete and composed is None and bool(_entry(launch)) and "--config-path" not in flags
    for override in overrides:
        put_override(run.options, override)
    return problems


def _put_refused(options: Options, problems: Sequence[ComposeProblem]) -> None:
    """What Hydra refuses is put all the same: the other rules judge what its author wants."""
    for problem in problems:
        if problem.override is not None and problem.kind in ("no-option", "exists"):
            put_override(options, problem.override)


def _refused(overrides: Sequence[Override]) -> Iterator[Problem]:
    """The overrides that no tree accepts, since they break Hydra's grammar."""
    for override in overrides:
        problem = override.problem
        if problem is not None:
            from grpo_lint.frameworks.verl_problems import told
            from grpo_lint.syntax.hydra.config import ComposeProblem

            yield from told([ComposeProblem("syntax", problem.message, problem.span, override, problem.help)], ())


def _compose(
    launch: Launch,
    flags: dict[str, Word | None],
    overrides: list[Override],
    path: str,
    run: RunConfig,
    repository: Repository,
) -> Composition | None:
    """The composed tree where the launch's own config is at hand, or else the release; None where neither is."""
    module, folder = module_of(launch), os.path.dirname(path)
    named = not {"--config-path", "--config-dir"}.isdisjoint(flags)
    if NAME not in run.versions and not named and hydra_entry.find(module, folder, repository) is None:
        return None
    from grpo_lint.frameworks import verl_compose

    places = verl_compose.Places.of(repository)
    release = verl_compose.release_of(run, overrides)
    start = verl_compose.start_of(module, flags, path, places, release)
    if start is None or (NAME not in run.versions and not start.own):
        return None
    return verl_compose.compose_run(run, start, overrides, path, places, "--multirun" in flags)


def _put_deletions(options: Options, overrides: list[Override]) -> None:
    """What `~key` takes out of a composed tree is unset there; it is put so that its place is known."""
    for override in overrides:
        if override.prefix == "~":
            put_override(options, override)


def read_document(root: Value, path: str, run: RunConfig, repository: Repository) -> list[Problem]:
    """Read a YAML config into `run`. A file without a `defaults` list holds everything that its run gets."""
    problems: list[Problem] = []
    if "defaults" in root.data:
        from grpo_lint.frameworks import verl_compose
        from grpo_lint.frameworks.verl_problems import told

        places = verl_compose.Places.of(repository)
        name = os.path.splitext(os.path.basename(path))[0]
        start = verl_compose.Start([places.folder(os.path.dirname(os.path.realpath(path)))], name)
        composed = verl_compose.compose_run(run, start, [], path, places, False)
        if composed is not None and composed.root is not None:
            return list(told(composed.problems, ()))
        if composed is not None:  # what it composes with may lie elsewhere, but a cycle is one anywhere
            problems = list(told((problem for problem in composed.problems if CYCLE in problem.message), ()))
    run.complete = "defaults" not in root.data
    for key, value in root.leaves():
        if key.split(".", 1)[0] not in ("defaults", "hydra"):
            put_value(run.options, key, value, "file")
    return problems


def _split(words: Sequence[Word]) -> tuple[dict[str, Word | None], list[Override]]:
    """Hydra's flags, by their long names, and the overrides of a command line."""
    long = {"-cp": "--config-path", "-cn": "--config-name", "-cd": "--config-dir"}
    flags: dict[str, Word | None] = {}
    overrides: list[Override] = []
    at = 0
    while at < len(words):
        word = words[at]
        text = word.text
        at += 1
        name, equals, _ = text.partition("=")
        if text.startswith("-") and name in HYDRA_FLAGS:
            key = long.get(name, name)
            if equals:
                flags[key] = word.cut(len(name) + 1)
            elif HYDRA_FLAGS[name] and at < len(words):
                flags[key] = words[at]
                at += 1
            else:
                flags[key] = None
        elif not text.startswith("-") and text:
            overrides.append(parse(word))
    return flags, overrides


def _engine(entry: str, flags: dict[str, Word | None], overrides: list[Override]) -> str:
    """Whose tree the run starts from: the entry point's, or what `--config-name` or `model_engine=` chooses."""
    engine = ENTRIES.get(entry, "")
    named = flags.get("--config-name")
    if named is not None:
        engine = CONFIG_NAMES.get(named.text.removesuffix(".yaml"), "")
    for override in overrides:
        if override.key == "model_engine" and override.value is not None:
            data = override.value.data
            engine = data if isinstance(data, str) and data in tables.verl_engines() else ""
    return engine


def put_override(options: Options, override: Override) -> None:
    """Apply one override to the options; what can't be read or chooses a group changes none."""
    if override.problem is not None or not override.key:
        return
    if override.prefix == "~":
        origin = Origin("override", override.span, (), "deleted", override.key)
        options.put(NAME, override.key, Setting("unset", None, (origin,)))
    elif override.value is not None and ("." in override.key or override.prefix):
        for key, value in override.value.leaves(override.key):
            put_value(options, key, value, "override")


def put_value(options: Options, key: str, value: Value, layer: Layer) -> None:
    """Put a document's or an override's value under its key."""
    origin = Origin(layer, value.span, value.via, "", key)
    if isinstance(value.data, Unknown):
        origin.data = value.data
        options.put(NAME, key, unknown(value.data.reason, origin))
    else:
        origin.data = value.plain()
        options.put(NAME, key, Setting("known", origin.data, (origin,)))
