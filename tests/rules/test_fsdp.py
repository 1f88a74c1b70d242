import pytest
from verl_runs import FULLY_ASYNC, MAIN, ONE_STEP_OFF, findings, launched, marked, severities

from grpo_lint.rules.avoidance.fsdp import old_fsdp2, strategy_overwritten

INNER = "actor_rollout_ref.actor.fsdp_config.strategy="
OUTER = "actor_rollout_ref.actor.strategy="
OFFLOAD = "actor_rollout_ref.actor.fsdp_config.param_offload=True trainer.nnodes=2 "


def test_inner_strategy_is_overwritten_with_the_default() -> None:
    (finding,) = findings(strategy_overwritten, launched(f"{MAIN}{INNER}fsdp2"))
    assert marked(finding) == "fsdp2"
    assert "which is fsdp (its default)" in finding.message


def test_inner_strategy_is_overwritten_with_what_is_written() -> None:
    (finding,) = findings(strategy_overwritten, launched(f"{MAIN}{INNER}fsdp {OUTER}fsdp2"))
    assert finding.others[0][0].span.text == "fsdp2"


def test_critic() -> None:
    (finding,) = findings(strategy_overwritten, launched(f"{MAIN}critic.fsdp.strategy=fsdp2", verl="0.9.1"))
    assert "critic.strategy" in finding.message


@pytest.mark.parametrize(
    "command",
    [
        f"{MAIN}{INNER}fsdp2 {OUTER}fsdp2",
        f"{MAIN}{OUTER}fsdp2",
        f"{MAIN}{INNER}fsdp",
        f"{MAIN}{INNER}fsdp2 trainer.use_legacy_worker_impl=disable",
        f"python3 -m recipe.mine.main {INNER}fsdp2 actor_rollout_ref.rollout.n=8",
    ],
)
def test_strategies_that_agree_or_are_not_known(command: str) -> None:
    assert not findings(strategy_overwritten, launched(command))


@pytest.mark.parametrize(
    ("versions", "found"),
    [
        ({"verl": "0.4.1", "torch": "2.6.0"}, ["warning"]),
        ({"verl": "0.4.1", "torch": "2.7.0"}, []),
        ({"verl": "0.5.0", "torch": "2.6.0"}, []),
        ({"torch": "2.6.0"}, []),
    ],
)
def test_loading_under_torch_2_6(versions: dict[str, str], found: list[str]) -> None:
    assert severities(old_fsdp2, launched(f"{MAIN}{OUTER}fsdp2", **versions)) == found


@pytest.mark.parametrize(("version", "found"), [("0.8.0", ["note"]), ("0.9.0", []), ("0.4.1", [])])
def test_offloaded_export_on_several_nodes(version: str, found: list[str]) -> None:
    assert severities(old_fsdp2, launched(f"{MAIN}{OUTER}fsdp2 {OFFLOAD}", verl=version)) == found
    assert not findings(old_fsdp2, launched(f"{MAIN}{OUTER}fsdp {OFFLOAD}", verl=version))
    assert not findings(old_fsdp2, launched(f"{MAIN}{OUTER}fsdp2", verl=version))


@pytest.mark.parametrize(("versions", "found"), [({"verl": "0.7.1"}, []), ({"verl": "0.8.0"}, ["warning"]), ({}, [])])
@pytest.mark.parametrize("start", [FULLY_ASYNC, ONE_STEP_OFF])
def test_asynchronous_trainers_read_the_inner_key_before_0_8_0(
    start: str, versions: dict[str, str], found: list[str]
) -> None:
    assert severities(strategy_overwritten, launched(f"{start}{INNER}fsdp2", **versions)) == found
