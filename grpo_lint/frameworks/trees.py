"""Frameworks whose config is a tree of keys, from YAML with `${a.b}` in it and from `a.b=c` on the line.

NeMo-RL, AReaL, ROLL and rLLM read such trees by OmegaConf; what holds for all of them is here.
"""

from __future__ import annotations

import os

from grpo_lint.frameworks.deepspeed import as_setting
from grpo_lint.frameworks.documents import document_at
from grpo_lint.frameworks.shape import given
from grpo_lint.frameworks.verl_source import HYDRA_FLAGS
from grpo_lint.located import Problem
from grpo_lint.patterns import lazy
from grpo_lint.syntax.hydra.overrides import parse
from grpo_lint.unified import UNSET, Origin, Setting, unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from grpo_lint.discover import Repository
    from grpo_lint.located import Value, Word
    from grpo_lint.runconfig import RunConfig
    from grpo_lint.syntax.hydra.overrides import Override
    from grpo_lint.unified import Layer

_REFERENCE = lazy(r"\$\{([A-Za-z_][\w.]*)\}")
CYCLE = "hydra-defaults"
"""The kind of a problem with a file's parents."""
MAX_STEPS = 12
"""How far a chain of references or of parents is followed; a longer one is a cycle or no config."""


def put_tree(root: Value, run: RunConfig, layer: Layer = "file", skip: tuple[str, ...] = ("defaults", "hydra")) -> None:
    """Put every key of a document into the options, by its dotted path; top keys in `skip` are left out."""
    for key, value in root.leaves():
        if key.split(".", 1)[0] not in skip:
            run.options.put(run.framework, key, as_setting(value, key, layer))


def put_overrides(words: Sequence[Word], run: RunConfig, framework: str = "") -> list[Problem]:
    """Apply the `a.b=c` words of a line, in Hydra's grammar; what can't be read is returned."""
    problems: list[Problem] = []
    skip = False
    for word in words:
        text = word.text
        name, equals, _ = text.partition("=")
        if skip or text.startswith("-"):
            skip = not skip and not equals and HYDRA_FLAGS.get(name, name == "--config")
            continue
        if word.dynamic and "=" not in text:
            run.complete = False
            continue
        override = parse(word)
        if override.problem is not None:
            problems.append(override.problem)
        else:
            _put_override(run, framework or run.framework, override)
    return problems


def _put_override(run: RunConfig, framework: str, override: Override) -> None:
    if not override.key:
        return
    if override.prefix == "~":
        origin = Origin("override", override.span, (), "deleted", override.key)
        run.options.put(framework, override.key, Setting("unset", None, (origin,)))
    elif override.value is not None:
        for key, value in override.value.leaves(override.key):
            run.options.put(framework, key, as_setting(value, key, "override"))


def put_parents(root: Value, folder: str, repository: Repository, run: RunConfig, own: str = "") -> list[Problem]:
    """Put the files that `defaults` names by their paths, furthest first, below the file itself, whose path is `own`.

    One that can't be had leaves the run incomplete; one that leads back to itself is returned as a problem.
    """
    found: list[Value] = []
    problems: list[Problem] = []
    pending: list[tuple[Value, str, tuple[str, ...]]] = [(root, folder, (os.path.normpath(own),) if own else ())]
    while pending:
        node, where, trail = pending.pop()
        for name in _parents(node):
            path = os.path.normpath(os.path.join(where, str(name.data)))
            if path in trail:
                message = f"the defaults lead back to {os.path.basename(path)}: loading it never ends"
                problems.append(Problem(message, name.span, "name a file that doesn't name this one", CYCLE))
                run.complete = False
                continue
            parent = document_at(path, where, repository, "omegaconf") if len(found) < MAX_STEPS else None
            if parent is None:
                run.complete = False
                continue
            found.append(parent)
            pending.append((parent, os.path.dirname(path), (*trail, path)))
    for parent in reversed(found):
        put_tree(parent, run, "base")
    return problems


def _parents(root: Value) -> list[Value]:
    node = root.data.get("defaults") if root.is_mapping else None
    if node is None:
        return []
    names: list[Value] = [node] if isinstance(node.data, str) else node.data if node.is_list else []
    return [name for name in reversed(names) if isinstance(name.data, str) and name.data.endswith((".yaml", ".yml"))]


def option(run: RunConfig, key: str) -> Setting:
    """An option as the run gets it: `${a.b}` is followed; another expression, or `???`, is not known."""
    setting = given(run, key)
    for _ in range(MAX_STEPS):
        value = setting.value
        if not setting.known or not isinstance(value, str) or ("${" not in value and value != "???"):
            return setting
        reference = _REFERENCE.fullmatch(value)
        target = given(run, reference[1]) if reference else UNSET
        if target.unset:
            return unknown(f"{key} is {value}", *setting.chain)
        last = target.chain[-1]
        origin = setting.chain[-1]
        via = tuple(span for span in (last.span, *last.via) if span is not None)
        place = Origin(origin.layer, origin.span, (*origin.via, *via), origin.note, origin.key, last.data)
        setting = Setting(target.state, target.value, (place,), target.alternatives, target.reason)
    return unknown(f"{key} refers to itself")
