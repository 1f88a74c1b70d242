"""DO07, NOT07, NOT08: advantage estimators, their group size, and the critic."""

from __future__ import annotations

from grpo_lint.diagnostics import ERROR, NOTE, WARNING
from grpo_lint.frameworks import verl
from grpo_lint.rules.avoidance.verl_run import is_verl, launched, own_group_size, own_trainer, trains
from grpo_lint.rules.rule import Finding, rule
from grpo_lint.unified import Setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.rules.rule import Rule
    from grpo_lint.runconfig import RunConfig

RAW = "the advantage is the raw reward, without a baseline"
WHITENED = "its baseline is 0: what is left is the reward, whitened over the batch as reinforce_plus_plus does"
ZERO = "the advantage is always 0, and nothing is learned"
REFUSED = "{framework} refuses to start"
ALONE = "there is nothing to compare it with"

GROUP_RELATIVE: dict[str, dict[str, str]] = {
    # framework: estimator: what becomes of a group of one
    "verl": {
        "grpo": RAW,
        "grpo_vectorized": RAW,
        "gdpo": RAW,
        "rloo": RAW,
        "opo": RAW,
        "gpg": RAW,
        "reinforce_plus_plus_baseline": WHITENED,
        "optimal_token_baseline": RAW,
        "tir_optimal_token_baseline": RAW,
        "rloo_vectorized": ZERO,
        "grpo_passk": "verl raises ValueError at the first step",
    },
    "rllm": {"grpo": RAW, "rloo": RAW},
    "openrlhf": {
        "rloo": REFUSED,
        "reinforce_baseline": REFUSED,
        "group_norm": REFUSED,
        "grpo": REFUSED,
        "dr_grpo": "the advantage is always 0, or {framework} refuses to start",
    },
    "megatron": {"grpo": ZERO},
    "slime": {"grpo": ZERO, "gspo": ZERO, "reinforce_plus_plus_baseline": ZERO},
    "trl": {"grpo": REFUSED, "rloo": REFUSED},
    "ms_swift": {"grpo": REFUSED, "rloo": REFUSED, "reinforce_plus_plus": REFUSED},
    "unified": dict.fromkeys(
        ("grpo", "grpo_passk", "gspo", "dr_grpo", "gdpo", "rloo", "opo", "gpg", "reinforce_plus_plus_baseline"), ALONE
    ),
}


def _group(run: RunConfig) -> tuple[Setting, Setting, str] | None:
    """(group size, estimator, what a group of one comes to) of a run that compares responses; else None.

    A size that nobody wrote counts only where a trainer of verl is started, whose tree says it.
    """
    size, estimator = run.group_size, run.algorithm
    outcome = GROUP_RELATIVE.get(run.framework, {}).get(str(estimator.value)) if estimator.known else None
    if outcome is None or type(size.value) is not int or not _compares(run, size, estimator):
        return None
    return size, estimator, outcome.format(framework=run.framework)


def _compares(run: RunConfig, size: Setting, estimator: Setting) -> bool:
    if is_verl(run):
        if run.command and not own_trainer(run):
            return False
        said = size.explicit or (launched(run) and estimator.explicit)
        return said and trains(run) and not own_group_size(run)
    if not size.explicit:
        return False
    if run.framework == "slime":
        return _slime_compares(run)
    if run.framework == "openrlhf":
        return run.option("openrlhf", "--eval.eval_only").value is not True
    if run.framework == "ms_swift":
        return _has_no_teacher(run)
    return True


def _has_no_teacher(run: RunConfig) -> bool:
    """ms-swift refuses one generation except where a teacher's distillation needs no group (4.6.0, rlhf_args.py)."""
    names = (f"{prefix}{name}" for prefix in ("--", "") for name in ("teacher_model", "teacher_model_server"))
    return all(setting.decided and setting.value is None for setting in (run.option("ms_swift", n) for n in names))


def _slime_compares(run: RunConfig) -> bool:
    """slime also runs supervised training and distillation, and can leave rewards as they are."""
    loss = run.option("slime", "--loss-type")
    switches = ("--disable-rewards-normalization", "--use-opd", "--debug-rollout-only")
    return loss.value in (None, "policy_loss") and not any(
        not setting.decided or setting.value not in (None, False)
        for setting in (
            *(run.option("slime", name) for name in switches),
            run.option("slime", "--custom-reward-post-process-path"),
        )
    )


def _said(setting: Setting, framework: str) -> str:
    """`key is value`, and who says so when nobody wrote it."""
    if setting.explicit or setting.origin is None:
        return f"{setting.key} is {setting.value}"
    source = setting.origin.note or f"default of {framework}"
    return f"{setting.key} is {setting.value} ({source})"


