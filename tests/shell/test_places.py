"""Where words and their pieces stand, and what an unknown part is said to depend on."""

from __future__ import annotations

import pytest
from shell_reading import argvs, read, words

from grpo_lint.located import DYNAMIC, Word
from grpo_lint.syntax.shell import paths


def last(text: str, **files: str) -> list[Word]:
    return read(text, **files).commands[-1].argv


def spans(word: Word) -> list[str]:
    return [piece.span.text for piece in word.pieces]


def via(word: Word, piece: int = -1) -> list[str]:
    return [span.text for span in word.pieces[piece].via]


def test_a_literal_word_is_its_own_place() -> None:
    word = last("python  train.py --lr 1e-6\n")[3]
    assert (word.span.text, word.span.line, word.span.column) == ("1e-6", 1, 23)


def test_a_variable_s_value_leads_to_its_assignment() -> None:
    word = last("n=8\nm=$n\npython a.py rollout.n=${m}\n")[2]
    assert word.span.text == "rollout.n=${m}"
    assert spans(word) == ["rollout.n=", "${m}"]
    assert via(word) == ["$n", "8"]
    assert not word.via


def test_a_default_leads_into_the_expansion() -> None:
    word = last("n=${ROLLOUT_N:-8}\npython a.py n=$n\n")[2]
    assert via(word) == ["${ROLLOUT_N:-8}", "8"]
    assert word.pieces[1].note == "unless ROLLOUT_N is set"
    assert not word.dynamic


def test_an_array_s_words_stand_in_the_array() -> None:
    word = last('A=(x\n  rollout.n=8\n)\npython "${A[@]}"\n')[2]
    assert (word.span.text, word.span.line) == ("rollout.n=8", 2)
    assert [span.text for span in word.via] == ["${A[@]}"]


def test_an_array_in_an_array_keeps_the_inner_place() -> None:
    word = last('A=(a b)\nB=("${A[@]}" c)\npython "${B[@]}"\n')[2]
    assert (word.span.text, word.span.line) == ("b", 1)
    assert [span.text for span in word.via] == ["${B[@]}", "${A[@]}"]


def test_words_split_from_a_string_stand_in_the_string() -> None:
    word = last('ARGS="--tp 2 \\\n  --pp 4"\nARGS="$ARGS --cp 8"\npython $ARGS\n')[4]
    assert (word.text, word.span.text, word.span.line) == ("4", "4", 2)
    assert [span.text for span in word.via] == ["$ARGS"]


def test_words_of_an_eval_stand_where_they_were_written() -> None:
    words_ = last('tp=4\ncmd="python a.py --tp ${tp} --name x"\neval $cmd\n')
    assert [(word.text, word.span.text, word.span.line) for word in words_[2:]] == [
        ("--tp", "--tp", 2),
        ("4", "${tp}", 2),
        ("--name", "--name", 2),
        ("x", "x", 2),
    ]


def test_words_of_a_sourced_file_stand_in_that_file() -> None:
    word = last("source models/a.sh\npython ${ARGS[@]}\n", models__a_sh="ARGS=(--layers 24)\n")[2]
    assert (word.text, word.span.file.path, word.span.line) == ("24", "models/a.sh", 1)


def test_a_known_sum_leads_to_its_operands() -> None:
    word = last("a=2\nb=${B:-3}\npython x=$((a * b))\n")[1]
    assert (word.text, word.pieces[-1].note) == ("x=6", "unless B is set")
    assert "2" in via(word)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("python $1\n", "$1 is given by the caller"),
        ("shift 2; python $1\n", "$3 is given by the caller"),
        ("python $HOME/x\n", "HOME comes from the environment"),
        ("python ~/x\n", "HOME comes from the environment"),
        ("python $X\n", "X is not set in the script"),
        ("python ${X:?needed}\n", "X must be set by the caller"),
        ("python $(date +%s)\n", "it is the output of `date +%s`"),
        ("python $RANDOM\n", "RANDOM is made by the shell"),
        ("read x; python $x\n", "it is read from input"),
        ("python $((X + 1))\n", "X is not set in the script"),
        ("source other.sh; python $X\n", "X may be set by other.sh, which is not here"),
        ("for x in data/*.json; do python $x; done\n", "it is one of the files data/*.json"),
        ("python $#\n", "the number of arguments is up to the caller"),
        ("x=1; while sleep 1; do x=$((x+1)); done; python $x\n", "x is set in a loop"),
        ("python <(echo)\n", "it is the name of a pipe"),
    ],
)
def test_reason(text: str, reason: str) -> None:
    word = last(text)[-1]
    assert word.reason == reason
    assert DYNAMIC in word.text


