from __future__ import annotations

from io import BytesIO, TextIOWrapper

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_samples import TREE, at, evil, finding, output, report, several

from grpo_lint.diagnostics import Fix, Label, Notice
from grpo_lint.report import Report
from grpo_lint.reporters import FORMATS, Style, write
from grpo_lint.reporters.characters import columns, visible
from grpo_lint.source import SourceFile


def shown(report: Report, width: int = 80) -> list[str]:
    """The lines of the first finding, without the summary."""
    return output("text", report, width).split("\n\n")[0].splitlines()


def excerpt(file: SourceFile, start: int, end: int, label: str = "", width: int = 80) -> list[str]:
    """The source line and what is below it, up to the closing bar."""
    return shown(report(finding(file.span(start, end), label=label)), width)[3:]


def test_everything_a_finding_has() -> None:
    assert output("text", several()) == (
        "error[NOT07 group-size-1]: actor_rollout_ref.rollout.n is 1: with\n"
        "    adv_estimator=grpo each advantage is 0 and nothing is learnt\n"
        " --> scripts/run.sh:5:2\n"
        "  |\n"
        "4 |     algorithm.adv_estimator=grpo \\\n"
        "  |     ---------------------------- compares the responses of a group\n"
        "5 |     actor_rollout_ref.rollout.n=1 \\\n"
        "  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ one response a prompt\n"
        "  |\n"
        " ::: conf/ppo.yaml:6:5\n"
        "  |\n"
        "6 |     n: 1\n"
        "  |     ---- overridden\n"
        "  |\n"
        "  = when: DEVICE=npu and MODE=fast\n"
        "  = help: set actor_rollout_ref.rollout.n to 5 or more, or use an estimator that\n"
        "          has a critic, such as gae\n"
        "  = fix: set rollout.n to 5 [--fix --unsafe-fixes]\n"
        "\n"
        "note[DO03 kl-twice]: kl_coef is used twice\n"
        " --> conf/ppo.yaml:2:3\n"
        "  |\n"
        "2 |   train_files: a\n"
        "  |   ^^^^^^^^^^^^^^\n"
        "\n"
        "notice: data/model.bin: binary file (it contains NUL bytes)\n"
        "\n"
        "1 error, 1 note in 2 files (14 files, 9 runs checked; 2 checks undecided; not\n"
        "everything could be read)\n"
        "1 fixable with --fix --unsafe-fixes\n"
    )


def test_a_fix_that_says_what_the_help_says_is_told_once() -> None:
    edits = ((at(TREE, "n: 1"), "n: 5"),)
    one = finding(at(TREE, "n: 1"), help="set n to 5", fix=Fix("set n to 5", edits, safe=True))
    out = output("text", report(one, finding(at(TREE, "n: 1"), help="set n to 5")))
    assert out.count("  = help: set n to 5\n") == 1
    assert out.count("  = fix: set n to 5 [--fix]\n") == 1
    assert out.endswith("\n1 fixable with --fix\n")


def test_a_fix_without_edits_is_none() -> None:
    out = output("text", report(finding(at(TREE, "n: 1"), fix=Fix("nothing", (), safe=True))))
    assert "fix" not in out


def test_nothing_found() -> None:
    assert output("text", report()) == "no findings (1 file, 1 run checked)\n"
    assert output("text", Report((), (), files=1200, runs=0)) == "no findings (1,200 files, 0 runs checked)\n"
    assert output("text", report(notices=(Notice("", "bound reached"),))) == (
        "notice: bound reached\n\nno findings (1 file, 1 run checked)\n"
    )


def test_distant_lines_are_parted_and_numbers_are_aligned() -> None:
    file = SourceFile("a.sh", "first=1\n" + "\n" * 8 + "second=2\nthird=3\n")
    diagnostic = finding(at(file, "third"), related=(Label(at(file, "first"), "here"), Label(at(file, "second"), "")))
    assert shown(report(diagnostic))[1:] == [
        "  --> a.sh:11:1",
        "   |",
        " 1 | first=1",
        "   | ----- here",
        "...",
        "10 | second=2",
        "   | ------",
        "11 | third=3",
        "   | ^^^^^",
    ]


def test_marks_of_one_line_have_a_row_each() -> None:
    file = SourceFile("a.sh", "a=1 b=2\n")
    diagnostic = finding(at(file, "b=2"), label="this", related=(Label(at(file, "a=1"), "that"),))
    assert shown(report(diagnostic))[3:] == ["1 | a=1 b=2", "  | --- that", "  |     ^^^ this"]


