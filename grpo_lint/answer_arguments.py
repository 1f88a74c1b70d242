"""The arguments of the commands that answer questions: matrix, guide, compare, diagnose and recommend."""

from __future__ import annotations

from grpo_lint.arguments import add_sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import ArgumentParser


def _add_matrix(parser: ArgumentParser) -> None:
    from grpo_lint.commands.matrix import FORMATS

    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--as-stated",
        action="store_true",
        help="print the source document's matrix, with what upstream says against it",
    )
    group.add_argument("--by-class", action="store_true", help="print each class with its bugs, releases and rules")
    parser.add_argument("--format", choices=FORMATS, help="default: text")


def _add_guide(parser: ArgumentParser) -> None:
    import argparse

    from grpo_lint.choices.facts import FACTS
    from grpo_lint.choices.known import TOPICS, load
    from grpo_lint.commands.guide import FORMATS

    about = "; ".join(f"{topic}: {load(topic)['about']}" for topic in TOPICS)
    parser.add_argument("topic", choices=tuple(TOPICS), metavar="TOPIC", help=about)
    parser.add_argument("paths", nargs="*", metavar="PATH", help="the runs' scripts or configs, which tell the facts")
    parser.add_argument("--format", choices=FORMATS, help="default: text")
    group = parser.add_argument_group("facts, which rule what the paths say")
    for name, (kind, help) in FACTS.items():
        if kind == "release":
            group.add_argument(f"--{name}", type=_release, metavar="RELEASE", help=help)
        elif kind == "count":
            group.add_argument(f"--{name}", type=_count, metavar="N", help=help)
        else:
            group.add_argument(f"--{name}", action=argparse.BooleanOptionalAction, help=help)
    add_sources(parser)


def _add_compare(parser: ArgumentParser) -> None:
    from grpo_lint.commands.compare import CHOICES, FORMATS

    parser.add_argument(
        "choices", nargs=2, choices=CHOICES, metavar="CHOICE", help=f"two of them: {', '.join(CHOICES)}"
    )
    parser.add_argument("--format", choices=FORMATS, help="default: text")


def _add_diagnose(parser: ArgumentParser) -> None:
    from grpo_lint.commands.diagnose import FORMATS

    parser.add_argument(
        "paths", nargs="*", metavar="PATH", help="the run's script or config: causes that it shows come first"
    )
    parser.add_argument(
        "--symptom", action="append", metavar="TEXT", help='what goes wrong, such as "loss nan step 3"; may be repeated'
    )
    parser.add_argument(
        "--log", action="append", metavar="FILE", help="a training log; - reads it from input; may be repeated"
    )
    parser.add_argument("--format", choices=FORMATS, help="default: text")
    add_sources(parser)


def _add_recommend(parser: ArgumentParser) -> None:
    from grpo_lint.recipes.choose import FORMATS, TOPICS

    parser.add_argument(
        "topic",
        nargs="?",
        choices=TOPICS,
        metavar="TOPIC",
        help=f"what it is about: {', '.join(TOPICS)} (default: all that go together in the format)",
    )
    parser.add_argument("--format", choices=FORMATS, help="whose config to write (default: unified)")
    parser.add_argument("--reasons", action="store_true", help="print why, with sources, instead of the config")
    add_sources(parser)


def _release(text: str) -> str:
    from argparse import ArgumentTypeError

    from grpo_lint.runconfig import release

    if not release(text):
        raise ArgumentTypeError(f"{text!r} is no release; write one such as 2.6 or 0.9.1")
    return text


def _count(text: str) -> int:
    from argparse import ArgumentTypeError

    if not (text.isascii() and text.isdigit() and 0 < len(text) < 10 and int(text)):
        raise ArgumentTypeError(f"{text!r} is no number from 1 on")
    return int(text)


OF_COMMANDS = {
    "matrix": _add_matrix,
    "guide": _add_guide,
    "compare": _add_compare,
    "diagnose": _add_diagnose,
    "recommend": _add_recommend,
}
