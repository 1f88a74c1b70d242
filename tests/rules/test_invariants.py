"""Relations between settings: when they speak, and when they keep silent."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from verl_runs import MAIN, document, launched

from grpo_lint.rules import RULES
from grpo_lint.rules.invariants.pages import PROGRAMS
from grpo_lint.rules.invariants.relation import Relation, divisors, listed
from grpo_lint.rules.invariants.verl_batches import dynamic_alike, mini_exceeds_batch, mini_over_ranks
from grpo_lint.rules.invariants.verl_shares import rollout_shape

ESTIMATE = "INV780"
"""Adds up a run's memory, which is no relation between options."""
RELATIONS = [rule.declared for rule in RULES if rule.id.startswith("INV") and rule.id != ESTIMATE]
BATCHES = "data.train_batch_size={} actor_rollout_ref.actor.ppo_mini_batch_size={} "


def test_every_inv_rule_is_a_relation_with_examples_and_a_source() -> None:
    for rule in RELATIONS:
        assert isinstance(rule, Relation), rule
        assert rule.bad != rule.good, rule
        assert rule.source, rule
        assert rule.frameworks[0] in PROGRAMS or rule.bad.startswith(("{", "$ ")) or "\n" in rule.bad, rule


@pytest.mark.parametrize(("batch", "mini", "found"), [(32, 64, 1), (64, 64, 0), (64, 32, 0)])
def test_a_mini_batch_is_compared_with_its_batch(batch: int, mini: int, found: int) -> None:
    run = launched(MAIN + BATCHES.format(batch, mini))
    assert not mini_exceeds_batch.undecided(run)
    assert mini_exceeds_batch.check is not None
    assert len(list(mini_exceeds_batch.check(run))) == found


def test_a_dynamic_batch_is_not_compared() -> None:
    run = launched(MAIN + BATCHES.format(32, 64) + "actor_rollout_ref.actor.use_dynamic_bsz=True")
    assert mini_exceeds_batch.check is not None
    assert not list(mini_exceeds_batch.check(run))


def test_an_operand_that_nobody_knows_leaves_a_relation_undecided() -> None:
    run = launched(MAIN + "data.train_batch_size=$1", dynamic="$1")
    assert "train_batch_size" in mini_exceeds_batch.undecided(run)
    assert mini_exceeds_batch.check is not None
    assert not list(mini_exceeds_batch.check(run))


def test_a_config_file_of_verl_alone_proves_nothing() -> None:
    run = document("data:\n  train_batch_size: 32\nactor_rollout_ref:\n  actor:\n    ppo_mini_batch_size: 64\n")
    assert mini_exceeds_batch.check is not None
    assert not list(mini_exceeds_batch.check(run))


def test_a_release_without_the_check_is_left_alone() -> None:
    text = MAIN + BATCHES.format(32, 64)
    assert mini_exceeds_batch.check is not None
    assert not list(mini_exceeds_batch.check(launched(text, verl="0.2.0")))
    assert list(mini_exceeds_batch.check(launched(text, verl="0.3.0")))


def test_a_newer_check_is_a_warning_where_the_release_is_unknown() -> None:
    text = MAIN + (
        "actor_rollout_ref.actor.use_dynamic_bsz=True actor_rollout_ref.rollout.log_prob_use_dynamic_bsz=False"
    )
    assert dynamic_alike.check is not None
    (unknown,) = dynamic_alike.check(launched(text))
    assert (unknown.severity, "from verl 0.8.0 on" in unknown.message) == ("warning", True)
    (known,) = dynamic_alike.check(launched(text, verl="0.9.1"))
    assert known.severity is None
    assert not list(dynamic_alike.check(launched(text, verl="0.7.1")))


def test_a_default_is_told_as_one() -> None:
    assert rollout_shape.check is not None
    (found,) = rollout_shape.check(
        launched(MAIN + "trainer.n_gpus_per_node=1 actor_rollout_ref.rollout.name=vllm", verl="0.9.1")
    )
    assert "tensor_model_parallel_size 2 (its default)" in found.message
    assert found.help.endswith("to 1")


def test_what_the_ranks_drop_is_an_error_only_where_it_is_refused() -> None:
    text = MAIN + BATCHES.format(60, 12) + "actor_rollout_ref.rollout.n=2 trainer.n_gpus_per_node=16"
    assert mini_over_ranks.check is not None
    severities = [
        next(iter(mini_over_ranks.check(launched(text, verl=release)))).severity for release in ("0.7.1", "0.9.1")
    ]
    assert severities == ["warning", "error"]


@pytest.mark.parametrize(
    ("total", "limit", "found"), [(28, 64, [1, 2, 4, 7, 14, 28]), (7, 64, [1, 7]), (12, 4, [1, 2, 3, 4]), (7.5, 64, [])]
)
def test_divisors(total: float, limit: int, found: list[int]) -> None:
    assert divisors(total, limit) == found


def test_numbers_are_listed_as_people_do() -> None:
    assert listed([7]) == "7"
    assert listed([1, 7, 14]) == "1, 7 or 14"
    assert listed([]) == "none"


def test_the_scaffold_keeps_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sys.path.insert(0, str(Path(__file__).parent.parent.parent / "tools"))
    import relations

    monkeypatch.setattr(relations, "FIXTURES", tmp_path / "fixtures")
    relations.write(mini_exceeds_batch)
    folder = tmp_path / "fixtures" / "INV101"
    bad, good = folder / "bad-example.sh", folder / "good-example.sh"
    assert "actor_rollout_ref.actor.ppo_mini_batch_size=64" in shlex.split(bad.read_text(), comments=True)
    bad.write_text("# mine\n")
    good.unlink()
    relations.write(mini_exceeds_batch)
    assert bad.read_text() == "# mine\n"
    assert good.exists()
