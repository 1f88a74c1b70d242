"""What is wrong with a script's text, and that nothing else is called wrong."""

from __future__ import annotations

import pytest
from shell_reading import argvs, kinds, read

from grpo_lint.located import DYNAMIC


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("if true; then\npython a\n", "'fi' is missing here, or 'if' is never closed"),
        ("for i in 1; do python a\n", "'done' is missing here, or 'for' is never closed"),
        ("python a )\n", "unexpected ')'"),
        ("fi\n", "unexpected 'fi'"),
        ("python 'a\n", "the single quote is never closed"),
        ('python "a\n', "the double quote is never closed"),
        ("python $(a\n", "the command substitution is never closed"),
        ("python ${a\n", "the ${ is never closed"),
        ("A=(a b\n", "the array is never closed"),
        ("python > \n", "no file follows '>'"),
        ("| python\n", "unexpected '|'"),
        ("case x in a b) ;; esac\n", "unexpected 'b)' in a pattern of 'case'"),
        ("[[ a == b\n", "the [[ is never closed"),
        ("python a &&", "the script ends where a command should follow"),
    ],
)
def test_syntax(text: str, message: str) -> None:
    found = [problem for problem in read(text).problems if problem.kind == "syntax"]
    assert found[0].message == message


@pytest.mark.parametrize(
    "fault",
    [
        "python )",
        "fi",
        "python 'x",
        'python "x',
        "python $(x",
        "x=(a",
        "python > ",
        "if true; then python x",
        "[[ a == b",
        ";;",
    ],
)
def test_reading_goes_on_after_a_fault(fault: str) -> None:
    script = read(f"python before\n{fault}\npython after\n")
    started = argvs(script)
    assert started[0] == ["python", "before"]
    assert ["python", "after"] in started
    assert "syntax" in kinds(script)


def test_a_blank_line_cuts_arguments_off() -> None:
    script = read("python a.py \\\n    --lr 1 \\\n\n    --n 8\n")
    problem = next(p for p in script.problems if p.kind == "continuation-blank-line")
    assert problem.span.text == "--n 8"
    assert problem.cause is not None
    assert problem.cause.line == 3


def test_a_blank_after_the_backslash_cuts_arguments_off() -> None:
    script = read("python a.py \\ \n    --n 8\n")
    problem = next(p for p in script.problems if p.kind == "continuation-trailing-blank")
    assert problem.span.text == "--n 8"
    assert problem.cause is not None
    assert problem.cause.line == 1


def test_a_comment_cuts_arguments_off() -> None:
    for text in (
        "python a.py \\\n    --lr 1 # why \\\n    --n 8\n",
        "python a.py \\\n    # --lr 1 \\\n    actor.n=8\n",
    ):
        problem = next(p for p in read(text).problems if p.kind == "comment-swallows")
        assert problem.span.text in ("--n 8", "actor.n=8")
        assert problem.cause is not None
        assert problem.cause.text.startswith("#")


@pytest.mark.parametrize(
    "text",
    [
        "python a.py \\\n    --lr 1 \\\n\npython b.py\n",
        "python a.py # comment\npython b.py\n",
        "python a.py \\\n  --x 1 \\\n\n# the end\n",
        "A=(\n  --a 1 # note\n\n  --b 2\n)\npython ${A[@]}\n",
        "python a.py\n\n./run.sh --x\n",
        "export A=1 \\\n\nB=2\npython $B\n",
    ],
)
def test_no_argument_is_lost(text: str) -> None:
    assert not kinds(read(text))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("python --n $GPUS_PER_RUN\n", ["unset-variable"]),
        ("python a=${b}\n", ["unset-variable"]),
        ("python $HOME $RANK $SLURM_NNODES $1 $WANDB_API_KEY $CUDA_VISIBLE_DEVICES\n", []),
        ("if [ -z $1 ]; then n=1; fi\npython $n\n", []),
        ("read -p x n\npython $n\n", []),
        ("python ${n:-8}\n", []),
        ("n=\npython $n\n", []),
        ("echo $n\n", []),
        ("source other.sh\npython $n\n", []),
        ("for n in 1; do :; done; python $n\n", []),
    ],
)
def test_variables_that_nothing_sets(text: str, found: list[str]) -> None:
    assert kinds(read(text)) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x='a b'; python k=$x\n", True),
        ("x='a b'; A=(k=$x); python ${A[@]}\n", True),
        ("x='--a b'; python $x\n", False),
        ("x='a b'; python k=\"$x\"\n", False),
        ("x=' a '; python k=$x\n", False),
        ("x='a b'; y=k$x; python \"$y\"\n", False),
    ],
)
def test_an_unquoted_value_that_breaks_its_word(text: str, found: bool) -> None:
    assert ("unquoted-split" in kinds(read(text))) is found


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("'<your model path>'", True),
        ("--key='<YOUR_API_KEY>'", True),
        ('"<path-to-data>"', True),
        ("'<model_path>'", True),
        ("'<image>'", False),
        ("'<|im_end|>'", False),
        ("'</think>'", False),
        ("'a<b'", False),
    ],
)
def test_placeholders(word: str, found: bool) -> None:
    assert ("placeholder" in kinds(read(f"python {word}\n"))) is found


