"""Composes what a program under Hydra gets: configs by their defaults lists, then the command line's overrides.

    composition = compose("ppo_trainer", overrides, places, open_place, blame=word.span)

`places` are the search path's own entries in Hydra's order: the config path of the program (or `--config-path`), then
`--config-dir`. `open_place` gives the place that an entry of `hydra.searchpath` names (`pkg://verl.trainer.config`,
`file://conf`), or None where it isn't at hand: a config that isn't found may then be there, and nothing is refused for
it. Nothing is read but through the places, nothing is run, and the environment is not looked at.

Facts: hydra-core 1.3.2, hydra/_internal/config_loader_impl.py; version_base None, as verl gives it.
"""

from __future__ import annotations

from grpo_lint.located import Unknown, Value
from grpo_lint.syntax.hydra.config import ComposeProblem, Folder, Packaged, Refused, Repository, Uncertain
from grpo_lint.syntax.hydra.defaults import Expansion
from grpo_lint.syntax.hydra.merge import Merger
from grpo_lint.syntax.hydra.primitives import Sweep

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from grpo_lint.source import Span
    from grpo_lint.syntax.hydra.config import Config
    from grpo_lint.syntax.hydra.defaults import Load
    from grpo_lint.syntax.hydra.overrides import Override

    OpenPlace = Callable[[str], Folder | Packaged | None]


class Composition:
    """The outcome. Hydra composes exactly if `problems` is empty (and `unknown` is).

    `root` is the merged tree, interpolations as written (see resolve.py), without the overrides that are refused; None
    where the defaults list itself is refused or `unknown` says why it can't be known. A value of the framework's own
    configs has an empty span in a file named after its place. `choices` are the groups' choices; `loads` the configs
    in merge order; `shadowed` what later layers replaced, by dotted path, oldest first; `hidden` the overrides of
    Hydra's own settings; `open` says why further, unknown overrides may follow ("" if none can).
    """

    __slots__ = ("choices", "configs", "hidden", "loads", "open", "problems", "root", "shadowed", "unknown")

    def __init__(self) -> None:
        self.root: Value | None = None
        self.problems: list[ComposeProblem] = []
        self.unknown = ""
        self.open = ""
        self.choices: dict[str, str | None] = {}
        self.loads: list[Load] = []
        self.configs: list[Config] = []
        self.shadowed: dict[str, list[Value]] = {}
        self.hidden: list[Override] = []


def compose(
    name: str | None,
    overrides: Iterable[Override],
    places: list[Folder | Packaged],
    open_place: OpenPlace,
    blame: Span,
    multirun: bool = False,
) -> Composition:
    """Composes a primary config, or only the overrides where `name` is None. `blame` is the place of last resort."""
    result = Composition()
    usable = _usable(overrides, result, multirun)
    repository = Repository(list(places), [])
    try:
        if name is not None:
            _extend(repository, name, usable, open_place)
        choices, options = _split(repository, usable, result)
        merger = _base(name, choices, repository, blame, multirun, result)
    except Refused as refused:
        result.problems.append(refused.problem)
        return result
    except Uncertain as uncertain:
        result.unknown = str(uncertain)
        return result
    finally:
        result.configs = result.configs or repository.used
    for override in options:
        try:
            merger.apply(override)
        except Refused as refused:
            if not (repository.gaps and "." not in override.key):  # it may be a group in a place that isn't at hand
                result.problems.append(refused.problem)
    merger.root.data.pop("hydra", None)
    result.root = merger.root
    result.shadowed = merger.shadowed
    return result


_BASES: dict[tuple[Any, ...], tuple[Merger, list[Load], dict[str, str | None], list[Config]]] = {}
"""Trees of packaged configs alone, before overrides, by what decides them: they are the same for most runs."""
_MOST_BASES = 64