@pytest.mark.parametrize(
    ("line", "marked", "expected"),
    [
        ("x: 訓練データ # y", "訓練データ", "   ^^^^^^^^^^"),
        ("訓練: y", "y", "      ^"),
        ("ｆｕｌｌ y", "y", "         ^"),
        ("e\u0301tage: y", "y", "       ^"),
        ("🚀 y", "y", "   ^"),
        ("é y", "y", "  ^"),
        ("\t\ty", "y", "        ^"),
        ("a\ty", "\ty", " ^^^^^"),
        ("\x1b[0m y", "y", "        ^"),
        ("a\u00a0y", "y", "     ^"),
        ("\u3000y", "y", "  ^"),
        ("\u200by", "y", "      ^"),
        ("\U000e0041y", "y", "          ^"),
    ],
)
def test_marks_are_under_the_columns_that_a_terminal_shows(line: str, marked: str, expected: str) -> None:
    file = SourceFile("a.yaml", line + "\n")
    span = at(file, marked)
    assert excerpt(file, span.start, span.end)[1] == "  | " + expected


def test_crlf() -> None:
    file = SourceFile("a.yaml", "a: 1\r\nb: 2\r\n")
    assert excerpt(file, 6, 10) == ["2 | b: 2", "  | ^^^^"]
    assert excerpt(file, 6, 12) == ["2 | b: 2", "  | ^^^^"], "the line's end is left out"


def test_several_lines() -> None:
    file = SourceFile("a.yaml", "a:  \n  b: 1\n  c: 2\nd: 3\n")
    assert excerpt(file, 0, 18, "all of it") == ["1 | a:", "  | ^^... all of it (to line 3)"]
    assert excerpt(file, 0, 19, "") == ["1 | a:", "  | ^^... (to line 3)"], "the line's end is left out"


@pytest.mark.parametrize("text", ["", "\n", "a: 1\n"])
def test_places_without_text(text: str) -> None:
    file = SourceFile("a.yaml", text)
    end = len(text)
    number, source = (2, "") if text.startswith("a") else (1 + text.count("\n"), "")
    assert excerpt(file, end, end, "nothing here") == [f"{number} |{source}", "  | ^ nothing here"]


def test_a_long_line_is_shown_around_its_marks() -> None:
    file = SourceFile("a.sh", "a=1 " * 100 + "b=2 " + "c=3 " * 100 + "d=4\n")
    diagnostic = finding(
        at(file, "b=2"), label="the middle", related=(Label(at(file, "d=4"), "the very end of the line"),)
    )
    assert shown(report(diagnostic), 60)[3:] == [
        "1 | ...=1 a=1 a=1 a=1 a=1 a=1 b=2 c=3 c=3 c=3 c=3 c=3 c=3...",
        "  |                           ^^^ the middle",
        "1 | ...=3 c=3 c=3 c=3 c=3 c=3 c=3 c=3 c=3 c=3 c=3 c=3 d=4",
        "  |                                                   ---",
        "  |                 the very end of the line",
    ]


def test_near_marks_of_a_long_line_share_a_row() -> None:
    file = SourceFile("a.sh", "a=1 " * 100 + "b=2 d=4 " + "c=3 " * 100 + "\n")
    diagnostic = finding(at(file, "b=2"), related=(Label(at(file, "d=4"), "near"),))
    assert shown(report(diagnostic), 60)[3:] == [
        "1 | ... a=1 a=1 a=1 a=1 a=1 b=2 d=4 c=3 c=3 c=3 c=3 c=3 c...",
        "  |                         ^^^",
        "  |                             --- near",
    ]


def test_a_mark_longer_than_the_terminal_is_cut() -> None:
    file = SourceFile("a.sh", "x=" + "y" * 1_000_000 + "\n")
    assert excerpt(file, 0, 1_000_002, "too long", width=40) == [
        "1 | x=" + "y" * 28 + "...",
        "  | " + "^" * 30,
        "  | too long",
    ]


def test_a_label_that_does_not_fit_is_wrapped_below() -> None:
    file = SourceFile("a.sh", "a=1 " * 10 + "b=2\n")
    label = "a label with so many words that no line of this width could ever hold all of them"
    assert excerpt(file, 40, 43, label, width=60) == [
        "1 | " + "a=1 " * 10 + "b=2",
        "  | " + " " * 40 + "^^^",
        "  |                 a label with so many words that no line",
        "  |                 of this width could ever hold all of",
        "  |                 them",
    ]


