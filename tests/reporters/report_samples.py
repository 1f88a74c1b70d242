"""Reports built by hand, for the reporters' tests."""

from __future__ import annotations

from io import StringIO

from grpo_lint.diagnostics import Diagnostic, Fix, Label, Notice
from grpo_lint.report import Report, Undecided
from grpo_lint.reporters import Style, write
from grpo_lint.rules.rule import Rule, rule
from grpo_lint.source import SourceFile, Span


def output(format: str, report: Report, width: int = 80, color: bool = False) -> str:
    out = StringIO()
    write(format, report, out, Style(color, width))
    return out.getvalue()


def at(file: SourceFile, text: str, nth: int = 0) -> Span:
    """The nth place (from 0) where a text stands in a file."""
    start = -1
    for _ in range(nth + 1):
        start = file.text.index(text, start + 1)
    return file.span(start, start + len(text))


def finding(
    span: Span, message: str = "it breaks", label: str = "", severity: str = "error", **more: object
) -> Diagnostic:
    return Diagnostic("NOT07", severity, message, Label(span, label), **more)  # type: ignore[arg-type]


def report(*diagnostics: Diagnostic, **more: object) -> Report:
    return Report(diagnostics, RULES, **{"files": 1, "runs": 1, **more})  # type: ignore[arg-type]


@rule("NOT07", "group-size-1", severity="error", evidence="solid", topics=("grpo", "singleton"))
def group_size_1(run: object) -> tuple[()]:
    """A group of one response has nothing to be compared with.

    ## What it does
    Looks for group-relative estimators
    with one response a prompt.

    ## Example

    ```bash
    actor_rollout_ref.rollout.n=1
    ```
    """
    return ()


@rule("DO03", "kl-twice", severity="note", evidence="contested", topics=tuple(f"topic-{n}" for n in range(14)))
def kl_twice(run: object) -> tuple[()]:
    """The KL term is in the reward and in the loss."""
    return ()


@rule("SEC01", "open-server", severity="warning", evidence="refuted", topics=("server", "security"), threat="5.5")
def open_server(run: object) -> tuple[()]:
    """The server listens to everyone."""
    return ()


RULES: tuple[Rule, ...] = (kl_twice, group_size_1, open_server)

SCRIPT = SourceFile(
    "scripts/run.sh",
    "#!/bin/bash\n"
    "set -x\n"
    "python3 -m verl.trainer.main_ppo \\\n"
    "    algorithm.adv_estimator=grpo \\\n"
    "\tactor_rollout_ref.rollout.n=1 \\\n"
    "    trainer.project_name=verl\n",
)
TREE = SourceFile("conf/ppo.yaml", "data:\n  train_files: a\n\nactor_rollout_ref:\n  rollout:\n    n: 1\n")


def several() -> Report:
    """Two findings, the first with everything a finding can have; a notice and two checks that weren't decided."""
    first = Diagnostic(
        "NOT07",
        "error",
        "actor_rollout_ref.rollout.n is 1: with adv_estimator=grpo each advantage is 0 and nothing is learnt",
        Label(at(SCRIPT, "actor_rollout_ref.rollout.n=1"), "one response a prompt"),
        (
            Label(at(SCRIPT, "algorithm.adv_estimator=grpo"), "compares the responses of a group"),
            Label(at(TREE, "n: 1"), "overridden"),
        ),
        "set actor_rollout_ref.rollout.n to 5 or more, or use an estimator that has a critic, such as gae",
        Fix("set rollout.n to 5", ((at(SCRIPT, "n=1"), "n=5"), (at(TREE, "n: 1"), "")), safe=False),
        "actor_rollout_ref.rollout.n",
        ("DEVICE=npu", "MODE=fast"),
    )
    second = Diagnostic("DO03", "note", "kl_coef is used twice", Label(at(TREE, "train_files: a"), ""), key="kl_coef")
    return report(
        first,
        second,
        notices=(Notice("data/model.bin", "binary file (it contains NUL bytes)"),),
        undecided=(Undecided("DO01", "scripts/run.sh", "$1"), Undecided("DO02", "scripts/run.sh", "$1")),
        files=14,
        runs=9,
        errors=True,
    )


EVIL = SourceFile("a\n::error::\x1b[31m%0A,b:c\udcff\u202e[x](1).sh", "x=\x1b[2J\x07\u202e1\x85\n")
"""A name and a line that would steer a terminal or a runner if they were printed as they are."""


def evil() -> Report:
    label = Label(at(EVIL, "\x1b[2J\x07\u202e1\x85"), "\x1b]0;title\x07 [y](2)")
    return report(
        Diagnostic(
            "NOT07",
            "error",
            "x is \x1b[2J\r\n::warning::no % at all, a [link](https://example.org) \udc80",
            label,
            (label,),
            "remove\n\x1b[2J",
            key="x\x1b",
            when=("A=\x1b\nB",),
        ),
        notices=(Notice("b\n.bin", "broken\r\n\x1b[31m"), Notice("", "bound reached")),
    )