def _base(
    name: str | None, choices: list[Override], repository: Repository, blame: Span, multirun: bool, result: Composition
) -> Merger:
    """The merged configs, to apply overrides to; notes the rest of the result. Raises Refused, Uncertain."""
    key = (name, multirun, *repository.places, *(override.text for override in choices))
    packaged = all(isinstance(place, Packaged) for place in repository.places)
    if packaged and key in _BASES:
        merger, result.loads, result.choices, result.configs = _BASES[key]
        return merger.fork(blame)
    expansion = Expansion(repository, multirun)
    for override in choices:
        expansion.choose(override)
    result.loads = expansion.run(name, blame) if name is not None else []
    result.choices, result.configs = expansion.choices, repository.used
    merger = _merge(repository, result.loads, blame)
    if packaged and not repository.gaps and len(_BASES) < _MOST_BASES:
        _BASES[key] = merger.fork(blame), result.loads, result.choices, result.configs
    return merger


def _usable(overrides: Iterable[Override], result: Composition, multirun: bool) -> list[Override]:
    """The overrides that can be applied; notes the others."""
    usable = []
    for override in overrides:
        if override.problem is not None:
            problem = override.problem
            result.problems.append(ComposeProblem("syntax", problem.message, problem.span, override, problem.help))
        elif override.reason:
            result.open = result.open or override.reason
        elif override.sweep is not None and not multirun:
            result.problems.append(_swept(override, override.sweep))
        elif override.key.startswith(("hydra.", "hydra/")) and override.key != "hydra.searchpath":
            result.hidden.append(override)
        else:
            usable.append(override)
    return usable


def _swept(override: Override, sweep: Sweep) -> ComposeProblem:
    span = override.value.span if override.value is not None else override.span
    if sweep.kind == "choice" and sweep.simple:
        message = f"hydra takes `{override.text}` for a sweep, since commas separate its values"
        help = "write a list as [a,b], or quote text that has a comma; a sweep needs --multirun"
        return ComposeProblem("sweep", message, span, override, help)
    return ComposeProblem("sweep", f"hydra takes `{override.text}` only with --multirun", span, override)


def _extend(repository: Repository, name: str, overrides: list[Override], open_place: OpenPlace) -> None:
    """Adds the places of `hydra.searchpath`, of the command line or else of the primary config."""
    given = next((item for item in overrides if item.key == "hydra.searchpath" and item.prefix == ""), None)
    config = repository.load(name)
    found = given.value if given is not None else None
    if found is None and config is not None:
        found = config.body.get("hydra.searchpath")
    if found is None or found.data is None:
        return
    if isinstance(found.data, Unknown):
        repository.gaps.append(found.data.reason)
        return
    entries = found.data if isinstance(found.data, list) else [found]
    if not isinstance(found.data, list) or not all(isinstance(entry.data, (str, Unknown)) for entry in entries):
        message = "hydra.searchpath must be a list of texts"
        raise Refused(ComposeProblem("value", message, found.span, given))
    for entry in entries:
        place = open_place(entry.data) if isinstance(entry.data, str) and "${" not in entry.data else None
        if place is None:
            repository.gaps.append(entry.data.reason if isinstance(entry.data, Unknown) else entry.data)
        else:
            repository.places.append(place)
    repository.forget_missing()


def _split(
    repository: Repository, overrides: list[Override], result: Composition
) -> tuple[list[Override], list[Override]]:
    """The overrides that choose for a group, and those that set options."""
    choices: list[Override] = []
    options: list[Override] = []
    for override in overrides:
        if override.key == "hydra.searchpath":
            result.hidden.append(override)
        elif (override.value is not None and override.value.is_mapping) or not repository.is_group(override.key):
            options.append(override)
        else:
            choices.append(override)
    return choices, options


def _merge(repository: Repository, loads: list[Load], blame: Span) -> Merger:
    merger = Merger(Value({}, blame))
    for load in loads:
        config = repository.load(load.path)
        if config is None:
            continue
        searched = None if load.primary or load.package else config.body.get("hydra.searchpath")
        if searched is not None and searched.data is not None:
            message = f"{load.path} sets hydra.searchpath, which only the primary config may do"
            raise Refused(ComposeProblem("defaults", message, searched.span))
        merger.merge_at(load.package, config.body)
    return merger
