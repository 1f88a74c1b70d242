"""Which findings are reported and from where the text comes, as a user types it."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from grpo_lint import terminal
from grpo_lint.arguments import COMMANDS, parser
from grpo_lint.cli import main
from grpo_lint.rules import RULES
from grpo_lint.selection import meant

SCRIPT = """#!/bin/bash
python3 -m verl.trainer.main_ppo \\
    algorithm.adv_estimator=grpo \\
    actor_rollout_ref.rollout.n=1
"""

Lint = Callable[..., tuple[int, str, str]]


@pytest.fixture
def lint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Lint:
    (tmp_path / ".git").mkdir()
    (tmp_path / "run.sh").write_text(SCRIPT, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, stdin: bytes | None = None) -> tuple[int, str, str]:
        capsys.readouterr()
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def found(out: str) -> list[str]:
    return [
        f"{one['primary']['path']}:{one['primary']['line']} {one['rule']}" for one in json.loads(out)["diagnostics"]
    ]


# -- rules and severities


@pytest.mark.parametrize("name", ["NOT07", "not07", "group-size-1", "Group-Size-1", "NOT", "ALL", "all"])
def test_names_that_mean_a_rule(lint: Lint, name: str) -> None:
    assert "NOT07" in {rule.id for rule in meant(name)}
    assert "NOT07" in lint("--select", name, "--output", "concise")[1]
    assert "NOT07" not in lint("--ignore", name, "--output", "concise")[1]


def test_topics_mean_their_rules() -> None:
    for topic in {topic for rule in RULES for topic in rule.topics}:
        assert topic == topic.lower()
        assert {rule.id for rule in meant(topic)} >= {rule.id for rule in RULES if topic in rule.topics}


@pytest.mark.parametrize("name", ["", "N0T07", "NOT0", "NOT7", "group-size", "*"])
def test_names_that_mean_none(name: str) -> None:
    assert meant(name) == ()


def test_min_severity(lint: Lint) -> None:
    arguments = ("--level", "NOT07=note", "--select", "NOT07", "--output", "json", "--fail-on", "note")
    code, out, _ = lint(*arguments)
    assert (code, found(out)) == (1, ["run.sh:4 NOT07"])
    for severity in ("warning", "error"):
        code, out, _ = lint(*arguments, "--min-severity", severity)
        assert (code, found(out)) == (0, [])


def test_exit_zero_is_for_findings_only(lint: Lint) -> None:
    assert lint()[0] == 1
    assert lint("--exit-zero")[0] == 0
    assert lint("--fail-on", "never")[0] == 0
    assert lint("--exit-zero", "missing.sh")[0] == 2
    Path("broken.sh").write_bytes(b"verl \xff\n")
    assert lint("--exit-zero", "broken.sh")[0] == 2


def test_statistics(lint: Lint) -> None:
    Path("other.sh").write_text(SCRIPT.replace("n=1", "n=1  # grpo-lint: ignore[NOT07] x"), encoding="utf-8")
    code, out, err = lint("--statistics", "--select", "NOT07")
    assert (code, err) == (1, "")
    assert out.splitlines() == [
        "findings  fixable  suppressed  rule",
        "       1        0           1  NOT07  group-size-1",
        "       1        0           1  all, in 2 files",
    ]
    code, out, err = lint("--statistics", "--select", "NOT07", "--output", "json")
    assert found(out) == ["run.sh:4 NOT07"]
    assert err.startswith("findings  fixable  suppressed  rule\n")


# -- standard input


def test_standard_input_stands_for_a_file(lint: Lint) -> None:
    good = SCRIPT.replace("n=1", "n=8").encode()
    assert lint("run.sh", "--select", "NOT07")[0] == 1
    assert lint("--stdin-filename", "run.sh", "--select", "NOT07", stdin=good)[0] == 0
    code, out, _ = lint("--stdin", "--stdin-filename", "new/run.sh", "--output", "json", stdin=SCRIPT.encode())
    assert (code, [one for one in found(out) if "NOT07" in one]) == (1, ["new/run.sh:4 NOT07"])
    assert not Path("new").exists()


def test_standard_input_finds_the_files_that_it_names(lint: Lint) -> None:
    Path("scripts").mkdir()
    Path("scripts/size.sh").write_text("SIZE=1\n", encoding="utf-8")
    text = SCRIPT.replace("python3", "source size.sh\npython3").replace("n=1", "n=$SIZE").encode()
    code, out, _ = lint("--stdin-filename", "scripts/run.sh", "--select", "NOT07", "--output", "json", stdin=text)
    assert code == 1
    assert len(found(out)) == 1


def test_standard_input_takes_the_settings_of_its_place(lint: Lint) -> None:
    Path("sub").mkdir()
    Path("sub/grpo-lint.toml").write_text('ignore = ["NOT07"]\n', encoding="utf-8")
    assert lint("--stdin-filename", "run.sh", stdin=SCRIPT.encode())[0] == 1
    assert lint("--stdin-filename", "sub/run.sh", "--output", "concise", stdin=SCRIPT.encode())[:2] == (0, "")


def test_standard_input_by_its_first_line(lint: Lint) -> None:
    assert "NOT07" in lint("--stdin-filename", "launch", "--output", "concise", stdin=SCRIPT.encode())[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--stdin",), "--stdin: say with --stdin-filename NAME where the text belongs and, by its suffix, what it is"),
        (("--stdin-filename", "a.sh", "b.sh"), "--stdin-filename a.sh: no other paths can be linted with it"),
        (("--stdin-filename", "a.txt"), "--stdin-filename a.txt: no file of this name is read"),
        (("--stdin-filename", "a.sh", "--diff-file", "-"), "--diff-file -: standard input is the file to lint already"),
    ],
)
def test_what_standard_input_can_not_be(lint: Lint, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = lint(*arguments, stdin=b"x\n")
    assert (code, out) == (2, "")
    assert err.startswith(f"grpo-lint: {message}")


def test_standard_input_that_is_no_text(lint: Lint) -> None:
    code, out, _ = lint("--stdin-filename", "a.sh", "--output", "concise", stdin=b"verl \xff\n")
    assert code == 2
    assert "not valid UTF-8" in out


# -- a diff


def diff(path: str, *hunks: str, old: str | None = None) -> bytes:
    head = f"diff --git a/{path} b/{path}\n--- {old or 'a/' + path}\n+++ b/{path}\n"
    return (head + "".join(hunks)).encode()


ON_4 = "@@ -4 +4 @@ x\n-    actor_rollout_ref.rollout.n=8\n+    actor_rollout_ref.rollout.n=1\n"
ON_3 = "@@ -3,1 +3,1 @@\n-    algorithm.adv_estimator=gae \\\n+    algorithm.adv_estimator=grpo \\\n"
ON_1 = "@@ -1 +1 @@\n-#!/bin/sh\n+#!/bin/bash\n"
GONE_BELOW_4 = "@@ -5,2 +4,0 @@\n-a\n-b\n"
GONE_ABOVE_1 = "@@ -1,2 +0,0 @@\n-a\n-b\n"
WIDE = "@@ -1,4 +1,4 @@\n #!/bin/bash\n python3 -m verl.trainer.main_ppo \\\n-    gae\n+    grpo\n     n=1\n"


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        (diff("run.sh", ON_4), True),
        (diff("run.sh", ON_3), True),  # a related place
        (diff("run.sh", ON_1), False),
        (diff("run.sh", ON_1, ON_4), True),
        (diff("run.sh", GONE_BELOW_4), True),
        (diff("run.sh", GONE_ABOVE_1), False),
        (diff("run.sh", ON_4).replace(b"\n", b"\r\n"), True),
        (diff("run.sh", ON_4, old="/dev/null"), True),
        (diff("other.sh", ON_4), False),
        (diff("run.sh", ON_1) + diff("other.sh", ON_4), False),
        (diff("other.sh", ON_1) + diff("run.sh", ON_4), True),
        (b"--- run.sh\told\n+++ run.sh\tnew\n" + ON_4.encode(), True),
        (b'--- "a/run.sh"\n+++ "b/\\162un.sh"\n' + ON_4.encode(), True),
        (b"diff --git i/run.sh w/run.sh\n--- i/run.sh\n+++ w/run.sh\n" + ON_4.encode(), True),
        (b"--- a/run.sh\n+++ /dev/null\n@@ -1,4 +0,0 @@\n-a\n-b\n-c\n-d\n", False),
        (b"diff --git a/x.png b/x.png\nBinary files a/x.png and b/x.png differ\n", False),
        (b"", False),
        (b"\n", False),
        (diff("run.sh", "@@ -1,1 +1,2 @@\n-#\n+++ b/x\n+@@ -1 +4 @@\n"), False),  # a text that looks like a diff
    ],
)
def test_only_findings_on_lines_of_a_change_count(lint: Lint, text: bytes, reported: bool) -> None:
    code, out, err = lint("--diff-file", "-", "--select", "NOT07", "--output", "json", stdin=text)
    assert err == ""
    assert found(out) == (["run.sh:4 NOT07"] if reported else [])
    assert code == int(reported)
    Path("x.diff").write_bytes(text)
    assert lint("--diff-file", "x.diff", "--select", "NOT07")[0] == int(reported)


def test_context_lines_are_not_touched(lint: Lint) -> None:
    for kept, code in ((WIDE, 1), (WIDE.replace("-    gae\n+    grpo\n", "     grpo\n"), 0)):
        assert lint("--diff-file", "-", "--select", "NOT07", stdin=diff("run.sh", kept))[0] == code
    text = " #!/bin/bash\n-set -x\n python3 -m verl.trainer.main_ppo \\\n     grpo\n     n=1\n"
    assert lint("--diff-file", "-", "--select", "NOT07", stdin=diff("run.sh", "@@ -1,5 +1,4 @@\n" + text))[0] == 0
    text = " #!/bin/bash\n python3 -m verl.trainer.main_ppo \\\n     grpo\n     n=1\n-    x=1\n"
    assert lint("--diff-file", "-", "--select", "NOT07", stdin=diff("run.sh", "@@ -1,5 +1,4 @@\n" + text))[0] == 1


def test_a_diff_counts_from_the_repository(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("sub").mkdir()
    Path("sub/run.sh").write_text(SCRIPT, encoding="utf-8")
    monkeypatch.chdir("sub")
    for path, code in (("sub/run.sh", 1), ("other/run.sh", 0)):
        assert lint("--diff-file", "-", "--select", "NOT07", stdin=diff(path, ON_4))[0] == code
    assert lint("--diff-file", "-", "--select", "NOT07", stdin=b"--- run.sh\n+++ run.sh\n" + ON_4.encode())[0] == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"hello\n", "--diff-file: this is no unified diff"),
        (b"4c4\n< n=8\n---\n> n=1\n", "--diff-file: this is no unified diff"),
        (b"diff --cc a\n--- a/a\n+++ b/a\n@@@ -1,1 -1,1 +1,1 @@@\n", "--diff-file: a combined diff doesn't say"),
    ],
)
def test_what_is_no_diff(lint: Lint, text: bytes, message: str) -> None:
    code, out, err = lint("--diff-file", "-", stdin=text)
    assert (code, out) == (2, "")
    assert err.startswith(f"grpo-lint: {message}")


def test_a_diff_that_is_not_there(lint: Lint) -> None:
    assert lint("--diff-file", "none.diff")[2] == "grpo-lint: --diff-file none.diff: No such file or directory\n"


@pytest.mark.skipif(shutil.which("git") is None, reason="no git here")
def test_what_git_writes(lint: Lint) -> None:
    def git(*arguments: str) -> bytes:
        settings = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=main")
        return subprocess.run(["git", *settings, *arguments], check=True, capture_output=True).stdout

    shutil.rmtree(".git")
    git("init", "-q")
    name = "späte läufe.sh"
    Path(name).write_text(SCRIPT.replace("n=1", "n=8"), encoding="utf-8")
    git("add", ".")
    git("commit", "-q", "-m", "x")
    Path(name).write_text(SCRIPT, encoding="utf-8")
    for options in ((), ("-U0",), ("--no-prefix",), ("-c", "core.quotePath=false")):
        before = options if options[:1] == ("-c",) else ()
        text = git(*before, "diff", *(() if before else options), "HEAD")
        code, out, _ = lint("--diff-file", "-", "--select", "NOT07", "--output", "json", stdin=text)
        assert (code, found(out)) == (1, [f"{name}:4 NOT07"]), options


# -- progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_on_a_terminal_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    stream, now = Terminal(), [0.0]
    monkeypatch.setattr(sys, "stderr", stream)
    shown = terminal.Progress(lambda: now[0])
    for seconds, files in ((0.5, 10), (1.0, 1234), (1.05, 1300), (1.2, 1400)):
        now[0] = seconds
        shown(files, 3)
    shown.clear()
    assert stream.getvalue() == ("\r\x1b[K1,234 files, 3 findings so far\r\x1b[K1,400 files, 3 findings so far\r\x1b[K")


def test_a_short_linting_shows_none(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    shown = terminal.Progress(lambda: 0.0)
    shown(1, 0)
    shown.clear()
    assert stream.getvalue() == ""


@pytest.mark.parametrize(("name", "value"), [("CI", "true"), ("TERM", "dumb")])
def test_none_where_nobody_looks(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert terminal.progress() is not None
    monkeypatch.setenv(name, value)
    assert terminal.progress() is None
    monkeypatch.undo()
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert terminal.progress() is None


def test_a_long_linting_shows_it(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(terminal.Progress, "PATIENCE", 0.0)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", stream)
    assert lint("--output", "concise")[0] == 1
    assert stream.getvalue() == "\r\x1b[K1 file, 0 findings so far\r\x1b[K"


# -- completion


def completed(script: str, *words: str) -> set[str]:
    """What bash offers for the last of some words, by the script."""
    quoted = " ".join(f"'{word}'" for word in words)
    ask = f"COMP_WORDS=({quoted})\nCOMP_CWORD={len(words) - 1}\n_grpo_lint\nprintf '%s\\n' \"${{COMPREPLY[@]}}\""
    program = f"{script}\n{ask}"
    run = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    assert run.stderr == ""
    return set(run.stdout.split("\n")) - {""}


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_completion_in_bash(lint: Lint) -> None:
    script = lint("--completion", "bash")[1]
    subprocess.run(["bash", "-n", "-c", script], check=True)
    assert completed(script, "grpo-lint", "--fail") == {"--fail-on"}
    assert completed(script, "grpo-lint", "--fail-on", "") == {"note", "warning", "error", "never"}
    assert completed(script, "grpo-lint", "--fail-on", "=", "w") == {"warning"}
    assert completed(script, "grpo-lint", "check", "--select", "NOT07") == {"NOT07"}
    assert completed(script, "grpo-lint", "--profile", "s") == {"strict"}
    assert completed(script, "grpo-lint", "explain", "group-size-1") == {"group-size-1"}
    assert completed(script, "grpo-lint", "recommend", "mo") == {"moe-nan"}
    assert completed(script, "grpo-lint", "recommend", "--format", "verl") == {"verl", "verl-yaml"}
    assert completed(script, "grpo-lint", "compare", "fsdp") == {"fsdp1", "fsdp2"}
    assert completed(script, "grpo-lint", "show", "--fo") == {"--format"}
    assert completed(script, "grpo-lint", "ru") == {"rules", "run.sh"}
    assert completed(script, "grpo-lint", "check", "ru") == {"run.sh"}
    assert completed(script, "grpo-lint", "--settings", "ru") == {"run.sh"}
    assert completed(script, "grpo-lint", "compare", "fsdp1", "fs") == {"fsdp1", "fsdp2"}
    assert completed(script, "grpo-lint", "guide", "fs") == {"fsdp"}
    assert completed(script, "grpo-lint", "guide", "s") == {"sync", "sleep"}
    assert completed(script, "grpo-lint", "guide", "fsdp", "ru") == {"run.sh"}
    assert completed(script, "grpo-lint", "compare", "z") == {"zero2", "zero3"}
    assert completed(script, "grpo-lint", "diagnose", "--log", "ru") == {"run.sh"}
    assert completed(script, "grpo-lint", "diagnose", "ru") == {"run.sh"}
    assert completed(script, "grpo-lint", "rules", "") == set()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_option(lint: Lint, shell: str) -> None:
    code, script, err = lint("--completion", shell)
    assert (code, err) == (0, "")
    for command in COMMANDS:
        assert command in script
        for action in parser(command)._actions:
            for name in action.option_strings:
                dashes = "-l " if name.startswith("--") else "-s "
                assert (dashes + name.lstrip("-") if shell == "fish" else name) in script


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_shell_itself_reads_its_script(lint: Lint, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    Path("script").write_text(lint("--completion", shell)[1], encoding="utf-8")
    subprocess.run([shell, "-n", "script"], check=True)


def test_help_names_every_setting_of_the_command_line(lint: Lint) -> None:
    out = lint("--help")[1]
    for name in ("--select", "--level", "--per-file-ignore", "--diff-file", "--stdin-filename", "--baseline"):
        assert name in out


def test_an_output_is_written_whole_or_not_at_all(lint: Lint) -> None:
    Path("report.json").write_text("old", encoding="utf-8")
    assert lint("--output", "json=report.json")[0] == 1
    assert found(Path("report.json").read_text(encoding="utf-8"))
    assert sorted(os.listdir()) == [".git", "report.json", "run.sh"]