def test_carriage_returns_are_noted_once() -> None:
    text = "python a \\\r\n  --n 8\r\nif true; then\r\n  python b\r\nfi\r\ncat > x <<EOF\r\nbody\r\nEOF\r\npython c\r\n"
    assert kinds(read(text)) == ["carriage-return"]


@pytest.mark.parametrize(
    ("text", "argv"),
    [
        ("python a --n 8\r\n", ["python", "a", "--n", "8" + DYNAMIC]),
        ("python a --n 8 \r\n", ["python", "a", "--n", "8", DYNAMIC]),
        ("python a --n 8;\r\n", ["python", "a", "--n", "8"]),
        ("python a \\\r\n  --n 8\r\n", ["python", "a", DYNAMIC]),
        ("python a 'l\r\nm' b\r\n", ["python", "a", DYNAMIC, "b" + DYNAMIC]),
        ("A=5\r\npython a x=$A y\r\n", ["python", "a", "x=5" + DYNAMIC, "y" + DYNAMIC]),
        ("A=(\r\n a b\r\n)\r\npython ${A[0]} ${#A[@]};\r\n", ["python", "a", DYNAMIC]),
        ("if true; then\r\n  python 'a'\r\nfi\r\n", ["python", "a" + DYNAMIC]),
        ("for i in 1 2\r\ndo\r\n python $i;\r\ndone\r\n", ["python", "1"]),
        ("(python a\r\n)\r\n", ["python", "a" + DYNAMIC]),
    ],
)
def test_the_words_that_a_carriage_return_gets_into_are_unknown(text: str, argv: list[str]) -> None:
    """The oracle of this is bash, which takes it for an ordinary character; `fi` and its like are read as meant."""
    assert next(found for found in argvs(read(text)) if found[0] == "python") == argv


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n\n# only a comment",
        "a=1",
        "x() { :; }",
        "python a;",
        "python a &",
        "case x in esac",
        "case x in (a|b) ;; c) ;& esac",
        "if :; then :; fi > out 2>&1",
        "for x; do :; done",
        "for ((;;)) { break; }",
        "select x in a; do break; done",
        "function f() ( : )",
        "f () { :; }; f",
        "coproc cat",
        "time -p python a",
        "! :",
        "a[1]=x b[i+1]+=y; a[$i]=z",
        "x=$((1+(2*3)))",
        "x=$( (echo a); echo b )",
        "((a=1)) || :",
        "[[ ! ( a == b || -f x ) && $y =~ ^(a|b)+$ ]]",
        'echo "a $(echo "b $(echo "c")")"',
        "cat <<A <<-'B'\na\nA\n\tb\n\tB",
        "cat <<EOF\nnever closed",
        "echo ${a#*/} ${a//\\//_} ${!b} ${#c[@]} ${d:1:2} ${e^^}",
        "{ echo; } | { cat; } && ( : ) || :",
        "while read -r x; do :; done < <(ls) > out",
        "echo a >&2 2>/dev/null <in >>out <>rw >|force {fd}>x",
        "shopt -s extglob; case x in @(a|b)*) :;; esac; rm -f !(x)",
        "x=(a [3]=b $(ls) *.py) y+=(z)",
        "declare -A m=([a]=1 ['b c']=2)",
        "echo $'a\\'b' $\"x\" `echo \\`a\\`` # `unclosed",
        "if [ 1 ]\nthen\n:\nelif :\nthen :\nelse\n:\nfi",
        "echo if; echo then fi done",
        "a=b c=d",
        "echo {a,b} {1..3} { } }",
        "let x=1+2 y*=3",
        "echo $[1+2] $((a?b:c))",
        "export A=(1 2) B='x'",
    ],
)
def test_what_bash_accepts_has_no_fault(text: str) -> None:
    assert "syntax" not in kinds(read(text))


def test_an_unset_variable_is_shown_where_it_is_used_and_written() -> None:
    problem = read("path=$WORK/x\npython a.py --path ${path}\n").problems[0]
    assert (problem.kind, problem.span.text, problem.span.line) == ("unset-variable", "${path}", 2)
    assert problem.cause is not None
    assert problem.cause.text == "$WORK"


def test_what_a_syntax_error_skips_is_no_lost_argument() -> None:
    assert "comment-swallows" not in kinds(read("python a --host <one> <two> \\\n  --data x#1 \\\n  --n 8\n"))
