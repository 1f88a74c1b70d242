"""What is wrong with the text of a launch script: arguments that are lost, split, repeated or left to be filled in."""

from __future__ import annotations

import re
from itertools import pairwise

from grpo_lint.diagnostics import ERROR, NOTE, WARNING, Fix
from grpo_lint.located import Unknown
from grpo_lint.rules.rule import Finding, reported, rule, text_rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.located import Problem
    from grpo_lint.runconfig import RunConfig
    from grpo_lint.source import Span
    from grpo_lint.unified import Origin

_BETWEEN_LISTS = r"(?m)^[ \t]*\w+\+?=|^[ \t]*\)|^[ \t]*(?:if|elif|else|fi|then|case|esac|for|done)\b|;;"
"""What stands between arguments of different arrays or commands of a script."""


@text_rule(
    "SRC06",
    "lost-arguments",
    severity=ERROR,
    kinds=("continuation-blank-line", "continuation-trailing-blank", "comment-swallows"),
)
def lost_arguments(problem: Problem) -> Iterator[Finding]:
    """A command ends before its author meant it to, and the arguments that follow are lost.

    ## What it does
    Reports the arguments that bash doesn't pass, because a blank line, a blank after the backslash, or a comment ends
    the command before them. Bash then tries to run them as a command of their own.

    ## Why it matters
    The launch starts without them, on the framework's defaults, and says nothing.

    ## Example
    ```bash
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\

        actor_rollout_ref.rollout.n=8 \\
        actor_rollout_ref.rollout.name=vllm
    ```

    ## Use instead
    ```bash
    python3 -m verl.trainer.main_ppo \\
        algorithm.adv_estimator=grpo \\
        actor_rollout_ref.rollout.n=8 \\
        actor_rollout_ref.rollout.name=vllm
    ```

    ## Fix
    Unsafe: takes out the blanks after the backslash, or the blank lines, so that the arguments are passed.

    ## When it does not apply
    A blank line after the last backslash, where nothing follows that was meant as an argument.

    ## Sources
    bash 5.2, section "Quoting": a backslash joins lines only if the newline follows it at once. Seen in verl's
    `verl/experimental/fully_async_policy/shell/geo3k_qwen25vl_7b_megatron_4_4.sh`, where 35 overrides are lost.
    """
    help = "remove what ends the command, so that each line but the last ends with a backslash"
    yield reported(problem, "not passed", help, _joined(problem))


def _joined(problem: Problem) -> Fix | None:
    """Take out the blanks after a backslash, or the blank lines below it; a comment is left to its author."""
    file, lost = problem.span.file, problem.span.start
    start = file.text.rfind("\n", 0, lost) + 1
    before = file.text[:start]
    if problem.kind == "continuation-trailing-blank":
        kept, end = before.removesuffix("\n").rstrip(" \t"), start - 1
    else:
        kept, end = before.rstrip(" \t\n") + "\n", start
    if not kept.rstrip("\n").endswith("\\") or not before.startswith(kept) or len(kept) >= end:
        return None
    return Fix("pass the arguments that follow", ((file.span(len(kept), end), ""),), safe=False)


@text_rule("SRC07", "unset-variable", severity=NOTE, kinds=("unset-in-launch",))
def unset_variable(problem: Problem) -> Iterator[Finding]:
    """A launch uses variables that its script never sets.

    ## What it does
    Names the variables in a launch's arguments that neither the script nor what it sources sets: they come from the
    caller's environment, or are empty.

    ## Why it matters
    Without the variable, bash passes an empty value and goes on. What depends on it can't be judged.

    ## Example
    ```bash
    python3 -m verl.trainer.main_ppo \\
        actor_rollout_ref.rollout.n=8 \\
        actor_rollout_ref.rollout.name=vllm \\
        trainer.n_gpus_per_node=$GPUS
    ```

    ## Use instead
    Give it a default, `${GPUS:-8}`, or have bash stop without it, `${GPUS:?set the number of GPUs}`.

    ## When it does not apply
    Variables that the shell or a scheduler sets (`HOME`, `SLURM_*`, `RANK`), and those with a default.

    ## Sources
    bash 5.2, section "Shell Parameter Expansion".
    """
    yield reported(problem)


@text_rule("SRC08", "placeholder", severity=WARNING, kinds=("placeholder-in-launch",))
def placeholder(problem: Problem) -> Iterator[Finding]:
    """A placeholder is left where a value belongs.

    ## What it does
    Reports an argument of a launch that still reads like `<path to the model>`.

    ## Why it matters
    The program gets the placeholder itself.

    ## Example
    ```bash
    python3 -m verl.trainer.main_ppo \\
        actor_rollout_ref.rollout.n=8 \\
        actor_rollout_ref.model.path="<path-to-model>"
    ```

    ## Use instead
    Fill it in, or take it from a variable: `${MODEL_PATH:?}`.

    ## When it does not apply
    Angle brackets that are part of a value, such as chat-template tokens (`<|im_end|>`, `<think>`).

    ## Sources
    None is needed: the text says that it is to be filled in.
    """
    yield reported(problem, help="fill it in")


