"""Scripts that ask for too much: reading stays short, ends, and says where it gave up."""

from __future__ import annotations

import time

import pytest
from shell_reading import argvs, kinds, read

from grpo_lint.located import DYNAMIC

SECONDS = 10
"""Far more than any of these takes; a hang or a blow-up takes far longer."""

BIG = {
    "a string that doubles": "a=x\n" + "a=$a$a\n" * 40 + "python $a\n",
    "an array that doubles": "A=(x)\n" + 'A=("${A[@]}" "${A[@]}")\n' * 30 + 'python "${A[@]}"\n',
    "a function that calls itself": "f() { f; f; }\nf\npython a\n",
    "two functions that call each other": "f() { g; }\ng() { f; f; }\nf\npython a\n",
    "a long range": "for i in {1..1000000}; do python $i; done\n",
    "a long sequence": "for i in $(seq 1 100000000); do python $i; done\n",
    "nested loops": "for i in {1..99}; do for j in {1..99}; do for k in {1..99}; do python $i$j$k; done; done; done\n",
    "a loop without end": "while true; do python a; done\npython b\n",
    "a counting loop": "i=0; while [ $i -lt 1000000000 ]; do i=$((i+1)); done; python $i\n",
    "arithmetic for without end": "for ((;;)); do python a; done\n",
    "braces times braces": "python {1..100}{1..100}{1..100}{1..100}\n",
    "braces in braces": "python " + "{a," * 500 + "b" + "}" * 500 + "\n",
    "many open braces": "python " + "{" * 20_000 + "\n",
    "eval of itself": 'x=\'eval "$x"\'\neval "$x"\npython a\n',
    "a file that reads itself": "source run.sh\npython a\n",
    "deep parentheses": "(" * 500 + "\npython a\n",
    "a million parentheses": "(" * 1_000_000 + "\npython a\n",
    "a million brackets": "python $[" + "[" * 1_000_000 + "\n",
    "deep substitutions": "python " + "$(echo " * 200 + "x" + ")" * 200 + "\n",
    "deep substitutions in a here-document": "cat <<EOF\n" + "$(" * 50 + "\nEOF\npython a\n",
    "deep arithmetic": "python $((" + "(" * 300 + "1" + ")" * 300 + "))\n",
    "arithmetic or not": "python " + "$((" * 60 + "x\n",
    "deep defaults": "python " + "${a:-" * 300 + "x" + "}" * 300 + "\n",
    "deep ifs": "if x; then\n" * 300 + "python a\n" + "fi\n" * 300,
    "many undecided tests": "".join(f"if [ $X{n} = 1 ]; then a{n}=1; fi\n" for n in range(300)) + "python $a1 $a299\n",
    "undecided tests in a loop": "for i in {1..200}; do if [ $1 = $i ]; then x=$i; fi; done; python $x\n",
    "a long or-list": "python a " + "|| python b " * 2000 + "\n",
    "a long pipeline": "python a " + "| python b " * 2000 + "\n",
    "one long line": "python " + "x" * 2_000_000 + "\n",
    "many words": "python " + "a=1 " * 200_000 + "\n",
    "many quotes without end": 'python "a\n' * 3_000,
    "many substitutions without end": "python $(a\n" * 3_000,
    "many here-documents": "cat <<A <<B <<C\n" * 2_000,
    "many braces without end": "python ${a\n" * 3_000,
    "a pattern that backtracks": "x="
    + "a" * 3000
    + "\npython ${x//*a*a*a*a*a*a*a*b/}\ncase $x in *a*a*a*a*a*b) :;; esac\n",
    "an expression that backtracks": "x=" + "a" * 500 + "\nif [[ $x =~ ^(a+)+b$ ]]; then python a; fi\n",
    "long removal": "x=" + "ab" * 9000 + "\npython ${x%%b*c} ${x##*c}\n",
    "references in a circle": "a=b; b=a; python $((a)) ${!a}\ndeclare -n p=q; declare -n q=p; python $p\n",
    "a big number": "python $((99999999999999999999 ** 99999999999)) $((1 << 99999999))\n",
    "printf of much": 'python "$(printf \'%s\' {1..900} {1..900})" "$(printf "%99999d" 1)"\n',
    "binary noise": "".join(chr(33 + (n * 7919) % 90) for n in range(60_000)),
    "a program of another language": "def f(x):\n    return {'a': [1, 2], \"b\": (x)}\n" * 3_000,
}


@pytest.mark.parametrize("name", BIG)
def test_reading_ends(name: str) -> None:
    started = time.process_time()
    script = read(BIG[name])
    assert time.process_time() - started < SECONDS
    assert len(script.commands) < 25_000
    assert sum(len(word.text) for command in script.commands for word in command.argv) < 60_000_000


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a function that calls itself", "calls nest too deeply to follow"),
        ("a long range", "the braces stand for too many words"),
        ("nested loops", "running it takes too many steps"),
        ("braces times braces", "the braces stand for too many words"),
        ("deep parentheses", "nested too deeply to follow"),
        ("deep substitutions in a here-document", "nested too deeply to follow"),
        ("eval of itself", "calls nest too deeply to follow"),
        ("a counting loop", "the loop is read 128 times at most"),
    ],
)
def test_giving_up_is_said(name: str, message: str) -> None:
    assert message in [problem.message for problem in read(BIG[name]).problems if problem.kind == "gave-up"]


@pytest.mark.parametrize("other", ["source ./run.sh\n", "source b.sh\n", "eval 'source run.sh'\n"])
def test_a_file_that_reads_itself_is_reported_and_not_followed(other: str) -> None:
    own = f"{other}source b.sh\npython a\n"
    script = read(own, run_sh=own, b_sh="source run.sh\npython b\n")
    message = "the file reads itself; what it sets the second time is not followed"
    assert message in [problem.message for problem in script.problems if problem.kind == "gave-up"]
    assert argvs(script)[-2:] == [["python", "b"], ["python", "a"]]
    assert len(argvs(script)) < 6


def test_what_follows_a_function_that_calls_itself_is_read() -> None:
    assert argvs(read(BIG["a function that calls itself"]))[-1] == ["python", "a"]


def test_a_doubled_string_is_known_while_it_is_short() -> None:
    assert argvs(read("a=x\n" + "a=$a$a\n" * 10 + "python $a\n")) == [["python", "x" * 1024]]
    assert argvs(read(BIG["a string that doubles"]))[0][1].startswith(DYNAMIC)


def test_the_text_of_a_script_is_bounded() -> None:
    script = read("python a\n" + "x" * 50_000_000)
    assert argvs(script)[0] == ["python", "a"]
    assert kinds(script) == ["gave-up"]


def test_time_grows_with_the_length() -> None:
    block = (
        'n=$((n + 1))\nA+=("--x" "$n")\nif [ $n -gt 3 ]; then b="$n x"; fi\n'
        'python a.py --n $n \\\n  --k "v ${b:-none}"\n'
    )

    def seconds(blocks: int) -> float:
        best = 1e9
        for _ in range(3):
            started = time.process_time()
            read("n=0\nb=\n" + block * blocks)
            best = min(best, time.process_time() - started)
        return best

    assert seconds(400) < 25 * seconds(40)
