"""Tests that aren't decided: both ways are read, and told apart by what they rest on."""

from __future__ import annotations

import pytest
from shell_reading import argvs, conditions, kinds, read, words

from grpo_lint.syntax.shell import Script


def ways(script: Script) -> list[tuple[list[str], list[str]]]:
    return [(words(command), conditions(command)) for command in script.commands]


def test_two_values_with_their_conditions() -> None:
    script = read('if [ "$DEVICE" = npu ]; then n=16; else n=8; fi\npython $n\n')
    assert ways(script) == [(["python", "16"], ["DEVICE=npu"]), (["python", "8"], ["DEVICE is not npu"])]


def test_a_command_that_does_not_differ_is_there_once() -> None:
    script = read('if [ "$DEVICE" = npu ]; then n=16; else n=8; fi\npython x\n')
    assert ways(script) == [(["python", "x"], [])]


def test_branches_that_leave_nothing_behind_join_again() -> None:
    script = read('if [ "$A" = 1 ]; then echo a; fi\nif [ "$B" = 1 ]; then python b; fi\npython x\n')
    assert ways(script) == [(["python", "b"], ["B=1"]), (["python", "x"], [])]


def test_the_same_test_again_has_the_same_outcome() -> None:
    text = '[ "$D" = npu ] && a=1 || a=2\nif [ "$D" = npu ]; then b=1; else b=2; fi\npython $a $b\n'
    assert argvs(read(text)) == [["python", "1", "1"], ["python", "2", "2"]]


def test_one_value_rules_out_another() -> None:
    text = 'if [ "$D" = npu ]; then a=1; else a=2; fi\nif [ "$D" = gpu ]; then b=1; else b=2; fi\npython $a $b\n'
    assert sorted(argvs(read(text))) == [["python", "1", "2"], ["python", "2", "1"], ["python", "2", "2"]]


def test_a_changed_variable_is_tested_anew() -> None:
    text = 'if [ "$1" = a ]; then x=1; else x=2; fi; shift\nif [ "$1" = a ]; then y=1; else y=2; fi; python $x $y\n'
    assert len(argvs(read(text))) == 4


def test_case_gives_an_arm_each() -> None:
    script = read('case "$D" in npu) n=16;; gpu|cuda) n=8;; *) n=1;; esac\npython $n\n')
    assert ways(script) == [
        (["python", "16"], ["D=npu"]),
        (["python", "8"], ["D=gpu|cuda"]),
        (["python", "1"], ["D is none of these"]),
    ]


def test_a_case_without_a_default_may_be_passed_by() -> None:
    script = read("n=1\ncase $D in npu) n=16;; esac\npython $n\n")
    assert sorted(words(command)[1] for command in script.commands) == ["1", "16"]


def test_elif_conditions_add_up() -> None:
    script = read('if [ "$D" = a ]; then n=1; elif [ "$D" = b ]; then n=2; else n=3; fi; python $n\n')
    assert [conditions(command) for command in script.commands] == [
        ["D=a"],
        ["D is not a", "D=b"],
        ["D is not a", "D is not b"],
    ]


@pytest.mark.parametrize(
    "guard",
    [
        'if [ -z "$1" ]; then echo usage; exit 1; fi',
        "if [ $# -lt 1 ]; then usage; exit 2; fi",
        '[ -n "$1" ] || exit 1',
        'case "$1" in a|b) ;; *) exit 1;; esac; x=1',
        "cd /somewhere || exit 1",
        "command -v nvidia-smi || { echo none; exit 1; }",
        "if ! python check.py; then exit 1; fi",
    ],
)
def test_a_guard_leaves_no_condition(guard: str) -> None:
    script = read(f"{guard}\npython x\n")
    last = script.commands[-1]
    assert words(last) == ["python", "x"]
    assert not [text for text in conditions(last) if "a|b" not in text]


def test_a_launch_before_exit_keeps_its_condition() -> None:
    script = read('if [ "$D" = npu ]; then python a; exit; fi\npython b\n')
    assert ways(script) == [(["python", "a"], ["D=npu"]), (["python", "b"], ["D is not npu"])]


def test_programs_are_taken_to_succeed() -> None:
    assert argvs(read("mkdir x && python a\npip install y || true\npython b\n"))[1::2] == [
        ["python", "a"],
        ["python", "b"],
    ]


