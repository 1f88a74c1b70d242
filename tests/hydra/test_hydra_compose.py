"""Composition against Hydra itself: the same trees, raw and resolved, and the same refusals."""

from __future__ import annotations

import os
import random
import warnings
from pathlib import Path

import pytest
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_search_path_impl import ConfigSearchPathImpl
from hydra.core.plugins import Plugins
from hydra.types import RunMode
from hydra_oracle import plain, word
from hydra_random import random_configs, random_overrides
from omegaconf import DictConfig, OmegaConf, open_dict

from grpo_lint.located import Unknown, Value
from grpo_lint.source import SourceFile
from grpo_lint.syntax.hydra.compose import Composition, compose
from grpo_lint.syntax.hydra.config import Folder, Packaged
from grpo_lint.syntax.hydra.overrides import parse
from grpo_lint.syntax.hydra.resolve import Resolver

HERE = Path(__file__).parent
LAUNCHES = [
    line.split(" |")
    for line in (HERE / "launches.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


def folder(path: str) -> Folder:
    def load(name: str) -> SourceFile | None:
        return SourceFile(name, Path(name).read_text(encoding="utf-8")) if os.path.isfile(name) else None

    def names(name: str) -> list[str] | None:
        return os.listdir(name) if os.path.isdir(name) else None

    return Folder(path, load, names)


def ours(root: Path, name: str, overrides: list[str], multirun: bool = False) -> Composition:
    def open_place(url: str) -> Folder | None:
        path = root / url.removeprefix("file://")
        return folder(str(path)) if path.is_dir() and not url.startswith("pkg://") else None

    blame = SourceFile("run.sh", "python train.py").span(0, 6)
    parsed = [parse(word(text)) for text in overrides]
    return compose(name, parsed, [folder(str(root))], open_place, blame, multirun)


def hydra(root: Path, name: str, overrides: list[str]) -> DictConfig | str:
    """Hydra's tree without its own settings, or the text of its refusal."""
    Plugins.instance()
    path = ConfigSearchPathImpl()
    path.append("hydra", "pkg://hydra.conf")
    path.append("main", str(root))
    path.append("schema", "structured://")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = ConfigLoaderImpl(path).load_configuration(name, overrides, RunMode.RUN)
        except Exception as error:  # whatever it raises, the program doesn't start
            return f"{type(error).__name__}: {error}"
    with open_dict(found):
        del found["hydra"]
    return found


def agree(root: Path, name: str, overrides: list[str]) -> None:
    theirs, mine = hydra(root, name, overrides), ours(root, name, overrides)
    assert not mine.unknown
    if isinstance(theirs, str):
        assert mine.problems, theirs
        return
    assert not mine.problems
    assert mine.root is not None
    assert plain(mine.root) == plain(OmegaConf.to_container(theirs)), overrides
    resolver = Resolver(mine.root)
    whole = resolver.whole()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            resolved = OmegaConf.to_container(theirs, resolve=True)
    except Exception:  # an interpolation that leads nowhere
        assert resolver.problems
        return
    assert not resolver.problems
    if not _holds_unknown(whole):
        assert plain(whole) == plain(resolved)


def _holds_unknown(value: Value) -> bool:
    if isinstance(value.data, Unknown):
        return True
    children = value.data.values() if value.is_mapping else value.data if value.is_list else ()
    return any(_holds_unknown(child) for child in children)


@pytest.mark.parametrize(("name", "overrides"), LAUNCHES)
def test_composes_or_refuses_as_hydra(name: str, overrides: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HERE / "configs")
    agree(HERE / "configs", name, [text for text in overrides.strip().split("  ") if text])


@pytest.mark.parametrize("seed", range(40))
def test_composes_random_trees_as_hydra(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    for at in range(3):
        root = tmp_path / str(at)
        for path, text in random_configs(chance).items():
            file = root / f"{path}.yaml"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        agree(root, "a", random_overrides(chance))


def problems(name: str, *overrides: str) -> list[tuple[str, str]]:
    """(kind, text that is pointed at) of our refusals."""
    found = ours(HERE / "configs", name, list(overrides)).problems
    return [(problem.kind, problem.span.text) for problem in found]


@pytest.mark.parametrize(
    ("override", "kind", "text"),
    [
        ("rollout.m=8", "no-option", "rollout.m"),
        ("+rollout.n=8", "exists", "rollout.n"),
        ("~rollout.m", "no-deletion", "rollout.m"),
        ("engine=none_such", "no-choice", "none_such"),
        ("actor=base", "no-group", "actor"),
        ("rollout.n=1,2", "sweep", "1,2"),
        ("rollout.n=~/x", "syntax", "~"),
        ("rollout@x=1", "no-group", "rollout@x"),
        ("trainer=[1]", "value", "[1]"),
        ("rollout.n=${x", "syntax", "{"),
    ],
)
def test_a_refusal_points_at_what_causes_it(override: str, kind: str, text: str) -> None:
    assert problems("train", override) == [(kind, text)]


def test_every_refused_override_is_told_and_the_others_count() -> None:
    found = ours(HERE / "configs", "train", ["rollout.m=8", "rollout.n=4", "+rollout.n=8"])
    assert [problem.override.text for problem in found.problems] == ["rollout.m=8", "+rollout.n=8"]
    assert found.root is not None
    value = found.root.get("rollout.n")
    assert value is not None
    assert (value.data, value.span.file.path) == (4, "run.sh")
    assert [old.data for old in found.shadowed["rollout.n"]] == [1]


def test_a_value_keeps_the_place_in_its_file() -> None:
    found = ours(HERE / "configs", "train", [])
    assert found.root is not None
    value = found.root.get("worker.actor.optim.name")
    assert value is not None
    assert value.span.file.path.endswith("actor/base.yaml")
    assert value.span.text == "adam"
    resolved = Resolver(found.root).get("worker.actor.clip")
    assert resolved is not None
    assert (resolved.data, resolved.span.text, resolved.via[-1].text) == ("adam", "${.optim.name}", "adam")


def test_an_unknown_choice_makes_the_tree_unknown() -> None:
    found = ours(HERE / "configs", "train", ["engine=\u2047dynamic\u2047"])
    assert found.root is None
    assert not found.problems
    assert "engine" in found.unknown


def test_a_place_that_is_not_at_hand_refuses_nothing(tmp_path: Path) -> None:
    text = "hydra:\n  searchpath:\n    - pkg://somewhere.else\ndefaults: [base, _self_]\n"
    (tmp_path / "main.yaml").write_text(text, encoding="utf-8")
    found = ours(tmp_path, "main", ["a.b=1"])
    assert not found.problems
    assert "somewhere.else" in found.unknown


def test_a_sweep_is_kept_in_a_multirun() -> None:
    found = ours(HERE / "configs", "train", ["rollout.n=1,2"], multirun=True)
    assert not found.problems
    assert found.root is not None
    value = found.root.get("rollout.n")
    assert value is not None
    assert isinstance(value.data, Unknown)


def test_packaged_configs_compose_like_files() -> None:
    place = Packaged(
        "framework 1.0: config",
        {
            "main": {"defaults": ["part/one", "_self_"], "body": {"x": 1}},
            "part/one": {"body": {"y": "${x}"}, "package": "_global_"},
        },
    )
    blame = SourceFile("run.sh", "x").span(0, 1)
    found = compose("main", [parse(word("x=2"))], [place], lambda url: None, blame)
    assert found.root is not None
    assert found.root.plain() == {"y": "${x}", "x": 2}
    value = found.root.get("y")
    assert value is not None
    assert value.span.file.path == "framework 1.0: config/part/one.yaml"


def test_a_packaged_tree_that_is_kept_is_not_changed_by_a_run() -> None:
    place = Packaged("framework 1.0: config", {"main": {"body": {"a": {"b": 1}, "c": [1]}}})
    trees = []
    for text in ("x", "yy", "x"):
        blame = SourceFile(text, text).span(0, len(text))
        overrides = [] if text == "x" else [parse(word("a.b=2")), parse(word("+a.d=3")), parse(word("~c"))]
        found = compose("main", overrides, [place], lambda url: None, blame)
        assert found.root is not None
        assert found.root.span == blame
        trees.append(found.root.plain())
    assert trees[0] == trees[2] == {"a": {"b": 1}, "c": [1]}
    assert trees[1] == {"a": {"b": 2, "d": 3}}


@pytest.mark.parametrize("text", ["${a}", "${b.c}", "x${a}"])
def test_cycles_and_growth_are_bounded(text: str) -> None:
    span = SourceFile("a.yaml", text).span(0, len(text))
    root = Value({"a": Value(text, span), "b": Value({"c": Value("${a}", span)}, span)}, span)
    resolver = Resolver(root)
    resolver.whole()
    assert resolver.problems


@pytest.mark.parametrize("length", [30, 3000])
def test_a_chain_of_references_is_followed_without_overflow(length: int) -> None:
    span = SourceFile("a.yaml", "x").span(0, 1)
    data = {f"k{at}": Value(f"${{k{at + 1}}}", span) for at in range(length)}
    resolver = Resolver(Value({**data, f"k{length}": Value(1, span)}, span))
    value = resolver.get("k0")
    assert value is not None
    assert not resolver.problems
    assert value.data == 1 if length == 30 else isinstance(value.data, Unknown)


def test_deep_sections_do_not_overflow(tmp_path: Path) -> None:
    text = "".join(f"{' ' * at}k{at}:\n" for at in range(190)) + " " * 190 + "x: ${k0.y}\n"
    (tmp_path / "deep.yaml").write_text(text, encoding="utf-8")
    found = ours(tmp_path, "deep", ["+k0.y=1", f"{'.'.join(f'k{at}' for at in range(190))}.x=2"])
    assert not found.problems
    assert found.root is not None
    Resolver(found.root).whole()


def test_sections_that_multiply_are_cut_off() -> None:
    span = SourceFile("a.yaml", "x").span(0, 1)
    data = {f"k{at}": Value([Value(f"${{k{at + 1}}}", span) for _ in range(4)], span) for at in range(40)}
    data["k40"] = Value(1, span)
    assert _holds_unknown(Resolver(Value(data, span)).whole())


def test_the_environment_is_what_the_caller_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRPO_LINT_N", "ours")
    text = "${oc.env:GRPO_LINT_N}"
    span = SourceFile("a.yaml", text).span(0, len(text))
    root = Value({"a": Value(text, span)}, span)
    value = Resolver(root).get("a")
    assert value is not None
    assert isinstance(value.data, Unknown)
    known = Resolver(root, environment=lambda name: Value("8", span)).get("a")
    assert known is not None
    assert known.data == "8"


def test_arithmetic_is_known_only_where_the_framework_registers_it() -> None:
    text = "${mul:3,4}"
    span = SourceFile("a.yaml", text).span(0, len(text))
    root = Value({"a": Value(text, span)}, span)
    unknown, known = Resolver(root).get("a"), Resolver(root, functions=("mul",)).get("a")
    assert unknown is not None
    assert isinstance(unknown.data, Unknown)
    assert known is not None
    assert known.data == 12
