"""verl: the packaged option trees as what a launch starts from, where no config of its own is at hand."""

from __future__ import annotations

from grpo_lint.frameworks import tables
from grpo_lint.frameworks.verl import NAME
from grpo_lint.located import Unknown
from grpo_lint.runconfig import default
from grpo_lint.unified import UNSET, Origin, Setting, unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from grpo_lint.located import Problem
    from grpo_lint.runconfig import RunConfig
    from grpo_lint.syntax.hydra.config import ComposeProblem
    from grpo_lint.syntax.hydra.overrides import Override

NO_OPTION = "there is no option "
"""What stands in a message before the part of the path that is missing, here as in the composer's."""


def use_packaged_tree(run: RunConfig, overrides: Sequence[Override]) -> list[Problem]:
    """Let a packaged tree answer for what nothing sets; what Hydra would refuse over it is returned.

    Without a known release it is asked what all releases agree on that have every key which the overrides set.
    """
    if run.engine not in tables.verl_engines():
        run.complete = False
        return []
    version = run.versions.get(NAME)
    among = None if version is not None else releases_with(run.engine, overrides)
    tree = tables.verl_tree(version.text if version is not None else None, run.engine, among)
    note = "default of verl " + (tree.release or _range(among or ()))

    def lookup(key: str) -> Setting:
        value = tree.get(key)
        if value is tables.MISSING:
            return UNSET
        if isinstance(value, Unknown):
            return unknown(value.reason, Origin("default", None, (), note, key))
        return default(value, note, key)

    run.options.use_defaults(NAME, lookup, tree.names)
    run.candidates[NAME] = (tree.release,) if tree.release is not None else among or ()
    if version is not None and tables.newer_than_read(NAME, version.text):
        return []
    every = tables.verl_tree(version.text if version is not None else None, run.engine)
    releases = f"verl {tree.release}" if tree.release is not None else "every release of verl that was read"
    refused = list(packaged(every, overrides, releases))
    if not refused:
        return []
    from grpo_lint.frameworks.verl_problems import reads_as_fork, told

    if version is None and reads_as_fork(refused, every.names()):
        run.complete = False
        run.options.use_defaults(NAME, _of_a_fork, lambda: ())
        return []
    return list(told(refused, tree.names(), run.engine))


def _of_a_fork(key: str) -> Setting:
    return unknown("the launch sets options that no release of verl has, so it starts from another tree")


def _range(releases: tuple[str, ...]) -> str:
    """Releases as people say them: "0.7.0 to 0.9.1"."""
    return releases[0] if len(releases) == 1 else f"{releases[0]} to {releases[-1]}"


def releases_with(engine: str, overrides: Sequence[Override]) -> tuple[str, ...]:
    """The releases whose tree has every key that is set without `+`; all of them if no release does."""
    keys = [o.key for o in overrides if o.prefix == "" and "." in o.key and o.problem is None]
    return tables.verl_releases_with(engine, keys)


def packaged(tree: tables.Tree, overrides: Iterable[Override], releases: str) -> Iterator[ComposeProblem]:
    """What Hydra refuses of a launch that starts from a packaged tree; `releases` says which ones are in question.

    Without a known release only what all of them refuse. Group choices change the tree: nothing is said after one.
    """
    added: set[str] = set()
    for override in overrides:
        key = override.key
        if override.problem is not None or not key or "/" in key or key.startswith("hydra."):
            continue
        if override.package is not None or ("." not in key and key != "model_engine" and not override.prefix):
            return
        if override.prefix in ("+", "++"):
            if override.prefix == "+" and tree.everywhere(key) and key not in added:
                message = f"hydra refuses `{override.text}`: {key} is there already in {releases}"
                help = "remove the +, or write ++ to set it whether it is there or not"
                yield _refusal("exists", message, override, help)
            added |= {key[:at] for at in range(len(key)) if key[at] == "."} | {key}
        elif key != "model_engine" and not (tree.has(key) or key in added):
            absent = _first_absent(key, tree, added)
            kind, verb = ("no-deletion", "delete") if override.prefix == "~" else ("no-option", "set")
            message = f"hydra refuses to {verb} `{override.text}` in {releases}: {NO_OPTION}{absent}"
            yield _refusal(kind, message, override)


def _refusal(kind: str, message: str, override: Override, help: str = "") -> ComposeProblem:
    from grpo_lint.syntax.hydra.config import ComposeProblem  # here, since most launches are not refused

    return ComposeProblem(kind, message, override.key_span, override, help)


def _first_absent(key: str, tree: tables.Tree, added: set[str]) -> str:
    """The shortest part of a key's path that isn't there."""
    parts = key.split(".")
    for count in range(1, len(parts)):
        part = ".".join(parts[:count])
        if not tree.has(part) and part not in added:
            return part
    return key
