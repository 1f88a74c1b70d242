"""verl: composing the config tree that a repository itself holds, as Hydra would for its launch.

A fork that vendors verl, a recipe with an entry point of its own, `--config-path` and a YAML with a `defaults` list all
start from files at hand. What comes from verl's own tree counts as a default, what comes from another file as written.
"""

from __future__ import annotations

import os

from grpo_lint.discover import shown
from grpo_lint.frameworks import hydra_entry, tables
from grpo_lint.frameworks.documents import paths_of
from grpo_lint.frameworks.verl import ACTOR, NAME
from grpo_lint.frameworks.verl_packaged import releases_with
from grpo_lint.located import Unknown
from grpo_lint.syntax.hydra.config import Folder
from grpo_lint.unified import UNSET, Origin, Setting, unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpo_lint.discover import Repository
    from grpo_lint.located import Value, Word
    from grpo_lint.runconfig import RunConfig
    from grpo_lint.source import Span
    from grpo_lint.syntax.hydra.compose import Composition
    from grpo_lint.syntax.hydra.config import ComposeProblem, Config, Packaged
    from grpo_lint.syntax.hydra.overrides import Override
    from grpo_lint.syntax.hydra.resolve import Resolver
    from grpo_lint.unified import Layer

OWN_TREE = "verl/trainer/config"
"""Where verl keeps its configs, in a repository that holds its source; the experimental trainers' lie beside."""
OWN_TREES = (OWN_TREE, "verl/experimental/")

OWN_CONFIGS = ("ppo_trainer", "ppo_megatron_trainer")
"""The primary configs that users' own extend."""


class Places:
    """The config folders of one repository; a config is read once, however many launches start from it."""

    @classmethod
    def of(cls, repository: Repository) -> Places:
        kept = repository.kept.get(cls.__name__)
        if not isinstance(kept, Places):
            kept = repository.kept[cls.__name__] = cls(repository)
        return kept

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._folders: dict[str, _CachedFolder] = {}

    def has(self, path: str) -> bool:
        """Whether a folder lies in the repository."""
        return os.path.isdir(path) and self.repository.holds(os.path.realpath(path))

    def folder(self, path: str) -> Folder:
        if path not in self._folders:
            self._folders[path] = _CachedFolder(path, self.repository)
        return self._folders[path]

    def open(self, start: str, entry: str, release: str) -> Folder | Packaged | None:
        """What an entry of `hydra.searchpath` names, seen from a script in the folder `start`.

        The repository's own copy of verl comes before the packaged configs of a release.
        """
        kind, _, name = entry.partition("://")
        if kind not in ("pkg", "file"):
            return None
        path = name.replace(".", "/") if kind == "pkg" else name.strip("/")
        found = _directory(path, start, self.repository)
        if found is not None:
            return self.folder(found)
        return tables.verl_place(release, path.replace("/", ".")) if path.startswith("verl/") else None


class _CachedFolder(Folder):
    def __init__(self, root: str, repository: Repository) -> None:
        super().__init__(root, repository.load, lambda path: _names(path, repository))
        self.name = shown(root)
        self._configs: dict[str, Config | None] = {}
        self._choices: dict[str, list[str] | None] = {}

    def config(self, path: str) -> Config | None:
        if path not in self._configs:
            self._configs[path] = super().config(path)
        return self._configs[path]

    def choices(self, group: str) -> list[str] | None:
        if group not in self._choices:
            self._choices[group] = super().choices(group)
        return self._choices[group]


def _names(path: str, repository: Repository) -> list[str] | None:
    if not repository.holds(os.path.realpath(path)):
        return None
    try:
        return os.listdir(path)
    except OSError:
        return None


def _directory(relative: str, start: str, repository: Repository) -> str | None:
    """A directory of the repository that a path names from a folder or from one above it."""
    folder = os.path.realpath(start)
    while repository.holds(folder):
        path = os.path.normpath(os.path.join(folder, relative))
        if os.path.isdir(path) and repository.holds(os.path.realpath(path)):
            return path
        if folder == repository.root:
            break
        folder = os.path.dirname(folder)
    return None


class Start:
    """Where a launch's config is: the folders to search, in order, and the primary config's name."""

    __slots__ = ("folders", "name")

    def __init__(self, folders: list[Folder | Packaged], name: str) -> None:
        self.folders = folders
        self.name = name

    @property
    def own(self) -> bool:
        """Whether it has files of the repository, not verl's packaged configs alone."""
        return any(isinstance(folder, Folder) for folder in self.folders)


