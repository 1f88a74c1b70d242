"""The packaged tables: complete, consistent with one another, quick to load, and refreshed without loss."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hydra_oracle import word

from grpo_lint.frameworks import tables
from grpo_lint.located import Unknown
from grpo_lint.source import SourceFile
from grpo_lint.syntax.hydra.compose import compose
from grpo_lint.syntax.hydra.overrides import parse

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent / "tools"))
import store  # noqa: E402

SIZES: dict[str, dict[str, int]] = json.loads((HERE / "table_sizes.json").read_text(encoding="utf-8"))
"""Options of each release of each table when it was last looked at."""
PRIMARY = {
    "dp": ("verl.trainer.config", "ppo_trainer", "model_engine=dp"),
    "megatron": ("verl.trainer.config", "ppo_megatron_trainer", ""),
    "veomni": ("verl.trainer.config", "ppo_trainer", "model_engine=veomni"),
    "torchtitan": ("verl.trainer.config", "ppo_trainer", "model_engine=torchtitan"),
    "fully_async": ("verl.experimental.fully_async_policy.config", "fully_async_ppo_trainer", ""),
    "one_step_off": ("verl.experimental.one_step_off_policy.config", "one_step_off_ppo_trainer", ""),
}
RELEASES = tables.table("verl").releases


@pytest.mark.parametrize("framework", sorted(SIZES))
def test_no_table_shrinks_by_a_tenth(framework: str) -> None:
    table = store.read(framework)
    for release, size in SIZES[framework].items():
        assert len(store.at(table, release)) > 0.9 * size, f"{framework} {release}"


def test_every_table_is_watched() -> None:
    assert {path.stem for path in store.FOLDER.glob("*.json")} == set(SIZES)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("engine", sorted(PRIMARY))
def test_the_packaged_configs_compose_to_the_packaged_tree(release: str, engine: str) -> None:
    tree = tables.verl_tree(release, engine)
    names = list(tree.names())
    package, primary, override = PRIMARY[engine]
    place = tables.verl_place(release, package)
    if place is None:
        assert not names
        return
    blame = SourceFile("run.sh", "x").span(0, 1)
    overrides = [parse(word(override))] if override and place.choices("model_engine") else []
    found = compose(primary, overrides, [place], lambda url: _open(release, url), blame)
    if not names:  # the engine came later
        assert found.root is None or engine in ("veomni", "torchtitan")
        return
    assert found.root is not None
    assert {name: leaf.plain() for name, leaf in found.root.leaves()} == {name: tree.get(name) for name in names}


def test_every_line_of_the_trees_is_found_by_its_option() -> None:
    whole = store.read("verl_trees")["options"]
    lines = tables._trees()["options"]
    assert list(lines) == sorted(whole)
    assert {name: lines[name] for name in lines} == whole
    assert lines["trainer.nnode"] == lines["trainer"] == lines[""] == []


def _open(release: str, url: str) -> Any:
    return tables.verl_place(release, url.partition("://")[2].replace("/", "."))


def test_a_default_of_a_release() -> None:
    assert tables.verl_tree("0.9.1").get("actor_rollout_ref.rollout.n") == 1
    assert tables.verl_tree("0.9.1").get("actor_rollout_ref.rollout.m") is tables.MISSING
    assert tables.verl_tree("0.4.0").get("actor_rollout_ref.rollout.prompt_length") == "${data.max_prompt_length}"
    assert tables.verl_tree("0.9.1").has("actor_rollout_ref.rollout")
    assert not tables.verl_tree("0.9.1").has("actor_rollout_ref.roll")


def test_a_release_between_two_that_were_read_is_the_older_one() -> None:
    assert tables.verl_tree("0.4.2").release == "0.4.1"
    assert tables.verl_tree("9.0").release == RELEASES[-1]


def test_without_a_release_only_what_all_agree_on_is_known() -> None:
    tree = tables.verl_tree(None)
    assert tree.get("actor_rollout_ref.rollout.n") == 1
    prompt_length = tree.get("actor_rollout_ref.rollout.prompt_length")
    assert isinstance(prompt_length, Unknown)
    assert "0.5.0" in prompt_length.reason


def test_options_know_their_releases() -> None:
    clipping = [tables.option("deepspeed", "gradient_clipping", release) for release in ("0.19.2", "0.19.3")]
    assert [one.default if one else None for one in clipping] == [0.0, 1.0]
    table = tables.table("verl")
    assert table.presence("trainer.nnodes", None) is True
    assert table.presence("trainer.nnodes", "0.9.1") is True
    assert table.presence("trainer.no_such_option", "0.9.1") is False
    assert table.presence("trainer.no_such_option", "99.0") is None
    assert table.option("trainer.no_such_option") is None


def test_adding_a_release_again_changes_nothing() -> None:
    table = store.read("deepspeed")
    release = table["releases"][-1]
    options = [
        {**table["options"][name], **table["options"][name].get("more", {}), "name": name, "default": default}
        for name, default in store.at(table, release).items()
    ]
    assert store.add(table, release, options) == table
    trees = store.read("verl_trees")
    newest = trees["releases"][-1]
    by_engine: dict[str, dict[str, Any]] = {}
    for name, values in store.at(trees, newest).items():
        for engine, value in values.items():
            by_engine.setdefault(engine, {})[name] = value
    assert store.add_trees(trees, newest, by_engine) == trees


def test_a_new_release_shows_what_it_changes() -> None:
    table = store.read("no_such_table")
    first = store.add(table, "1.0", [{"name": "a", "default": 1, "type": "int"}, {"name": "b", "default": None}])
    second = store.add(first, "1.1", [{"name": "a", "default": 1.0, "type": "float"}, {"name": "c", "default": "x"}])
    assert list(store.changes(store.at(second, "1.0"), store.at(second, "1.1"))) == [
        "~ a: 1 -> 1.0",
        "- b",
        '+ c = "x"',
    ]
    assert second["options"]["a"] == {"type": "float", "spells": [[0, 0, 1], [1, 1, 1.0]]}
    assert second["options"]["b"] == {"spells": [[0, 0, None]]}
