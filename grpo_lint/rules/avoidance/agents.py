"""DO04, DO18: what rLLM's agent trainers compare, and what they learn from the environment's answers."""

from __future__ import annotations

from grpo_lint.diagnostics import NOTE, WARNING
from grpo_lint.frameworks import verl
from grpo_lint.rules.avoidance.estimator import GROUP_RELATIVE
from grpo_lint.rules.rule import Finding, rule
from grpo_lint.unified import UNSET, Setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Rule
    from grpo_lint.runconfig import RunConfig

FRAMEWORKS = ("rllm", verl.NAME)
"""rLLM's command lines are verl's with a section of its own; either name may hold its options."""

USE_WORKFLOW = "rllm.workflow.use_workflow"
STEPWISE = "rllm.stepwise_advantage"
ENV_LOSS = "rllm.algorithm.env_loss_coef"
PRODUCTIVE = (0.01, 0.05)
"""The range of the loss's weight that its authors call productive."""


def _option(run: RunConfig, key: str) -> Setting:
    """An option of rLLM's own section."""
    return next((setting for name in FRAMEWORKS if not (setting := run.option(name, key)).unset), UNSET)


def _is_unified(run: RunConfig) -> bool:
    """Whether the newer trainer is started, which groups by itself: it chooses a backend, or rLLM's own advantages."""
    return any(
        key in ("rllm/backend", "backend") or key.startswith(("rllm.algorithm.", "rllm.rollout.", "rllm.data."))
        for name in FRAMEWORKS
        for _, key, _ in run.options.written(name)
    )


@rule(
    "DO04",
    "group-by-prompt",
    severity=WARNING,
    evidence="refuted",
    needs=("algorithm", "group_size"),
    topics=("grpo", "singleton"),
    frameworks=FRAMEWORKS,
    mentions=("rllm.",),
)
def group_by_trajectory(run: RunConfig) -> Iterator[Finding]:
    """rLLM's older workflow trainer puts each trajectory into a group of its own, whatever the group size is.

    ## What it does
    Warns of `rllm.workflow.use_workflow=True` with a group-relative estimator, unless stepwise advantages are computed
    `per_step`. A note where the release isn't known.

    ## Why it matters
    The trainer hands verl the id of a trajectory as the id of its group. The responses to one prompt then stand in as
    many groups of one, verl takes 0 as the mean of each, and the advantage is the raw reward: REINFORCE without a
    baseline, at the price of `rollout.n` responses. No framework has a key `group_by_prompt`; verl, TRL, OpenRLHF and
    slime group by prompt for every group-relative estimator.

    ## Example
    With rLLM 0.3, which runs on verl 0.7.1 (`--target verl=0.7.1`):

    ```sh
    python3 -m examples.countdown.train_countdown \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        rllm.workflow.use_workflow=True
    ```

    ## Use instead
    rLLM's unified trainer, which groups by task and role:

    ```sh
    python3 -m examples.countdown.train_countdown_unified \\
        rllm/backend=verl \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8
    ```

    ## When it does not apply
    Distillation (`rllm.distill.enable=True`), where a teacher gives the signal; rLLM 0.2 (verl 0.6.1 and older), whose
    ids of trajectories are shared by the rollouts of a task; rLLM's unified trainer (`rllm/backend`,
    `rllm.algorithm.*`). A fork that has one of the proposed fixes is not recognised.

    ## Sources
    - rllm-org/rllm#605 (open in September 2026); #776 (closed) and #924 (open) are proposals to fix it. #667, which the
      source document names, is a rejected change of another file.
    - rLLM v0.2.1 (`engine/agent_workflow_engine.py`: `step_ids` is the trajectory's id, made of task and role),
      v0.3.0-pre and main of 2026-08-15 (`trainer/verl/agent_workflow_trainer.py`: `uid = step_ids`;
      `trainer/verl/transform.py`: `step_id=trajectory.uid`). `rllm.workflow.use_workflow`: default false;
      `rllm.stepwise_advantage.enable`: false, `.mode`: broadcast.
    - verl 0.7.1, `trainer/ppo/core_algos.py`: `compute_grpo_outcome_advantage`.
    """
    workflow, estimator = _option(run, USE_WORKFLOW), run.algorithm
    if workflow.value is not True or estimator.value not in GROUP_RELATIVE[verl.NAME] or _is_unified(run):
        return
    distilled = _option(run, "rllm.distill.enable")
    if not distilled.decided or distilled.value is True:
        return
    stepwise, mode = _option(run, f"{STEPWISE}.enable"), _option(run, f"{STEPWISE}.mode")
    if not stepwise.decided or not mode.decided or (stepwise.value is True and mode.value == "per_step"):
        return
    old = run.before(verl.NAME, "0.7.1")
    size = run.group_size.value
    if old or type(size) is not int or size < 2:
        return  # a group of one is NOT07's
    since = "" if old is False else " from rLLM 0.3 on"
    yield Finding(
        f"{USE_WORKFLOW} is true with {estimator.value}: this trainer groups by trajectory{since}, so each of the"
        f" {size} responses to a prompt is a group of one and keeps its raw reward (rLLM #605)",
        workflow,
        label="starts the older workflow trainer",
        others=[(estimator, "compares the responses of a group"), (run.group_size, f"{size} responses a prompt")],
        help="use rLLM's unified trainer, which groups by task",
        severity=WARNING if old is False else NOTE,
    )


@rule(
    "DO18",
    "echo-auxiliary-loss",
    severity=WARNING,
    evidence="contested",
    topics=("agents",),
    frameworks=FRAMEWORKS,
    mentions=("rllm.",),
)
def echo_weight(run: RunConfig) -> Iterator[Finding]:
    """The weight of the ECHO loss has a narrow range in which it helps.

    ## What it does
    Warns of `rllm.algorithm.env_loss_coef` outside of 0.01 to 0.05. A weight of 0 switches the loss off.

    ## Why it matters
    ECHO adds a cross-entropy loss on what tools and environments answer, tokens that GRPO masks out. They are many, and
    long: above the range the model learns to imitate its terminal rather than to solve the task; far below, the loss
    does nothing. It changes the objective, so it is a choice, not a safety measure.

    ## Example
    ```sh
    python3 train.py \\
        rllm/backend=verl \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        rllm.algorithm.env_loss_coef=0.5
    ```

    ## Use instead
    ```sh
    python3 train.py \\
        rllm/backend=verl \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        rllm.algorithm.env_loss_coef=0.05
    ```

    ## When it does not apply
    Single-turn training has no such tokens. No rule asks for the loss outside of the profile rtx4090.

    ## Sources
    - rllm-org/rllm#668 (marked as merged in June 2026; the key is in no release and not in main of 2026-08-15):
      default 0.05, "productive range 0.01-0.05", 0.0 is plain GRPO. arXiv:2605.24517.
    - PrimeIntellect-ai/prime-rl#2782 has the method under other keys, with 0.1 as its preset for tools' answers.
    """
    weight = _option(run, ENV_LOSS)
    if not weight.explicit or type(weight.value) not in (int, float) or weight.value == 0:
        return
    low, high = PRODUCTIVE
    if not low <= weight.value <= high:
        effect = "imitates its environment" if weight.value > high else "hardly sees the environment's tokens"
        yield Finding(
            f"{ENV_LOSS} is {weight.value}, outside of the range {low} to {high} in which ECHO helps: the model"
            f" {effect}",
            weight,
            help=f"set it to a value between {low} and {high}, or to 0 to switch it off",
        )


RULES: tuple[Rule, ...] = (group_by_trajectory, echo_weight)