def test_what_runs_only_on_failure_says_so() -> None:
    script = read("python a || python b\n")
    assert ways(script) == [(["python", "a"], []), (["python", "b"], ["`python a` fails"])]


def test_an_answer_is_not_presumed() -> None:
    script = read("if grep -q x f; then n=1; else n=2; fi; python $n\n")
    assert [conditions(command) for command in script.commands[1:]] == [
        ["`grep -q x f` succeeds"],
        ["`grep -q x f` fails"],
    ]


@pytest.mark.parametrize(
    ("test", "yes"),
    [
        ('[ -z "$X" ]', "X is not set"),
        ('[ -n "$X" ]', "X is set"),
        ('[ "$X" = "" ]', "X is not set"),
        ("[[ $X == a ]]", "X=a"),
        ('[[ "$X" != a ]]', "X is not a"),
        ('[ "$X" -gt 3 ]', "X > 3"),
        ('[ "${X}" -eq 3 ]', "X=3"),
        ("[ -f data.json ]", "`-f data.json`"),
        ('! [ "$X" = a ]', "X is not a"),
        ('[ "$X" = a ] && [ "$Y" = b ]', "X=a"),
        ('[[ "$X" = a || $Y = b ]]', "X=a or Y=b"),
        ("(( X > 1 ))", "((X > 1))"),
        ("[[ $X =~ ^v ]]", "`$X =~ ^v`"),
    ],
)
def test_wording(test: str, yes: str) -> None:
    command = next(c for c in read(f"if {test}; then python a; else python b; fi\n").commands if words(c)[1] == "a")
    assert conditions(command)[0] == yes


@pytest.mark.parametrize(
    ("test", "holds"),
    [
        ('[ "${DEVICE:-gpu}" = gpu ]', True),
        ('[ "$(date)x" = "" ]', False),
        ('[[ pre$1 == "" ]]', False),
        ('[ "a$1" = b ]', False),
        ('[ -d "$(dirname "$0")/x" -a -z a ]', False),
        ("[[ -n x$1 ]]", True),
        ("[ 3 -gt x ]", False),
        ("[ a b c d ]", False),
    ],
)
def test_decided(test: str, holds: bool) -> None:
    script = read(f"if {test}; then python a; else python b; fi\n")
    assert [words(c) for c in script.commands if words(c)[0] == "python"] == [["python", "a" if holds else "b"]]
    assert not script.commands[-1].when


def test_a_file_of_the_repository_exists() -> None:
    assert argvs(read("[ -f env.sh ] && . env.sh\npython $A\n", env_sh="A=1\n")) == [["python", "1"]]


def test_too_many_ways_become_unknown_values() -> None:
    tests = "".join(f'if [ "$D{n}" = x ]; then v{n}=1; else v{n}=2; fi\n' for n in range(10))
    script = read(tests + "python " + " ".join(f"$v{n}" for n in range(10)) + "\n")
    assert 1 <= len(script.commands) <= 16
    first = script.commands[0].argv
    assert first[1].text in "12"
    assert first[10].reason == "v9 has one of several values here"
    assert not kinds(script)


def test_conditions_of_several_ways_are_told_together() -> None:
    text = "case $D in a) n=1;; b) n=2;; c) n=1;; *) n=3;; esac\npython $n\n"
    script = read(text)
    assert conditions(script.commands[0]) == ["(D=a) or (D=c)"]


def test_the_body_of_an_undecided_loop_is_read_once() -> None:
    script = read('while [ "$(curl x)" != ok ]; do python poll.py; done\npython a\n')
    assert [words(c) for c in script.commands if words(c)[0] == "python"] == [["python", "poll.py"], ["python", "a"]]


def test_options_that_the_caller_may_give() -> None:
    text = """MODEL=base
while [[ $# -gt 0 ]]; do
  case "$1" in
    --model) MODEL="$2"; shift 2 ;;
    *) shift ;;
  esac
done
python --model "$MODEL"
"""
    command = read(text).commands[-1]
    assert words(command) == ["python", "--model", "base"]
    assert command.argv[2].pieces[0].note == "unless the caller's arguments set it"
    assert not command.when


def test_getopts() -> None:
    text = 'n=8\nwhile getopts "n:" opt; do case $opt in n) n=$OPTARG;; esac; done\npython $n\n'
    command = read(text).commands[-1]
    assert (words(command), conditions(command)) == (["python", "8"], [])
