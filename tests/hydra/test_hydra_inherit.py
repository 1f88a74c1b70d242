"""Configs that name their parents, against OmegaConf's own merge."""

from __future__ import annotations

from pathlib import Path

import pytest
from hydra_oracle import plain, word
from omegaconf import OmegaConf

from grpo_lint.source import SourceFile
from grpo_lint.syntax.hydra.compose import Composition
from grpo_lint.syntax.hydra.inherit import inherit
from grpo_lint.syntax.hydra.overrides import parse

FILES = {
    "base.yaml": "policy:\n  lr: 1e-6\n  parallel: {tp: 1, pp: 1}\ngrpo:\n  steps: 10\n  n: ???\nname: ${grpo.steps}\n",
    "other.yaml": "grpo: {n: 8}\nlogger: [console]\n",
    "recipes/child.yaml": "defaults: ../base.yaml\npolicy:\n  parallel: {tp: 4}\ngrpo: {n: 4}\n",
    "recipes/both.yaml": "defaults:\n  - ../base.yaml\n  - ../other.yaml\nlogger: [wandb]\n",
    "recipes/replaced.yaml": "defaults: child.yaml\npolicy: {_override_: true, lr: 2}\n",
    "recipes/kept.yaml": "defaults: child.yaml\npolicy: {_override_: false, lr: 2}\n",
    "loop.yaml": "defaults: loop.yaml\n",
    "orphan.yaml": "defaults: gone.yaml\n",
    "clash.yaml": "defaults: base.yaml\npolicy: [1]\n",
}


def read(name: str) -> SourceFile | None:
    return SourceFile(name, FILES[name]) if name in FILES else None


def ours(name: str, *overrides: str) -> Composition:
    return inherit(name, read, [parse(word(text)) for text in overrides], SourceFile("run.sh", "x").span(0, 1))


def load(name: str) -> dict[str, object]:
    found = OmegaConf.to_container(OmegaConf.create(FILES[name]))
    assert isinstance(found, dict)
    found.pop("defaults", None)
    return {str(key): value for key, value in found.items()}


@pytest.mark.parametrize(
    ("name", "chain"),
    [
        ("base.yaml", ["base.yaml"]),
        ("recipes/child.yaml", ["base.yaml", "recipes/child.yaml"]),
        ("recipes/both.yaml", ["base.yaml", "other.yaml", "recipes/both.yaml"]),
        ("recipes/kept.yaml", ["base.yaml", "recipes/child.yaml", "recipes/kept.yaml"]),
    ],
)
def test_parents_merge_in_order(name: str, chain: list[str]) -> None:
    merged = OmegaConf.merge(*[OmegaConf.create(load(one)) for one in chain])
    found = ours(name)
    assert not found.problems
    assert found.root is not None
    assert plain(found.root) == plain(OmegaConf.to_container(merged))


def test_a_marked_section_replaces_its_parents() -> None:
    found = ours("recipes/replaced.yaml")
    assert found.root is not None
    policy = found.root.get("policy")
    assert policy is not None
    assert policy.plain() == {"lr": 2}


def test_a_value_keeps_its_file_and_what_it_replaced() -> None:
    found = ours("recipes/child.yaml", "policy.parallel.tp=8")
    assert found.root is not None
    value = found.root.get("policy.parallel.tp")
    assert value is not None
    assert (value.data, value.span.file.path) == (8, "run.sh")
    assert [old.data for old in found.shadowed["policy.parallel.tp"]] == [4]
    old = found.root.get("policy.lr")
    assert old is not None
    assert old.span.file.path == "base.yaml"


@pytest.mark.parametrize(
    ("name", "override", "kind"),
    [
        ("loop.yaml", "", "defaults"),
        ("orphan.yaml", "", "no-config"),
        ("clash.yaml", "", "value"),
        ("gone.yaml", "", "no-config"),
        ("base.yaml", "policy.no=1", "no-option"),
        ("base.yaml", "+policy.lr=1", "exists"),
        ("base.yaml", "policy.lr=1,2", "sweep"),
        ("base.yaml", "policy.lr=~", "syntax"),
    ],
)
def test_refusals(name: str, override: str, kind: str) -> None:
    assert [problem.kind for problem in ours(name, *filter(None, [override])).problems] == [kind]


def test_an_absolute_parent_is_found(tmp_path: Path) -> None:
    """A file on disk is read through the caller's function, whatever its path looks like."""
    (tmp_path / "a.yaml").write_text("x: 1\n", encoding="utf-8")
    (tmp_path / "b.yaml").write_text(f"defaults: {tmp_path / 'a.yaml'}\ny: 2\n", encoding="utf-8")

    def from_disk(name: str) -> SourceFile | None:
        return SourceFile(name, Path(name).read_text(encoding="utf-8")) if Path(name).is_file() else None

    found = inherit(str(tmp_path / "b.yaml"), from_disk, [], SourceFile("run.sh", "x").span(0, 1))
    assert found.root is not None
    assert found.root.plain() == {"x": 1, "y": 2}
