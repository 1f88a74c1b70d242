from grpo_lint.source import SourceFile
from grpo_lint.syntax import shell

LINE = "echo a ) b\n"


def test_what_comes_before_too_many_faults_is_kept() -> None:
    script = shell.run(SourceFile("run.sh", "python3 train.py --x 1\n" + LINE * 500))
    assert [word.text for word in script.commands[0].argv] == ["python3", "train.py", "--x", "1"]
    assert script.problems[-1].kind == "gave-up"


def test_too_many_faults_inside_a_compound_command_end_the_reading() -> None:
    script = shell.run(SourceFile("run.sh", "python3 first\nif true; then\n" + LINE * 500 + "fi\n"))
    assert [word.text for word in script.commands[0].argv] == ["python3", "first"]
    assert script.problems[-1].kind == "gave-up"
