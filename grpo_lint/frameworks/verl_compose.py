"""verl: composing the config tree that a repository itself holds, as Hydra would for its launch.

A fork that vendors verl, a recipe with an entry point of its own, `--config-path` and a YAML with a `defaults` list all
start from files at hand. What comes from verl's own tree counts as a default, what comes from another file as written.
"""

from __future__ import annotations

import os

from grpo_lint.frameworks import hydra_entry
from grpo_lint.frameworks.documents import paths_of
from grpo_lint.frameworks.verl import NAME
from grpo_lint.located import Unknown
from grpo_lint.syntax.hydra.compose import compose
from grpo_lint.syntax.hydra.config import Folder
from grpo_lint.syntax.hydra.resolve import Resolver
from grpo_lint.unified import UNSET, Origin, Setting, unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.discover import Repository
    from grpo_lint.located import Value, Word
    from grpo_lint.runconfig import RunConfig
    from grpo_lint.source import SourceFile, Span
    from grpo_lint.syntax.hydra.compose import Composition
    from grpo_lint.syntax.hydra.config import Config
    from grpo_lint.syntax.hydra.overrides import Override

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

    def open(self, start: str, entry: str) -> Folder | None:
        """The folder that an entry of `hydra.searchpath` names, seen from a script in the folder `start`."""
        kind, _, name = entry.partition("://")
        relative = name.replace(".", "/") if kind == "pkg" else name
        found = _directory(relative, start, self.repository) if kind in ("pkg", "file") else None
        return self.folder(found) if found is not None else None


class _CachedFolder(Folder):
    def __init__(self, root: str, repository: Repository) -> None:
        super().__init__(root, repository.load, lambda path: _names(path, repository))
        self._configs: dict[str, Config | None] = {}

    def config(self, path: str) -> Config | None:
        if path not in self._configs:
            self._configs[path] = super().config(path)
        return self._configs[path]


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

    def __init__(self, folders: list[Folder], name: str) -> None:
        self.folders = folders
        self.name = name


def start_of(module: str, flags: dict[str, Word | None], script: str, places: Places) -> Start | None:
    """The start of a launch whose config lies in the repository; None where it doesn't, or can't be told."""
    folder = os.path.dirname(script)
    entry = hydra_entry.find(module, folder, places.repository)
    named, given = flags.get("--config-name"), flags.get("--config-path")
    if named is not None and named.dynamic:
        return None
    name = named.text if named is not None else entry.name if entry is not None else ""
    if given is not None:
        root = _given_folder(given, entry.base if entry is not None else None, places.repository)
    else:
        root = entry.folder if entry is not None else None
    if not name or root is None or not places.has(root):
        return None
    folders = [places.folder(root)]
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
    folder = os.path.dirname(script)
    result = compose(
        start.name, overrides, list(start.folders), lambda entry: places.open(folder, entry), run.anchor, multirun
    )
    if result.root is not None:
        put_composition(run, result)
        run.complete = run.complete and not result.open
        return result
    absent = any(
        p.kind == "no-config" and any(f"'{name}" in p.message for name in OWN_CONFIGS) for p in result.problems
    )
    return result if result.problems and not absent else None


def put_composition(run: RunConfig, result: Composition) -> None:
    """Options from a composed tree: verl's own values answer as defaults, all others are written."""
    root = result.root
    if root is None:
        return
    configs = {config.file.path: config.file for config in result.configs}
    resolver = Resolver(root)
    release = run.versions.get(NAME)
    label = f"default of verl {release.text}" if release is not None else "default"

    def lookup(key: str) -> Setting:
        found = root.get(key)
        layers = [*result.shadowed.get(key, ()), *([found] if found is not None else ())]
        own = next((value for value in reversed(layers) if _is_own(value, configs)), None)
        if own is None or (own.is_mapping and own.data):
            return UNSET
        return _setting(own, key, Origin("default", None, (), f"{label} ({_place(own.span)})", key))

    run.options.use_defaults(NAME, lookup, lambda: (key for key, value in root.leaves() if _is_own(value, configs)))
    run.options.use_resolver(NAME, lambda key, setting: resolved(key, setting, resolver))
    for key, value in root.leaves():
        for layer in (*result.shadowed.get(key, ()), value):
            if not _is_own(layer, configs):
                written = "file" if layer.span.file.path in configs else "override"
                origin = Origin("file" if written == "file" else "override", layer.span, layer.via, "", key)
                run.options.put(NAME, key, _setting(layer, key, origin))


def _is_own(value: Value, configs: dict[str, SourceFile]) -> bool:
    """Whether a value comes from verl's own tree."""
    path = value.span.file.path
    return path in configs and any(f"/{part}" in f"/{path}" for part in OWN_TREES)


def _place(span: Span) -> str:
    return f"{span.file.path}:{span.line}"


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
