"""Markdown: what a renderer of it shows is what the report says."""

from __future__ import annotations

import re

from markdown_it import MarkdownIt
from report_samples import SCRIPT, at, evil, finding, output, report, several

from grpo_lint.diagnostics import Notice
from grpo_lint.reporters.markdown import MAX_BYTES, plain


def rendered(markdown: str) -> str:
    """The text that a reader sees, table cells separated by ` | `."""
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(markdown)
    lines: list[str] = []
    for token in tokens:
        if token.type == "tr_open":
            lines.append("")
        elif token.type == "inline":
            text = "".join("\n" if child.content == "<br>" else child.content for child in token.children or [])
            if token.level > 2 and lines:
                lines[-1] += f" | {text}"
            else:
                lines.append(text)
    return "\n".join(lines)


def test_everything_is_there() -> None:
    text = rendered(output("markdown", several()))
    assert text.startswith("grpo-lint\n1 error, 1 note in 2 files (14 files, 9 runs checked; 2 checks undecided;")
    assert "\n | ❌ error | NOT07 group-size-1 | scripts/run.sh:5:2 | actor_rollout_ref.rollout.n is 1: with" in text
    assert "\nwhen DEVICE=npu and MODE=fast\nhelp: set actor_rollout_ref.rollout.n to 5 or more" in text
    assert "\n | ℹ️ note | DO03 kl-twice | conf/ppo.yaml:2:3 | kl_coef is used twice" in text
    assert text.endswith("data/model.bin: binary file (it contains NUL bytes)")


def test_nothing_found() -> None:
    assert output("markdown", report()) == "### grpo-lint\n\nno findings \\(1 file, 1 run checked\\)\n"


def test_the_worst_come_first() -> None:
    span = at(SCRIPT, "set -x")
    found = [finding(span, severity, severity=severity) for severity in ("note", "warning", "error", "warning")]
    text = output("markdown", report(*found))
    assert re.findall(r"^\| \S+ (error|warning|note) \|", text, re.M) == ["error", "warning", "warning", "note"]


def test_nothing_in_a_name_or_a_value_is_markup() -> None:
    markdown = output("markdown", evil())
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", markdown)
    html = MarkdownIt("gfm-like", {"linkify": False}).render(markdown)
    assert "<a " not in html
    assert r"a\n::error::\x1b[31m%0A,b:c\xff\u202e[x](1).sh:1:3" in rendered(markdown)


def test_each_character_shows_as_itself() -> None:
    text = "".join(map(chr, range(33, 127))) + " <b> `x` **y** | ~~z~~ &amp; http://x.org $x$ :tada: @me #1 [a](b)"
    assert rendered(plain(text)) == text


def test_a_long_report_is_cut_before_it_is_too_long() -> None:
    span = at(SCRIPT, "set -x")
    many = report(*[finding(span, f"{'é' * 500} {number}") for number in range(2000)])
    markdown = output("markdown", many)
    assert len(markdown.encode()) < MAX_BYTES + 1000
    shown = markdown.count("| ❌ error |")
    assert f"| and {2000 - shown:,} more findings |" in markdown


def test_many_notices_are_cut_too() -> None:
    notices = tuple(Notice(f"{number}.sh", "x" * 1000) for number in range(1000))
    markdown = output("markdown", report(notices=notices))
    assert len(markdown.encode()) < MAX_BYTES + 1000
    assert re.search(r"\n- and \d+ more notices\n", markdown)
