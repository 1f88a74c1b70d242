"""Configs that name their parents: `defaults: ../base.yaml`, or a list of such paths, relative to the file itself.

Not Hydra's defaults lists but a dialect of NeMo-RL (nemo_rl/utils/config.py, read at main of 2026-08-22): parents are
merged in order, then the file; a top-level section with `_override_: true` replaces its parents' instead of merging.
The command line's overrides are Hydra's, without groups: `+` adds, and a key that isn't there is refused.
"""

from __future__ import annotations

import posixpath

from grpo_lint.located import Value
from grpo_lint.syntax.hydra.compose import Composition
from grpo_lint.syntax.hydra.config import ComposeProblem, Refused, Uncertain, read_document
from grpo_lint.syntax.hydra.merge import Merger, copy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from grpo_lint.source import SourceFile, Span
    from grpo_lint.syntax.hydra.overrides import Override

    Load = Callable[[str], SourceFile | None]

MAX_DEPTH = 30
MAX_FILES = 500
MARK = "_override_"


def inherit(path: str, load: Load, overrides: Iterable[Override], blame: Span) -> Composition:
    """Composes a file with its parents and applies overrides. `blame` is the place of last resort for a problem."""
    result = Composition()
    chain = _Chain(load)
    try:
        merger = Merger(chain.read(path, blame, 0))
    except Refused as refused:
        result.problems.append(refused.problem)
        return result
    except Uncertain as uncertain:
        result.unknown = str(uncertain)
        return result
    for override in overrides:
        problem = override.problem
        if problem is not None:
            result.problems.append(ComposeProblem("syntax", problem.message, problem.span, override, problem.help))
        elif override.reason:
            result.open = result.open or override.reason
        elif override.sweep is not None:
            span = override.value.span if override.value is not None else override.span
            message = f"`{override.text}` is a sweep, which nothing here runs"
            result.problems.append(ComposeProblem("sweep", message, span, override, "write a list as [a,b]"))
        else:
            _apply(merger, override, result)
    result.root = merger.root
    result.shadowed = {**chain.shadowed, **merger.shadowed}
    return result


def _apply(merger: Merger, override: Override, result: Composition) -> None:
    try:
        merger.apply(override)
    except Refused as refused:
        result.problems.append(refused.problem)


class _Chain:
    """Files and their parents, read and merged depth first."""

    def __init__(self, load: Load) -> None:
        self.load = load
        self.left = MAX_FILES
        self.shadowed: dict[str, list[Value]] = {}

    def read(self, path: str, blame: Span, depth: int) -> Value:
        """The merged tree of a file. Raises Refused if a parent isn't there, Uncertain for text that isn't YAML."""
        self.left -= 1
        if depth > MAX_DEPTH or self.left < 0:
            raise Refused(ComposeProblem("defaults", f"{path} is its own parent, or has too many", blame))
        source = self.load(path)
        if source is None:
            raise Refused(ComposeProblem("no-config", f"there is no file {path}", blame))
        root = read_document(source)
        if root is None:
            return Value({}, source.span(0, 0))
        own = Value(dict(root.data), root.span, style=root.style)
        defaults = own.data.pop("defaults", None)
        if defaults is None:
            return copy(own)
        merger = Merger(Value({}, root.span))
        for parent in defaults.data if isinstance(defaults.data, list) else (defaults,):
            if not isinstance(parent.data, str):
                raise Refused(ComposeProblem("defaults", "defaults must name files", parent.span))
            place = posixpath.normpath(posixpath.join(posixpath.dirname(path), parent.data))
            _merge(merger, self.read(place, parent.span, depth + 1))
        _merge(merger, own)
        self.shadowed.update(merger.shadowed)
        return merger.root


def _merge(merger: Merger, child: Value) -> None:
    """Merges a tree over what is there; its sections that are marked so replace theirs."""
    sections = dict(child.data)
    for key, section in child.data.items():
        mark = section.data.get(MARK) if isinstance(section.data, dict) else None
        if mark is not None and mark.data:
            rest = {name: value for name, value in section.data.items() if name != MARK}
            sections[key] = Value(rest, section.span, section.key_span, style=section.style)
            old = merger.root.data.pop(key, None)
            if old is not None:
                merger.shadowed.setdefault(key, []).append(old)
    merger.merge_at("", Value(sections, child.span))
