"""For any text: reading ends without a crash, and every place that a word names exists."""

from __future__ import annotations

import re

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from shell_reading import argvs, kinds, read

from grpo_lint.located import DYNAMIC, Word
from grpo_lint.source import SourceFile, Span
from grpo_lint.syntax.shell import Script, run

FRAGMENTS = [
    "python", " ", "  ", "\n", "\\\n", "\\", ";", "&", "&&", "||", "|", "(", ")", "{", "}", "((", "))", "$(", "`",
    "\"", "'", "$'", "${", "}", "${x:-", "${x#", "${x%%/*}", "${#x}", "${!x}", "${A[@]}", "\"${A[@]}\"", "\"$@\"",
    "$x", "$1", "$((", "x=", "A=(", "A+=(", "x+=", "if ", "then ", "else ", "elif ", "fi", "for i in ", "do ", "done",
    "while ", "case ", " in ", "esac", ";;", "*)", "[[ ", " ]]", "[ ", " ]", "==", "=~", "-n", "!", "#", "# c\n",
    "<<EOF\n", "EOF\n", "<<<", ">", "<(", "2>&1", "{a,b}", "{1..3}", "~", "*", "f() ", "function f ", "local ",
    "export ", "declare -A ", "eval ", "source ", "set -- ", "shift\n", "read ", "exit\n", "return\n", "break\n", "a",
    "b=c", "--lr", "1e-6", "a.b=1", "é", "\t", "\r\n", "\x00", "trap 'x' EXIT\n", "printf -v x ", "echo ", "cd ",
    "pwd", "$(dirname ",
]  # fmt: skip

TEXTS = st.one_of(st.lists(st.sampled_from(FRAGMENTS), max_size=40).map("".join), st.text(max_size=200))
SETTINGS = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def spans(script: Script) -> list[Span]:
    words: list[Word] = []
    found: list[Span] = []
    for command in script.commands:
        words += [*command.argv, *command.env.values(), *(r.target for r in command.redirects)]
        words += [r.body for r in command.redirects if r.body is not None]
        found += [command.span, *command.via, *(condition.span for condition in command.when)]
    for file in script.files:
        words += [file.path, file.body]
        found.append(file.span)
    for problem in script.problems:
        found += [problem.span, *([problem.cause] if problem.cause is not None else [])]
    for word in words:
        found += [word.span, *word.via]
        for piece in word.pieces:
            found += [piece.span, *piece.via]
    return found


@given(TEXTS)
@SETTINGS
def test_any_text_is_read_and_every_place_exists(text: str) -> None:
    script = read(text, a="x=1\npython $x\n", b__c_sh=text)
    for span in spans(script):
        assert 0 <= span.start <= span.end <= len(span.file.text)
        assert span.file.text in (text, "x=1\npython $x\n")


@given(TEXTS)
@SETTINGS
def test_any_text_is_read_in_a_given_environment(text: str) -> None:
    script = run(SourceFile("/r/s.sh", text), None, "/r/s.sh", {"HOME": "/h", "PATH": "/b"}, "/r")
    assert isinstance(argvs(script), list)


@given(TEXTS)
@SETTINGS
def test_an_unknown_piece_has_a_reason_and_a_known_one_none(text: str) -> None:
    for command in read(text).commands:
        for word in command.argv:
            for piece in word.pieces:
                assert (DYNAMIC in piece.text) == bool(piece.reason)


@given(
    st.lists(
        st.text(min_size=1, max_size=12).filter(lambda t: "\0" not in t and DYNAMIC not in t and "\r" not in t),
        max_size=6,
    )
)
@SETTINGS
def test_quoted_words_come_back(words: list[str]) -> None:
    quoted = ["'" + word.replace("'", "'\\''") + "'" for word in words]
    text = " \\\n  ".join(["python", *quoted]) + "\n"
    script = read(text)
    assert argvs(script) == [["python", *words]]
    assert not [kind for kind in kinds(script) if kind == "syntax"]
    for word, raw in zip(script.commands[0].argv[1:], quoted, strict=True):
        assert word.span.text == raw


@given(
    st.lists(
        st.from_regex(re.compile(r"[A-Za-z0-9_./:=,@%+-]{1,10}", re.ASCII), fullmatch=True), min_size=1, max_size=6
    )
)
@SETTINGS
def test_plain_words_are_their_own_places(words: list[str]) -> None:
    script = read("python " + " ".join(words) + "\n")
    assert [word.span.text for word in script.commands[0].argv[1:]] == words == argvs(script)[0][1:]


@given(st.lists(st.sampled_from(FRAGMENTS), max_size=15).map("".join))
@SETTINGS
def test_what_stands_before_is_read_whatever_follows(text: str) -> None:
    assert argvs(read("python first --n 8\n" + text))[0] == ["python", "first", "--n", "8"]