ENTRIES = {
    # entry point: (package of its configs, its primary config)
    "verl.trainer.main_ppo": ("verl.trainer.config", "ppo_trainer"),
    "verl.trainer.main_ppo_v0": ("verl.trainer.config", "ppo_trainer"),
    "verl.trainer.main_ppo_sync": ("verl.trainer.config", "ppo_trainer"),
    "verl.experimental.fully_async_policy.fully_async_main": (
        "verl.experimental.fully_async_policy.config",
        "fully_async_ppo_trainer",
    ),
    "verl.experimental.one_step_off_policy.main_ppo": (
        "verl.experimental.one_step_off_policy.config",
        "one_step_off_ppo_trainer",
    ),
}
"""What `hydra.main` says in verl's own programs (0.2 to 0.9.1)."""


def start_of(module: str, flags: dict[str, Word | None], script: str, places: Places, release: str) -> Start | None:
    """The start of a launch whose config is at hand; None where it isn't, or can't be told."""
    folder = os.path.dirname(script)
    entry = hydra_entry.find(module, folder, places.repository)
    named, given = flags.get("--config-name"), flags.get("--config-path")
    if named is not None and named.dynamic:
        return None
    own = next((value for name, value in ENTRIES.items() if module == name or module.endswith(f".{name}")), None)
    name = named.text if named is not None else entry.name if entry is not None else own[1] if own is not None else ""
    place: Folder | Packaged | None = None
    if given is not None and not (entry is None and own is not None and given.text == "config"):
        root = _given_folder(given, entry.base if entry is not None else None, places.repository)
        place = places.folder(root) if root is not None else None
    elif entry is not None:
        place = places.folder(entry.folder) if places.has(entry.folder) else None
    elif own is not None:
        place = tables.verl_place(release, own[0])
    if not name or place is None:
        return None
    folders = [place]
    extra = flags.get("--config-dir")
    if extra is not None:
        found = _given_folder(extra, folder, places.repository)
        if found is None:
            return None
        folders.append(places.folder(found))
    return Start(folders, name)


def _given_folder(word: Word, base: str | None, repository: Repository) -> str | None:
    """The folder that a word names: a relative path counts from `base`, and one that the script makes absolute
    (`$PWD/conf`) from the repository's root. None where the folder isn't in the repository."""
    for name in paths_of(word):
        start = repository.root if word.dynamic else base
        found = _directory(name, start, repository) if start is not None else None
        if found is not None:
            return found
    return None


def compose_run(
    run: RunConfig, start: Start, overrides: list[Override], script: str, places: Places, multirun: bool
) -> Composition | None:
    """Compose a run's tree and put it into its options. None where it can't be known; nothing is put then.

    A config of verl's own that isn't at hand may be linked or copied into place when verl is installed.
    """
    folder, release = os.path.dirname(script), release_of(run, overrides)
    from grpo_lint.syntax.hydra.compose import compose  # here, since most runs compose nothing

    result = compose(
        start.name, overrides, start.folders, lambda entry: places.open(folder, entry, release), run.anchor, multirun
    )
    result.problems = [problem for problem in result.problems if _holds(problem, run, result)]
    if result.root is not None:
        strategy = result.root.get(f"{ACTOR}.strategy")
        if not run.engine and strategy is not None and strategy.data == "megatron":
            run.engine = "megatron"  # by the `defaults` of a config of one's own
        put_composition(run, result, _assumed(run, overrides) if NAME not in run.versions else None)
        run.complete = run.complete and not result.open
        return result
    absent = any(
        p.kind == "no-config" and any(f"'{name}" in p.message for name in OWN_CONFIGS) for p in result.problems
    )
    return result if result.problems and not absent else None


def release_of(run: RunConfig, overrides: Sequence[Override]) -> str:
    """The release whose packaged configs a run is composed with: the known one, or the newest that fits its keys."""
    version = run.versions.get(NAME)
    if version is not None:
        return version.text
    return releases_with(run.engine or "dp", overrides)[-1]


def _assumed(run: RunConfig, overrides: Sequence[Override]) -> tables.Tree | None:
    """What all releases in question agree on, where the one that was composed with is only assumed."""
    engine = run.engine or "dp"
    if engine not in tables.verl_engines():
        return None
    return tables.verl_tree(None, engine, releases_with(engine, overrides))


