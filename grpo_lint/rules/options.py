"""Options that the framework's tree doesn't have, and overrides that Hydra refuses before the run starts."""

from __future__ import annotations

from grpo_lint.diagnostics import ERROR
from grpo_lint.rules.rule import reported, text_rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.located import Problem
    from grpo_lint.rules.rule import Finding


@text_rule("OPT01", "unknown-option", severity=ERROR, kinds=("hydra-no-option", "hydra-no-group"), topics=("hydra",))
def unknown_option(problem: Problem) -> Iterator[Finding]:
    """An override sets an option that the config tree doesn't have.

    ## What it does
    Composes the tree that the launch starts from, and reports an override without `+` whose option isn't there:
    misspelt, moved, removed from this release, or of another engine. Only where the whole tree is known.

    ## Why it matters
    Hydra refuses the launch ("Key ... is not in struct"), after the job has been scheduled.

    ## Example
    ```bash
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.nn=8
    ```

    ## Use instead
    The option's name in the release that runs. `+` adds an option that the tree doesn't have, which only helps if
    something reads it.

    ## Fix
    Writes the option that was meant, if the script sets it nowhere: safe for a slip of the pen in a name of the same
    section, since Hydra starts nothing with it; unsafe for the one option of that name in another section.

    ## When it does not apply
    Open dictionaries, options that `+` adds, and trees of which a part isn't at hand.

    ## Sources
    hydra-core 1.3.2 (`_internal/config_loader_impl.py`), omegaconf 2.3.1 (struct mode). verl's own
    `examples/router_replay/run_qwen3_30b_a3b_megatron.sh` sets `actor_rollout_ref.actor.model_engine`.
    """
    yield reported(problem, "not in the tree")


@text_rule("OPT02", "plus-on-existing-option", severity=ERROR, kinds=("hydra-exists",), topics=("hydra",))
def plus_on_existing_option(problem: Problem) -> Iterator[Finding]:
    """`+` adds an option that the config tree has already.

    ## What it does
    Reports `+key=value` where the tree that the launch starts from has the key.

    ## Why it matters
    Hydra refuses the launch ("Could not append to config. An item is already at ..."). It often follows an upgrade: the
    option was new in one release and is part of the tree in the next.

    ## Example
    ```bash
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        +actor_rollout_ref.rollout.n=8
    ```

    ## Use instead
    ```bash
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8
    ```

    ## Fix
    Safe: removes the `+`. Hydra starts nothing with it.

    ## When it does not apply
    `++`, which adds or overrides.

    ## Sources
    hydra-core 1.3.2 (`_internal/config_loader_impl.py`). Skywork-OR1's fork of verl passes
    `+trainer.val_before_train=False` to a tree that has it.
    """
    yield reported(problem, help="remove the +")


@text_rule("OPT03", "deletion-of-missing-option", severity=ERROR, kinds=("hydra-no-deletion",), topics=("hydra",))
def deletion_of_missing_option(problem: Problem) -> Iterator[Finding]:
    """`~` deletes an option that the config tree doesn't have.

    ## What it does
    Reports `~key` and `~key=value` where the tree has no such key, or another value.

    ## Why it matters
    Hydra refuses the launch ("Could not delete from config").

    ## Example
    ```bash
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        ~actor_rollout_ref.rollout.nn
    ```

    ## Use instead
    Leave it out.

    ## Fix
    Unsafe: removes the argument. It may be a slip of the pen for an option that should go.

    ## When it does not apply
    Trees of which a part isn't at hand.

    ## Sources
    hydra-core 1.3.2 (`_internal/config_loader_impl.py`).
    """
    yield reported(problem)


@text_rule("OPT04", "unknown-choice", severity=ERROR, kinds=("hydra-no-choice", "hydra-value"), topics=("hydra",))
def unknown_choice(problem: Problem) -> Iterator[Finding]:
    """A config group is given a choice that it doesn't have, or a value that can't stand there.

    ## What it does
    Reports `group=choice` where no config of that name is in the group, and values that meet a node of another kind,
    such as a list where the tree has a mapping.

    ## Why it matters
    Hydra refuses the launch ("Could not find ..."; "Could not override ...").

    ## Example
    With verl 0.9.1 (`--target verl=0.9.1`):

    ```bash
    python3 -m verl.trainer.main_ppo \\
        model_engine=fsdp \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8
    ```

    ## Use instead
    One of the group's choices, which the message lists.

    ## Fix
    Safe, where the choice is a slip of the pen for one of them: Hydra starts nothing with it.

    ## When it does not apply
    Groups of which a part isn't at hand.

    ## Sources
    hydra-core 1.3.2 (`_internal/defaults_list.py`), omegaconf 2.3.1 (`basecontainer.py`).
    """
    yield reported(problem)