@rule(
    "DO07",
    "group-size-4",
    severity=NOTE,
    evidence="conditional",
    needs=("group_size", "algorithm"),
    topics=("grpo", "singleton"),
    twin="NOT07",
)
def group_size_4(run: RunConfig) -> Iterator[Finding]:
    """A group of two or three responses gives a group-relative estimator a very noisy baseline.

    ## What it does
    Reports a group size of 2 or 3 where the advantage of a response is its reward compared with the other responses to
    the same prompt. A size of 1 is reported by NOT07.

    ## Why it matters
    With two responses and normalisation by the standard deviation, an advantage can only be +0.71, -0.71 or 0: how much
    better a response is makes no difference. With binary rewards, a prompt that is solved nine times in ten gives two
    equal rewards, and so no gradient, in 82 % of the cases (p^n + (1-p)^n). No framework demands 4; TRL refuses less
    than 2, and 4 to 16 are usual in public recipes.

    ## Example
    ```sh
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=2
    ```

    ## Use instead
    ```sh
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8
    ```
    It multiplies the responses of a step; `data.train_batch_size` counts prompts.

    ## When it does not apply
    Smoke tests, and runs where many rollouts are simply too expensive. `gae`, `reinforce_plus_plus` and `remax` compare
    nothing inside a group.

    ## Sources
    - verl 0.9.1, `trainer/ppo/core_algos.py`: `compute_grpo_outcome_advantage` divides by torch's unbiased deviation.
      `actor_rollout_ref.rollout.n`, default 1.
    - TRL 1.16.0, `trainer/grpo_config.py`: `num_generations`, default 8, at least 2.
    - OpenRLHF 0.11.2 `--rollout.n_samples_per_prompt` (1), slime 0.3.1 `--n-samples-per-prompt` (1), rLLM
      `rllm.rollout.n` (8).
    """
    found = _group(run)
    if found is None or found[0].value not in (2, 3):
        return
    size, estimator, _ = found
    yield Finding(
        f"{_said(size, run.framework)}: {estimator.value} compares each response with only {size.value - 1} other"
        + ("s" if size.value > 2 else ""),
        size,
        label="the group size",
        others=[(estimator, "this estimator compares the responses to one prompt")],
        help="raise the group size to 4 or more, unless rollouts are too expensive",
    )


@rule(
    "NOT07",
    "group-size-1",
    severity=ERROR,
    evidence="solid",
    needs=("group_size", "algorithm"),
    topics=("grpo", "singleton"),
    twin="DO07",
)
def group_size_1(run: RunConfig) -> Iterator[Finding]:
    """A group-relative estimator has nothing to compare a single response with.

    ## What it does
    Reports a group size of 1, also where it is only the framework's default, with an estimator that takes its baseline
    from the other responses to the same prompt.

    ## Why it matters
    The run starts and looks healthy. verl sets the mean of a group of one to 0 and its deviation to 1, so that `grpo`,
    `rloo`, `opo` and `gpg` train on the raw reward, which is REINFORCE without a baseline;
    `reinforce_plus_plus_baseline` is left with the whitening over the batch, as in `reinforce_plus_plus` (a warning);
    `rloo_vectorized` gives an advantage of exactly 0 and learns nothing; `grpo_passk` raises. slime subtracts the
    group's mean, the reward itself: 0. OpenRLHF and TRL refuse to start.

    ## Example
    ```sh
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        data.train_batch_size=1024
    ```
    Nothing sets `actor_rollout_ref.rollout.n`, whose default in verl is 1.

    ## Use instead
    ```sh
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        data.train_batch_size=256
    ```
    or, for one response a prompt on purpose, an estimator with another baseline: `remax`, `reinforce_plus_plus`, `gae`.

    ## When it does not apply
    On-policy distillation (`distillation.enabled=true`), where the teacher gives the signal; runs that only validate
    (`trainer.val_only=true`); `val_kwargs.n`; forks that keep the group size in a key of their own (`rollout.n_agent`);
    recipes with a trainer of their own, some of which need no group (SPO keeps a baseline per prompt). A YAML file
    alone is judged only by what it says itself, since a command line may complete it.

    ## Sources
    - verl 0.9.1, `trainer/ppo/core_algos.py` (every estimator read; 0.5.0 to 0.9.0 agree on those they have);
      `trainer/config/rollout/rollout.yaml`: `n: 1`. volcengine/verl#7581 and #7794: `rloo_vectorized` zeroes groups of
      one. The fully-async and one-step-off trainers read `actor_rollout_ref.rollout.n` too, not the `rollout.n` of
      their own section.
    - TRL 1.16.0, `trainer/grpo_config.py`: ValueError below 2. Default 8.
    - OpenRLHF main (2026-08), `cli/train_ppo_ray.py`: asserts `n_samples_per_prompt > 1` for rloo, reinforce_baseline
      and group_norm (named grpo later); OpenRLHF#1250 for dr_grpo. Default 1.
    - Megatron-LM main (2026-08), `rl/rl_utils.py`: `calculate_grpo_advantages` divides 0 by 1e-4.
      `--grpo-group-size`, default 2.
    - slime main (2026-08), `ray/rollout.py`: `_post_process_rewards`. Default 1.
    - rLLM main (2026-08), `trainer/algorithms/rl_algo.py`: a single reward is left as it is, by grpo and rloo. Default
      8.
    """
    found = _group(run)
    if found is None or found[0].value != 1:
        return
    size, estimator, outcome = found
    elsewhere = run.option(verl.NAME, "rollout.n") if is_verl(run) and not size.explicit else None
    others = [(estimator, "this estimator compares the responses to one prompt")]
    if elsewhere is not None and elsewhere.explicit:
        others.append((elsewhere, "the rollout pool's own section; advantages don't read it"))
    yield Finding(
        f"{_said(size, run.framework)} with the estimator {estimator.value}: in a group of one {outcome}"
        " (DO07 says the same)",
        size,
        label="a group of one response",
        others=others,
        help=f"set {size.key} to 4 or more, or choose an estimator that needs no group",
        severity=WARNING if outcome == WHITENED else None,
    )