@text_rule("SRC09", "split-argument", severity=WARNING, kinds=("unquoted-split",))
def split_argument(problem: Problem) -> Iterator[Finding]:
    """An unquoted value has blanks, so that bash passes it as several arguments.

    ## What it does
    Reports an unquoted variable inside an argument whose value bash splits: its first part alone becomes the value.

    ## Why it matters
    The rest become arguments of their own, which the program refuses or takes for something else.

    ## Example
    ```bash
    FILES="['a.parquet', 'b.parquet']"
    python3 -m verl.trainer.main_ppo \\
        actor_rollout_ref.rollout.n=8 \\
        actor_rollout_ref.rollout.name=vllm \\
        data.train_files=$FILES
    ```

    ## Use instead
    ```bash
    FILES="['a.parquet', 'b.parquet']"
    python3 -m verl.trainer.main_ppo \\
        actor_rollout_ref.rollout.n=8 \\
        actor_rollout_ref.rollout.name=vllm \\
        data.train_files="$FILES"
    ```

    ## Fix
    Unsafe: quotes the variable, so that the value is one argument.

    ## When it does not apply
    A variable that is an argument list by itself (`$EXTRA_ARGS`), which is meant to be split.

    ## Sources
    bash 5.2, section "Word Splitting".
    """
    text, fix = problem.span.text, None
    if text.startswith("$"):
        fix = Fix(f'write "{text}"', ((problem.span, f'"{text}"'),), safe=False)
    yield reported(problem, help="quote it", fix=fix)


@text_rule("SRC10", "carriage-return", severity=ERROR, kinds=("carriage-return",))
def carriage_return(problem: Problem) -> Iterator[Finding]:
    """A shell script has Windows line ends, which bash takes as part of the words.

    ## What it does
    Reports a script whose lines end with CR LF: bash keeps the CR, in values as well as after the backslash of a
    continued line. The words that it gets into count as unknown, and a launch ends with its first line, as in bash;
    other faults of the script may show only once its line ends are right.

    ## Why it matters
    Continued lines are cut, and every value at a line's end carries a stray character.

    ## Example
    A script that was saved with CR LF line ends.

    ## Use instead
    Save it with LF line ends; `* text=auto eol=lf` in `.gitattributes` keeps it so.

    ## When it does not apply
    YAML and JSON, whose readers take both.

    ## Sources
    bash 5.2 takes CR as an ordinary character.
    """
    yield reported(problem, help="save it with LF line ends")


@rule("SRC11", "repeated-argument", severity=WARNING, evidence="solid")
def repeated_argument(run: RunConfig) -> Iterator[Finding]:
    """One launch passes the same option twice, with different values.

    ## What it does
    Reports an option that stands twice in the same list of arguments with different values.

    ## Why it matters
    The framework takes the last one without a word, and the first reads as if it were in force.

    ## Example
    ```bash
    python3 -m verl.trainer.main_ppo \\
        data.truncation=left \\
        actor_rollout_ref.rollout.n=8 \\
        actor_rollout_ref.rollout.name=vllm \\
        data.truncation=error
    ```

    ## Use instead
    Keep the one that is meant.

    ## When it does not apply
    An option of one array that another array of the same launch overrides: that is a way to keep common arguments.

    ## Sources
    hydra-core 1.3.2 applies overrides in order; argparse keeps the last value of an option.
    """
    for _, key, setting in run.options.written(run.framework):
        given = [origin for origin in setting.chain if origin.layer == "override" and origin.span is not None]
        for earlier, later in pairwise(given):
            place, last = earlier.span, later.span
            if place is None or last is None or place == last:
                continue
            if _differ(earlier.data, later.data) and _in_one_list(place, last):
                message = f"{key} is passed twice: {_shown(earlier)} here has no effect, {_shown(later)} follows"
                yield Finding(message, place, "no effect", [(last, "this one counts")], "remove one of them")


def _differ(earlier: object, later: object) -> bool:
    """Whether two values are known to differ."""
    return earlier != later and not isinstance(earlier, Unknown) and not isinstance(later, Unknown)


def _in_one_list(earlier: Span, later: Span) -> bool:
    """Whether two arguments stand in the same command or the same array, by the text between them."""
    if earlier.file is not later.file or later.start < earlier.end:
        return False
    return re.compile(_BETWEEN_LISTS).search(earlier.file.text, earlier.end, later.start) is None


def _shown(origin: Origin) -> str:
    return "null" if origin.data is None else str(origin.data)


RULES = (lost_arguments, unset_variable, placeholder, split_argument, carriage_return, repeated_argument)
