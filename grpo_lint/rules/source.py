"""What is wrong with the text of any file, before a framework reads it."""

from __future__ import annotations

from grpo_lint.diagnostics import ERROR, NOTE, WARNING
from grpo_lint.rules.rule import reported, text_rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from grpo_lint.located import Problem
    from grpo_lint.rules.rule import Finding


@text_rule("SRC01", "syntax-error", severity=ERROR, kinds=("syntax", "undefined-alias", "alias-cycle", "merge", "key"))
def syntax_error(problem: Problem) -> Iterator[Finding]:
    """The file breaks the grammar of its format.

    ## What it does
    Reports the place where a shell script, YAML, JSON or HJSON file can't be read as such. Reading goes on after the
    fault where that makes sense, so other findings of the same file still stand.

    ## Why it matters
    The framework stops at the same place, after the job has been scheduled.

    ## Example
    ```json
    {"zero_optimization": {"stage": 2}
    ```

    ## Use instead
    ```json
    {"zero_optimization": {"stage": 2}}
    ```

    ## When it does not apply
    A template that is filled in before it is used is reported as SRC03 instead.

    ## Sources
    The grammars of bash 5.2, YAML 1.1 as libyaml reads it, JSON, and HJSON as the Python package hjson 3.1 reads it.
    """
    yield reported(problem)


@text_rule("SRC02", "duplicate-key", severity=ERROR, kinds=("duplicate-key", "duplicate-anchor"))
def duplicate_key(problem: Problem) -> Iterator[Finding]:
    """A mapping has the same key twice.

    ## What it does
    Reports a key that an earlier line of the same mapping sets already. An error where the reader of that file refuses
    it (DeepSpeed's JSON, Hydra's YAML), a warning where the last value wins without a word (PyYAML).

    ## Why it matters
    One of the two values is not the one that the run gets.

    ## Example
    ```json
    {"gradient_clipping": 1.0, "zero_optimization": {"stage": 2}, "gradient_clipping": 0.5}
    ```

    ## Use instead
    Keep one of them.

    ## When it does not apply
    YAML merge keys: a key that overrides a merged one is no duplicate.

    ## Sources
    deepspeed 0.19.8 `runtime/config_utils.py` (`dict_raise_error_on_duplicate_keys`); omegaconf 2.3.1 `_utils.py`
    (`get_yaml_loader` raises on duplicate keys); PyYAML 6.0 keeps the last.
    """
    severity = ERROR if problem.fatal else WARNING
    yield reported(problem, severity=severity)


@text_rule("SRC03", "unfilled-template", severity=NOTE, kinds=("template",))
def unfilled_template(problem: Problem) -> Iterator[Finding]:
    """The file is a template, not yet a config.

    ## What it does
    Says that template code (`{{ ... }}`, `{% ... %}`) keeps a file from being read: nothing after it was judged.

    ## Why it matters
    A clean report must not be taken for a judgement of the config that the template becomes.

    ## Example
    ```yaml
    compute_environment: LOCAL_MACHINE
    distributed_type: MULTI_GPU
    num_processes: {{ .Values.gpus }}
    ```

    ## Use instead
    Lint the rendered file.

    ## When it does not apply
    Template code inside a quoted scalar reads as text.

    ## Sources
    The grammar of YAML 1.1.
    """
    yield reported(problem, help="lint the rendered file")


@text_rule("SRC04", "unreadable-value", severity=WARNING, kinds=("value", "tag"))
def unreadable_value(problem: Problem) -> Iterator[Finding]:
    """A scalar that its reader can't turn into a value.

    ## What it does
    Reports a YAML scalar that the consumer's reader recognises as a number, a date or a tagged object and then fails to
    build, such as `2024-13-45`.

    ## Why it matters
    The file fails to load although its grammar is right.

    ## Example
    ```yaml
    compute_environment: LOCAL_MACHINE
    main_training_function: 2024-13-45
    ```

    ## Use instead
    Quote it: `main_training_function: "2024-13-45"`.

    ## When it does not apply
    Tags that the reader knows.

    ## Sources
    PyYAML 6.0 `constructor.py` (SafeConstructor), omegaconf 2.3.1 `_utils.py`.
    """
    yield reported(problem)


@text_rule("SRC05", "too-large-to-read", severity=NOTE, kinds=("too-deep", "gave-up"))
def too_large_to_read(problem: Problem) -> Iterator[Finding]:
    """A bound of the linter was reached: what follows was not read.

    ## What it does
    Says where reading stopped, since nothing after that place was judged: collections nested too deeply, expansions or
    loops that would not end.

    ## Why it matters
    A clean report must not be taken for a judgement of what was left out.

    ## Example
    ```bash
    for i in {1..1000000}; do python3 -m verl.trainer.main_ppo seed=$i; done
    ```

    ## Use instead
    Nothing needs to change for the linter's sake.

    ## When it does not apply
    Files within the bounds.

    ## Sources
    The bounds are the linter's own.
    """
    yield reported(problem)


RULES = (syntax_error, duplicate_key, unfilled_template, unreadable_value, too_large_to_read)