@pytest.mark.parametrize(
    ("text", "expected", "note"),
    [
        ("python ${1:-8}\n", "8", "unless $1 is given"),
        ("X=${X:-8}; python $X\n", "8", "unless X is set"),
        (": ${X:=8}; python $X\n", "8", "unless X is set"),
        ("python ${X:-a}b\n", "ab", "unless X is set"),
        ("python a${X:+b}\n", "a", "unless X is set"),
        ('X=$1; if [ -z "$X" ]; then X=8; fi; python $X\n', "8", "unless $1 is given"),
        ('[ -z "$X" ] && X=8; python $X\n', "8", "unless X is set"),
        ("python $((${X:-2} * 4))\n", "8", "unless X is set"),
        ('M=small; for a in "$@"; do M=$a; done; python $M\n', "small", "unless the caller's arguments set it"),
    ],
)
def test_known_with_a_note(text: str, expected: str, note: str) -> None:
    word = last(text)[-1]
    assert word.text == expected
    assert [piece.note for piece in word.pieces if piece.note] == [note]


def test_the_caller_s_arguments_leave_the_command_open() -> None:
    script = read(
        'python a.py "$@"\npython b.py $@ x\npython c.py "${@:2}"\nA=("$@" y)\npython d.py "${A[@]}"\npython e.py\n'
    )
    assert [command.open_ended for command in script.commands] == [True, True, True, True, False]
    assert argvs(script)[1] == ["python", "b.py", "x"]


def test_an_unquoted_unknown_may_be_any_number_of_words() -> None:
    command = read('python $X "$X" a$X\n').commands[0]
    assert command.unsure == (1,)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('DIR=$(dirname "$0")\npython "$DIR/a.py"\n', ("examples/a.py",)),
        ('DIR="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"\npython ${DIR}/a.py\n', ("a.py",)),
        ('cd "$(dirname "$0")"; python "$PWD/b/../a.py"\n', ("examples/a.py",)),
        ("python $(realpath a.py)\n", ("examples/a.py", "a.py")),
        ('python "$(dirname "$(dirname "$0")")/x"\n', ("x",)),
        ("python ${0%/*}/a.py\n", ("examples/a.py",)),
        ("python /abs/a.py\n", ()),
        ("python $X/a.py\n", ()),
        ("cd /somewhere; python $PWD/a.py\n", ()),
    ],
)
def test_paths_from_the_script_s_folder(text: str, expected: tuple[str, ...]) -> None:
    script = read(text, "examples/run.sh")
    assert paths(script.commands[-1].argv[1]) == expected


def test_the_script_s_own_name_is_known() -> None:
    script = read('python $(basename "$0" .sh) ${0##*/} "$(basename "$(dirname "$0")")"\n', "examples/run_x.sh")
    assert argvs(script) == [["python", "run_x", "run_x.sh", "examples"]]


def test_files_are_found_from_the_script_s_folder_and_from_the_root() -> None:
    files = {"examples__env_sh": "A=1\n", "common_sh": "B=2\n"}
    script = read("source env.sh; . common.sh\npython $A $B\n", "examples/run.sh", **files)
    assert argvs(script) == [["python", "1", "2"]]
    assert [source.path for source in script.sourced] == ["examples/env.sh", "common.sh"]


def test_where_a_command_may_run() -> None:
    script = read('python a\ncd "$(dirname "$0")/sub"\npython b\n', "examples/run.sh")
    assert [command.folders for command in script.commands] == [("examples", ""), ("examples/sub",)]


def test_calls_and_loops_that_lead_to_a_command() -> None:
    script = read("f() { for i in 1 2; do python $i; done; }\nf\n")
    assert [words(command) for command in script.commands] == [["python", "1"], ["python", "2"]]
    assert [span.text.split()[0] for span in script.commands[0].via] == ["for", "f"]


def test_environment_of_a_command() -> None:
    script = read("export A=1\nB=2\nC=3 python a.py\nexport B\nunset A\npython b.py\nD=4\nset -a\nE=5\npython c.py\n")
    envs = [{name: word.text for name, word in command.env.items()} for command in script.commands]
    assert envs == [{"A": "1", "C": "3"}, {"B": "2"}, {"B": "2", "E": "5"}]
    assert script.commands[0].env["A"].span.text == "1"


def test_flags_of_a_command() -> None:
    commands = read("python a &\npython b | tee log\nx=$(python c)\npython d > out 2>&1 <<EOF\nin\nEOF\n").commands
    found = {words(c)[1] if words(c)[0] == "python" else "tee": c for c in commands}
    assert found["a"].background
    assert not found["b"].background
    assert found["b"].piped
    assert found["c"].captured
    assert [(r.op, r.fd, r.target.text) for r in found["d"].redirects] == [
        (">", "", "out"),
        (">&", "2", "1"),
        ("<<", "", "EOF"),
    ]
    assert found["d"].redirects[2].body is not None
    assert found["d"].redirects[2].body.text == "in\n"


def test_a_here_document_that_becomes_a_file() -> None:
    text = 'n=2\ncat > ds.json <<EOF\n{"stage": $n}\nEOF\ntee -a "x y" <<\'E\'\n$n\nE\n'
    files = read(text).files
    assert [(f.path.text, f.body.text, f.append) for f in files] == [
        ("ds.json", '{"stage": 2}\n', False),
        ("x y", "$n\n", True),
    ]
    piece = files[0].body.pieces[1]
    assert (piece.text, piece.span.text, piece.span.line) == ("2", "$n", 3)
    assert files[0].span.text.startswith("cat > ds.json")