def _holds(problem: ComposeProblem, run: RunConfig, result: Composition) -> bool:
    """Whether a refusal stands, seeing which release the packaged configs are of.

    A release newer than all that were read may have more options. Where none is known, a refusal must hold in all.
    """
    if problem.kind not in ("no-option", "exists") or problem.override is None:
        return True
    if not any(config.file.path.startswith("verl ") for config in result.configs):
        return True
    version = run.versions.get(NAME)
    if version is not None:
        return not tables.newer_than_read(NAME, version.text)
    engine = run.engine if run.engine in tables.verl_engines() else "dp"
    every = tables.verl_tree(None, engine)
    key = problem.override.key
    return every.everywhere(key) if problem.kind == "exists" else not every.has(key)


def put_composition(run: RunConfig, result: Composition, assumed: tables.Tree | None) -> None:
    """Options from a composed tree: verl's own values answer as defaults, all others are written.

    `assumed` answers instead for packaged values of a release that isn't known to be the run's.
    """
    root = result.root
    if root is None:
        return
    configs = {config.file.path for config in result.configs}
    theirs = {path for path in configs if _is_own(path)}
    from grpo_lint.syntax.hydra.resolve import Resolver

    resolver = Resolver(root)

    def lookup(key: str) -> Setting:
        found = root.get(key)
        layers = [*result.shadowed.get(key, ()), *([found] if found is not None else ())]
        own = next((value for value in reversed(layers) if value.span.file.path in theirs), None)
        if own is None or (own.is_mapping and own.data):
            return UNSET
        if assumed is not None and own.span.file.path.startswith("verl "):
            return _agreed(key, assumed)
        return _setting(own, key, Origin("default", None, (), f"default of {_place(own.span, run)}", key))

    run.options.use_defaults(
        NAME, lookup, lambda: (key for key, value in root.leaves() if value.span.file.path in theirs)
    )
    run.options.use_resolver(NAME, lambda key, setting: resolved(key, setting, resolver))
    for key, value in root.leaves():
        for layer in (*result.shadowed.get(key, ()), value):
            path = layer.span.file.path
            if path not in theirs:
                written: Layer = "file" if path in configs else "override"
                run.options.put(NAME, key, _setting(layer, key, Origin(written, layer.span, layer.via, "", key)))


def _agreed(key: str, tree: tables.Tree) -> Setting:
    """A default that all releases in question share."""
    value = tree.get(key)
    if value is tables.MISSING:
        return UNSET
    origin = Origin("default", None, (), "default of verl in all releases that fit", key, value)
    return unknown(value.reason, origin) if isinstance(value, Unknown) else Setting("known", value, (origin,))


def _is_own(path: str) -> bool:
    """Whether a config is one of verl's own tree."""
    return path.startswith("verl ") or any(f"/{part}" in f"/{path}" for part in OWN_TREES)


def _place(span: Span, run: RunConfig) -> str:
    """Where a default stands: in the repository's verl, or in a release's packaged configs."""
    if span.file.path.startswith("verl "):
        return span.file.path.split(":", 1)[0]
    version = run.versions.get(NAME)
    whose = "this repository's verl" if version is None else f"verl {version.text}"
    return f"{whose} ({span.file.path}:{span.line})"


def _setting(value: Value, key: str, origin: Origin) -> Setting:
    if isinstance(value.data, Unknown):
        origin.data = value.data
        return unknown(value.data.reason, origin)
    origin.data = value.plain()
    return Setting("known", origin.data, (origin,))


def resolved(key: str, setting: Setting, resolver: Resolver) -> Setting:
    """A setting whose value refers to others, with what it refers to."""
    origin = setting.origin
    if origin is None or not isinstance(setting.value, str) or "${" not in setting.value:
        return setting
    found = resolver.get(key)
    if found is None:
        return unknown(f"{setting.value} refers to nothing", *setting.chain)
    if isinstance(found.data, Unknown):
        return unknown(found.data.reason, *setting.chain)
    note = origin.note or f"by {setting.value}"
    last = Origin(origin.layer, origin.span, (*origin.via, found.span), note, key, found.plain())
    return Setting("known", last.data, (*setting.chain[:-1], last))
