import pytest
from verl_runs import FULLY_ASYNC, MAIN, document, findings, launched, marked, severities

from grpo_lint.rules.avoidance.estimator import GROUP_RELATIVE, RAW, ZERO, critic_by_default, group_size_1, group_size_4
from grpo_lint.runconfig import Options, RunConfig
from grpo_lint.source import SourceFile
from grpo_lint.unified import Origin, known

GRPO = MAIN + "algorithm.adv_estimator=grpo "
N = "actor_rollout_ref.rollout.n="


def other_framework(framework: str, size: int, estimator: str, **options: object) -> RunConfig:
    """A run of a framework whose reader isn't needed here: the two fields, as if both were written down."""
    span = SourceFile("run.sh", f"{size}").span(0, 1)
    run = RunConfig(framework, Options(), span)
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        run.options.put(framework, flag, known(value, Origin("override", span, key=flag)))
    run.fields["group_size"] = known(size, Origin("override", span, key="--size"))
    run.fields["algorithm"] = known(estimator, Origin("default", None, key="--estimator"))
    return run


@pytest.mark.parametrize("estimator", sorted(GROUP_RELATIVE["verl"]))
def test_group_of_one(estimator: str) -> None:
    (finding,) = findings(group_size_1, launched(f"{MAIN}algorithm.adv_estimator={estimator} {N}1"))
    assert marked(finding) == "1"
    assert GROUP_RELATIVE["verl"][estimator] in finding.message


@pytest.mark.parametrize("estimator", ["gae", "remax", "reinforce_plus_plus", "a_fork_of_grpo"])
def test_estimators_that_need_no_group(estimator: str) -> None:
    assert not findings(group_size_1, launched(f"{MAIN}algorithm.adv_estimator={estimator} {N}1"))


def test_default_size_is_one() -> None:
    (finding,) = findings(group_size_1, launched(GRPO + "data.train_batch_size=1024"))
    assert marked(finding) == ""
    assert "actor_rollout_ref.rollout.n is 1 (default of verl" in finding.message
    assert finding.others[0][0].span.text == "grpo"


@pytest.mark.parametrize(
    "command",
    [
        GRPO + f"{N}8",
        GRPO + f"{N}1 actor_rollout_ref.rollout.n_agent=5",
        GRPO + "+actor_rollout_ref.rollout.n_agent=5",
        GRPO + "+data.num_generations=8",
        GRPO + f"{N}1 distillation.enabled=True",
        GRPO + f"{N}1 trainer.val_only=True",
        f"python3 -m recipe.spo.spo_main_ppo algorithm.adv_estimator=grpo {N}1",
        "python3 -m recipe.async_flow.grpo_main algorithm.adv_estimator=grpo actor_rollout_ref.rollout.name=vllm",
        MAIN + "--config-path=conf --config-name=mine algorithm.adv_estimator=grpo",
    ],
)
def test_group_size_is_elsewhere_or_does_not_matter(command: str) -> None:
    assert not findings(group_size_1, launched(command))


@pytest.mark.parametrize("command", [f"{GRPO}{N}$1", f"{MAIN}algorithm.adv_estimator=$1 {N}1"])
def test_what_only_the_caller_knows(command: str) -> None:
    run = launched(command, dynamic="$1")
    assert not findings(group_size_1, run)
    assert not findings(group_size_4, run)
    assert not findings(critic_by_default, run)


@pytest.mark.parametrize("key", ["actor_rollout_ref.rollout.val_kwargs.n=1", "actor_rollout_ref.actor.rollout_n=8"])
def test_validation_and_the_mirror_are_no_group_size(key: str) -> None:
    assert severities(group_size_1, launched(GRPO + key)) == ["error"]


def test_rollout_section_of_the_asynchronous_trainers_is_not_read() -> None:
    run = launched(FULLY_ASYNC + "algorithm.adv_estimator=grpo rollout.nnodes=1 actor_rollout_ref.rollout.n=1")
    assert severities(group_size_1, run) == ["error"]


def test_yaml_alone_is_judged_by_what_it_says() -> None:
    tree = "algorithm:\n  adv_estimator: {}\nactor_rollout_ref:\n  rollout:\n    {}\n  model:\n    path: x\n"
    assert severities(group_size_1, document(tree.format("grpo", "n: 1"))) == ["error"]
    assert not findings(group_size_1, document(tree.format("grpo", "name: vllm")))
    assert not findings(group_size_1, document(tree.format("gae", "n: 1")))
    assert not findings(critic_by_default, document(tree.format("gae", "n: 8")))


@pytest.mark.parametrize(("size", "found"), [(1, 0), (2, 1), (3, 1), (4, 0), (8, 0)])
def test_small_groups(size: int, found: int) -> None:
    assert severities(group_size_4, launched(f"{GRPO}{N}{size}")) == ["note"] * found


@pytest.mark.parametrize(
    ("framework", "estimator", "outcome"),
    [
        ("openrlhf", "rloo", "openrlhf refuses to start"),
        ("openrlhf", "dr_grpo", "the advantage is always 0, or openrlhf refuses to start"),
        ("slime", "grpo", ZERO),
        ("trl", "grpo", "trl refuses to start"),
        ("rllm", "grpo", RAW),
    ],
)
def test_other_frameworks(framework: str, estimator: str, outcome: str) -> None:
    (finding,) = findings(group_size_1, other_framework(framework, 1, estimator))
    assert outcome in finding.message
    assert not findings(group_size_1, other_framework(framework, 8, estimator))


@pytest.mark.parametrize(
    "options", [{"loss_type": "sft_loss"}, {"use_opd": True}, {"disable_rewards_normalization": True}]
)
def test_slime_without_group_normalisation(options: dict[str, object]) -> None:
    assert not findings(group_size_1, other_framework("slime", 1, "grpo", **options))


def test_critic_that_nobody_asked_for() -> None:
    (finding,) = findings(critic_by_default, launched(f"{MAIN}{N}8 data.train_batch_size=64"))
    assert finding.at.key == "actor_rollout_ref.rollout.n"
    assert marked(finding) == "8"


@pytest.mark.parametrize(
    "command",
    [
        f"{MAIN}{N}8 algorithm.adv_estimator=gae",
        f"{GRPO}{N}8",
        f"{MAIN}{N}1",
        f"{MAIN}{N}8 critic.optim.lr=1e-5",
        f"{MAIN}{N}8 critic.enable=False",
        f"{MAIN}{N}8 distillation.enabled=True",
        f"python3 -m verl.trainer.main_generation_server actor_rollout_ref.model.path=x {N}8",
        f"python3 -m recipe.dapo.main_dapo actor_rollout_ref.model.path=x {N}8",
    ],
)
def test_critic_that_is_meant(command: str) -> None:
    assert not findings(critic_by_default, launched(command))