@text_rule("OPT05", "sweep-without-multirun", severity=ERROR, kinds=("hydra-sweep",), topics=("hydra",))
def sweep_without_multirun(problem: Problem) -> Iterator[Finding]:
    """Commas make an override a sweep, which a plain run refuses.

    ## What it does
    Reports `key=a,b` and the sweep functions in a launch without `--multirun`.

    ## Why it matters
    Hydra refuses the launch ("Ambiguous value for argument"). A list was usually meant.

    ## Example
    With verl 0.9.1 (`--target verl=0.9.1`):

    ```bash
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        trainer.logger=console,wandb
    ```

    ## Use instead
    ```bash
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        trainer.logger=[console,wandb]
    ```

    ## Fix
    Writes `[a,b]` for `a,b`, in quotes where the shell might take the brackets for a pattern: safe where verl's own
    tree has a list there, since Hydra starts nothing with a sweep; else unsafe.

    ## When it does not apply
    Launches with `--multirun`.

    ## Sources
    hydra-core 1.3.2 (`_internal/config_loader_impl.py`).
    """
    yield reported(problem)


@text_rule(
    "OPT06",
    "broken-config-tree",
    severity=ERROR,
    kinds=("hydra-no-config", "hydra-defaults", "hydra-header"),
    topics=("hydra",),
)
def broken_config_tree(problem: Problem) -> Iterator[Finding]:
    """A config that a launch or a defaults list names isn't there, or the list can't be composed.

    ## What it does
    Reports a `--config-name` or an entry of a `defaults` list that no folder of the search path has, and defaults lists
    that break Hydra's rules.

    ## Why it matters
    Hydra refuses the launch ("Cannot find primary config"; "In ...: Could not find ...").

    ## Example
    A launch with `--config-name=my_trainer` in a repository whose config folder has no `my_trainer.yaml`.

    ## Use instead
    The name of a config that is there, or `optional` before an entry that may be absent.

    ## When it does not apply
    Search paths of which a part isn't at hand.

    ## Sources
    hydra-core 1.3.2 (`_internal/defaults_list.py`). verl's own
    `verl/experimental/fully_async_policy/shell/dapo_30b_a3b_base_math_fsdp.sh` names a config that isn't in its folder.
    """
    yield reported(problem)


@text_rule("OPT07", "broken-interpolation", severity=ERROR, kinds=("hydra-interpolation",), topics=("hydra",))
def broken_interpolation(problem: Problem) -> Iterator[Finding]:
    """An interpolation that OmegaConf can't read.

    ## What it does
    Reports `${...}` in a value that breaks OmegaConf's grammar.

    ## Why it matters
    The launch fails when the value is set or first read ("GrammarParseError").

    ## Example
    With verl 0.9.1 (`--target verl=0.9.1`):

    ```bash
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        'trainer.experiment_name="${trainer.project_name"'
    ```

    ## Use instead
    Close the brace, or escape the dollar sign: `\\${`.

    ## When it does not apply
    Text that Hydra's grammar takes as it stands.

    ## Sources
    omegaconf 2.3.1 (`grammar_visitor.py`).
    """
    yield reported(problem)


@text_rule("OPT08", "unreadable-override", severity=ERROR, kinds=("hydra-syntax",), topics=("hydra",))
def unreadable_override(problem: Problem) -> Iterator[Finding]:
    """An argument that Hydra's override grammar can't read.

    ## What it does
    Reports an override at the place where Hydra's own parser gives up, after the shell has taken its quotes.

    ## Why it matters
    Hydra refuses the launch ("mismatched input ...").

    ## Example
    ```bash
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        actor_rollout_ref.model.path=~/models/qwen
    ```

    ## Use instead
    Quote the value for Hydra, inside the quotes for the shell: `'key="a value (with brackets)"'`.

    ## When it does not apply
    Values of which a part is known only to the running shell.

    ## Sources
    hydra-core 1.3.2 (`grammar/OverrideParser.g4`).
    """
    yield reported(problem)


RULES = (
    unknown_option,
    plus_on_existing_option,
    deletion_of_missing_option,
    unknown_choice,
    sweep_without_multirun,
    broken_config_tree,
    broken_interpolation,
    unreadable_override,
)