@rule(
    "NOT08",
    "critic-on-24gb",
    severity=WARNING,
    evidence="refuted",
    needs=("group_size", "algorithm", "critic_enable"),
    topics=("grpo", "memory"),
    frameworks=("verl", "openrlhf"),
)
def critic_by_default(run: RunConfig) -> Iterator[Finding]:
    """Several responses a prompt, but the estimator is left at gae, which trains a critic and compares no group.

    ## What it does
    Reports a launch of verl's or OpenRLHF's trainer that asks for more than one response a prompt, names no advantage
    estimator, and configures no critic.

    ## Why it matters
    The default estimator of both is `gae`. It is PPO: a critic as large as its model is built, loaded and trained
    beside the policy, and the responses to one prompt are never compared. Whoever sets a group size and nothing about
    a critic has most likely meant `grpo`. Clipping, which the source document blames, costs no memory.

    ## Example
    ```sh
    python3 -m verl.trainer.main_ppo \\
        actor_rollout_ref.rollout.n=8 \\
        actor_rollout_ref.actor.use_kl_loss=True
    ```

    ## Use instead
    ```sh
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        actor_rollout_ref.actor.use_kl_loss=True
    ```
    or, if PPO is meant, say it: `algorithm.adv_estimator=gae`.

    ## When it does not apply
    PPO with several responses a prompt is legitimate: an estimator that is written down is never reported, nor a run
    that sets anything under `critic.`.

    ## Sources
    - verl 0.9.1, `trainer/config/ppo_trainer.yaml`: `adv_estimator: gae`; `trainer/ppo/utils.py`: `need_critic` is
      true for gae unless `critic.enable` says otherwise. 0.5.0 to 0.9.0 have the same default.
    - OpenRLHF 0.11.2, `cli/train_ppo_ray.py`: `--algo.advantage.estimator` gae; the critic then starts from the reward
      model, or from the actor. 0.6.4 to 0.9.10: `--advantage_estimator`, with the same default.
    """
    yield from _openrlhf_critic(run)
    size, estimator = run.group_size, run.algorithm
    if not launched(run) or not trains(run) or run.critic_enable.explicit:
        return
    if estimator.explicit or estimator.value != "gae" or not size.explicit:
        return
    if type(size.value) is not int or size.value < 2:
        return
    if any(key.startswith("critic.") for _, key, _ in run.options.written(verl.NAME)):
        return
    yield Finding(
        f"{size.key} is {size.value}, but nothing sets algorithm.adv_estimator: verl's default, gae, compares no group"
        " and trains a critic",
        size,
        label="a group that no estimator uses",
        others=[(estimator, "the estimator")],
        help="set algorithm.adv_estimator=grpo, or write gae down if PPO is meant",
    )


def _openrlhf_critic(run: RunConfig) -> Iterator[Finding]:
    size, estimator = run.group_size, run.algorithm
    if run.framework != "openrlhf" or not run.complete or estimator.explicit or estimator.value not in ("gae", None):
        return
    if not estimator.decided or not size.explicit or type(size.value) is not int or size.value < 2:
        return
    written = [key for _, key, _ in run.options.written("openrlhf")]
    if any("critic" in key for key in written) or run.option("openrlhf", "--eval.eval_only").value is True:
        return
    yield Finding(
        f"{size.key} is {size.value}, but nothing sets the advantage estimator: OpenRLHF's default, gae, compares no"
        " group and trains a critic",
        size,
        label="a group that no estimator uses",
        help="set --algo.advantage.estimator (before 0.10: --advantage_estimator) to group_norm, which is GRPO, or to"
        " gae if PPO is meant",
    )


RULES: tuple[Rule, ...] = (group_size_4, group_size_1, critic_by_default)
