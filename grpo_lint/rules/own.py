"""What the linter says of comments that are addressed to it."""

from __future__ import annotations

from grpo_lint.diagnostics import WARNING
from grpo_lint.rules.rule import reported, text_rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.located import Problem
    from grpo_lint.rules.rule import Finding


@text_rule("LNT01", "unused-suppression", severity=WARNING, kinds=("unused-suppression",), topics=("suppression",))
def unused_suppression(problem: Problem) -> Iterator[Finding]:
    """A comment suppresses a finding that isn't there.

    ## What it does
    Reports `grpo-lint: ignore[...]` comments, and rules in them, that no finding needs. The fix removes what is idle.

    ## Why it matters
    It would hide the fault, without a word, on the day that the fault comes back.

    ## Example
    ```bash
    # grpo-lint: ignore[NOT07] a group of one for the smoke test
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8
    ```

    ## Use instead
    ```bash
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8
    ```

    ## Fix
    Safe: removes the comment, its line where nothing else is on it, or from its list the rules that suppress nothing.

    ## When it does not apply
    Rules that are switched off, or that could not judge the file because a value isn't known. A config file may owe its
    findings to a script elsewhere: its comments are reported only when the whole repository is linted.

    ## Sources
    The linter's own: docs/suppression.md.
    """
    yield reported(problem)


@text_rule(
    "LNT02",
    "suppression-without-reason",
    severity=WARNING,
    kinds=("suppression-without-reason",),
    topics=("suppression",),
)
def suppression_without_reason(problem: Problem) -> Iterator[Finding]:
    """A comment suppresses a finding and doesn't say why.

    ## What it does
    With `require-reason`, reports `grpo-lint: ignore[...]` comments that end at the bracket.

    ## Why it matters
    Who reads the script next can't tell whether the finding was judged or only silenced.

    ## Example
    With `--require-reason`:

    ```bash
    python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=1  # grpo-lint: ignore[NOT07]
    ```

    ## Use instead
    ```bash
    python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=1  # grpo-lint: ignore[NOT07] smoke test, nothing is learnt
    ```

    ## When it does not apply
    Unless the settings or `--require-reason` ask for it.

    ## Sources
    The linter's own: docs/suppression.md.
    """
    yield reported(problem)


@text_rule(
    "LNT03", "unknown-suppressed-rule", severity=WARNING, kinds=("unknown-suppressed-rule",), topics=("suppression",)
)
def unknown_suppressed_rule(problem: Problem) -> Iterator[Finding]:
    """A comment names a rule that doesn't exist.

    ## What it does
    Reports each name in a `grpo-lint: ignore[...]` comment that is no id, name, prefix or topic of a rule.

    ## Why it matters
    The comment suppresses nothing, though whoever wrote it thinks so.

    ## Example
    ```bash
    # grpo-lint: ignore[group-size-one] smoke test
    python3 -m verl.trainer.main_ppo algorithm.adv_estimator=gae
    ```

    ## Use instead
    ```bash
    # grpo-lint: ignore[group-size-1] smoke test
    python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=1
    ```

    ## Fix
    Unsafe: writes the nearest name. A finding that counted is suppressed then.

    ## When it does not apply
    Names are read without regard to case.

    ## Sources
    The linter's own: docs/suppression.md.
    """
    yield reported(problem)


@text_rule(
    "LNT04", "unreadable-suppression", severity=WARNING, kinds=("unreadable-suppression",), topics=("suppression",)
)
def unreadable_suppression(problem: Problem) -> Iterator[Finding]:
    """A comment is meant to suppress something, and can't be read.

    ## What it does
    Reports comments that start with `grpo-lint:` and go on like an instruction, but are none: no rule in brackets, or
    another linter's words.

    ## Why it matters
    The comment suppresses nothing, though whoever wrote it thinks so.

    ## Example
    ```bash
    # grpo-lint: disable=NOT07
    python3 -m verl.trainer.main_ppo algorithm.adv_estimator=gae
    ```

    ## Use instead
    ```bash
    # grpo-lint: ignore[NOT07] smoke test
    python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=1
    ```

    ## Fix
    Unsafe, where the rules that are meant are plain: writes `ignore[NOT07]` for `disable=NOT07`. A finding that counted
    is suppressed then.

    ## When it does not apply
    Prose about the linter: `# grpo-lint: see the settings`.

    ## Sources
    The linter's own: docs/suppression.md.
    """
    yield reported(problem)


RULES = (unused_suppression, suppression_without_reason, unknown_suppressed_rule, unreadable_suppression)