def test_help_of_several_lines() -> None:
    lines = shown(report(finding(at(TREE, "n: 1"), help="set it:\n  n: 5\nor drop it")))
    assert lines[-3:] == ["  = help: set it:", "            n: 5", "          or drop it"]


def test_colors() -> None:
    file = SourceFile("a.sh", "n=1\n")
    diagnostic = finding(at(file, "1"), label="one", severity="warning", help="set n", when=("A=1",))
    assert output("text", report(diagnostic, notices=(Notice("b", "bad"),)), color=True) == (
        "\x1b[1;33mwarning[NOT07 group-size-1]\x1b[0m\x1b[1m: it breaks\x1b[0m\n"
        " \x1b[1;34m--> \x1b[0ma.sh:1:3\n"
        " \x1b[1;34m |\x1b[0m\n"
        "\x1b[1;34m1 |\x1b[0m n=1\n"
        " \x1b[1;34m |\x1b[0m   \x1b[1;33m^\x1b[0m \x1b[1;33mone\x1b[0m\n"
        " \x1b[1;34m |\x1b[0m\n"
        " \x1b[1;34m = \x1b[0m\x1b[1;36mwhen\x1b[0m: A=1\n"
        " \x1b[1;34m = \x1b[0m\x1b[1;32mhelp\x1b[0m: set n\n"
        "\n"
        "\x1b[1;33mnotice\x1b[0m: b: bad\n"
        "\n"
        "1 warning in 1 file (1 file, 1 run checked)\n"
    )


def test_what_could_steer_a_terminal_is_shown_as_escapes() -> None:
    assert output("text", evil()) == (
        "error[NOT07 group-size-1]: x is \\x1b[2J\\r\\n::warning::no % at all, a\n"
        "    [link](https://example.org) \\x80\n"
        " --> a\\n::error::\\x1b[31m%0A,b:c\\xff\\u202e[x](1).sh:1:3\n"
        "  |\n"
        "1 | x=\\x1b[2J\\x07\\u202e1\\x85\n"
        "  |   ^^^^^^^^^^^^^^^^^^^^^^ \\x1b]0;title\\x07 [y](2)\n"
        "  |   ---------------------- \\x1b]0;title\\x07 [y](2)\n"
        "  |\n"
        "  = when: A=\\x1b\\nB\n"
        "  = help: remove\n"
        "          \\x1b[2J\n"
        "\n"
        "notice: b\\n.bin: broken\\r\\n\\x1b[31m\n"
        "notice: bound reached\n"
        "\n"
        "1 error in 1 file (1 file, 1 run checked)\n"
    )


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "cp1252"])
def test_any_stream_can_say_it(format: str, encoding: str) -> None:
    file = SourceFile("訓練\udcff.sh", "x: 訓練 🚀\n")
    raw = BytesIO()
    out = TextIOWrapper(raw, encoding=encoding, newline="\n")
    write(format, report(finding(at(file, "訓練"), "訓練 \ud800", "🚀")), out, Style())
    out.flush()
    said = raw.getvalue().decode(encoding)
    assert "\\u8a13" in said or "&#35347;" in said or "訓" in said


@given(st.text(max_size=300), st.data(), st.integers(1, 120), st.text(max_size=30))
def test_every_line_is_harmless_and_fits(text: str, data: st.DataObject, width: int, label: str) -> None:
    file = SourceFile(label or "a", text)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    wholly = output(
        "text", report(finding(file.span(start, end), label, label), notices=(Notice(label, label),)), width
    )
    assert "".join(map(visible, wholly.splitlines(keepends=False))) == wholly.replace("\n", "")
    rows = [line for line in wholly.splitlines() if line.lstrip("0123456789 ").startswith("|")]
    assert all(columns(row) <= max(width, 40) for row in rows if len(visible(label)) < 20)
    assert any("^" in row for row in rows)


@given(st.text(st.characters(codec="ascii", exclude_categories=["C"]), min_size=1, max_size=300), st.data())
def test_marks_are_under_what_they_mark(text: str, data: st.DataObject) -> None:
    file = SourceFile("a", text)
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, min(len(text), start + 40)))
    source, marks = excerpt(file, start, end)
    low = marks.rindex(" ") + 1
    assert marks[low:] == "^" * (end - start)
    assert source[low : low + end - start].rstrip() == text[start:end].rstrip()
