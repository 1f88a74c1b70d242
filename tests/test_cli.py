"""The command as a person or a script meets it: exit codes, bad input, where output goes."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grpo_lint import __version__, arguments, cli
from grpo_lint.reporters import FORMATS

GOOD = '{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}, "gradient_clipping": 1.0}\n'
BAD = GOOD.replace("}\n", ', "fp16": {"enabled": true}}\n')
BROKEN = GOOD.replace("}\n", "\n")
FAULT = "ds.json:1:110: NOT17 error"

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs the command in an empty folder, as a process of its own, with a limit on its time."""

    def start(*arguments: str, **more: object) -> subprocess.CompletedProcess[str]:
        options = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 20, **more}
        command = [sys.executable, "-m", "grpo_lint", *arguments]
        result = subprocess.run(command, check=False, **options)  # type: ignore[call-overload]
        assert "Traceback" not in (result.stderr or ""), result.stderr
        assert "internal error" not in (result.stdout or "") + (result.stderr or "")
        return result

    return start


def put(folder: Path, name: str, text: str | bytes = GOOD) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def only_line(text: str) -> str:
    """The one line of a text; fails when there are more."""
    (line,) = text.splitlines()
    return line


# -- exit codes


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize(
    ("files", "arguments", "code"),
    [
        ({"ds.json": GOOD}, [], 0),
        ({"ds.json": BAD}, [], 1),
        ({"ds.json": BAD}, ["--fail-on", "error"], 1),
        ({"ds.json": BAD}, ["--ignore", "NOT17"], 0),
        ({"ds.json": BAD, "x.json": b"\x00zero_optimization"}, ["x.json", "ds.json"], 2),
        ({"ds.json": GOOD}, ["nowhere.json"], 2),
    ],
)
def test_the_exit_code_is_the_same_for_every_format(
    run: Run, tmp_path: Path, format: str, files: dict[str, str], arguments: list[str], code: int
) -> None:
    for name, text in files.items():
        put(tmp_path, name, text)
    assert run("--output", format, *arguments).returncode == code


def test_notes_count_when_they_are_asked_to(run: Run, tmp_path: Path) -> None:
    put(tmp_path, "ds.json", '{"zero_optimization": {"stage": 2}, "optimizer": {"type": "AdamW"}}\n')
    assert ": DO02 note" in run("--output", "concise").stdout
    assert run().returncode == 0
    assert run("--fail-on", "note").returncode == 1


def test_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(words: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "_run", interrupt)
    assert cli.main([str(tmp_path)]) == 130


def test_a_fault_of_the_linter_is_told_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(words: list[str]) -> int:
        raise ZeroDivisionError("by\n0")

    monkeypatch.setattr(cli, "_run", fail)
    assert cli.main([str(tmp_path)]) == 2
    line = only_line(capsys.readouterr().err)
    assert line.startswith("grpo-lint: internal error, please report it: ZeroDivisionError: by\\n0 at ")
    assert "test_cli.py:" in line


# -- what can't be read


def test_a_missing_path(run: Run, tmp_path: Path) -> None:
    put(tmp_path, "ds.json", BAD)
    result = run("ds.json", "nowhere.json")
    assert only_line(result.stderr) == "grpo-lint: nowhere.json: there is no such file or directory"
    assert (result.returncode, result.stdout) == (2, "")


def test_no_path_means_this_folder(run: Run, tmp_path: Path) -> None:
    put(tmp_path, "ds.json", BAD)
    assert run("--output", "concise").stdout.startswith(FAULT)


def unreadable(path: Path) -> None:
    """Make a file that can't be read. Root reads everything, so on Linux it is one that gives an I/O error."""
    if os.geteuid():
        put(path.parent, path.name).chmod(0)
    elif sys.platform == "linux":
        path.symlink_to("/proc/self/mem")
    else:
        pytest.skip("root can read every file here")


def endless_link(path: Path) -> None:
    path.symlink_to(path.name)


def fifo(path: Path) -> None:
    os.mkfifo(path)


def sparse(path: Path) -> None:
    put(path.parent, path.name, GOOD)
    os.truncate(path, 100_000_000)


CASES: dict[str, tuple[str | bytes | Callable[[Path], None], str]] = {
    "binary": (b'\x7fELF\x00"zero_optimization"', "binary file (it contains NUL bytes)"),
    "latin-1": (b'{"zero_optimization": "caf\xe9"}', "not valid UTF-8 at byte 26; save it as UTF-8"),
    "half of a UTF-16": (b'\xff\xfe{\x00"', "not valid UTF-16 at byte 4; save it as UTF-8"),
    "100 MB": (sparse, "too large: 100,000,000 bytes, the limit is 8,388,608"),
    "broken link": (lambda path: path.symlink_to("nowhere"), "No such file or directory"),
    "endless link": (endless_link, "Too many levels of symbolic links"),
    "FIFO": (fifo, "not a regular file"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "not a regular file"),
}


@pytest.mark.parametrize("suffix", [".json", ".yaml", ".sh"])
@pytest.mark.parametrize("case", CASES)
def test_what_can_not_be_read_is_told_and_the_rest_is_linted(run: Run, tmp_path: Path, case: str, suffix: str) -> None:
    content, why = CASES[case]
    path = tmp_path / f"a{suffix}"
    if callable(content):
        content(path)
    else:
        put(tmp_path, path.name, content)
    put(tmp_path, "ds.json", BAD)
    result = run(path.name, "ds.json", "--output", "concise")
    fault, notice = result.stdout.splitlines()
    assert fault.startswith(FAULT)
    assert notice == f"{path.name}: notice: {why}"
    assert (result.returncode, result.stderr) == (2, "")


def test_a_file_without_permission(run: Run, tmp_path: Path) -> None:
    unreadable(tmp_path / "a.sh")
    put(tmp_path, "ds.json", BAD)
    result = run("a.sh", "ds.json", "--output", "concise")
    assert result.stdout.startswith(FAULT)
    assert result.stdout.splitlines()[1] in ("a.sh: notice: Input/output error", "a.sh: notice: Permission denied")


@pytest.mark.parametrize("case", CASES)
def test_what_can_not_be_read_in_a_folder_is_no_reason_to_fail(run: Run, tmp_path: Path, case: str) -> None:
    content, _ = CASES[case]
    if callable(content):
        content(tmp_path / "a.json")
    else:
        put(tmp_path, "a.json", content)
    put(tmp_path, "ds.json", GOOD)
    assert run(".").returncode == 0


def test_a_folder_without_permission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    scandir = os.scandir

    def refuse(path: str) -> object:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    (tmp_path / "closed").mkdir()
    put(tmp_path, "ds.json", BAD)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "scandir", refuse)
    assert cli.main([".", "--output", "concise", "--select", "NOT17"]) == 2
    fault, notice = capsys.readouterr().out.splitlines()
    assert fault.startswith(FAULT)
    assert notice == "closed: notice: can't list this folder: Permission denied"


@pytest.mark.parametrize("name", ["a.json", "a.yaml", "a.sh", "a.hjson"])
def test_an_empty_file(run: Run, tmp_path: Path, name: str) -> None:
    put(tmp_path, name, "")
    assert run(name).returncode == 0


def test_broken_syntax_is_a_finding_at_its_line(run: Run, tmp_path: Path) -> None:
    put(tmp_path, "ds.json", BROKEN)
    result = run("--output", "concise")
    assert only_line(result.stdout).startswith("ds.json:2:1: SRC01 error: ")
    assert result.returncode == 1


def test_a_loop_of_folders(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    put(tmp_path / "a", "ds.json", BAD)
    (tmp_path / "a" / "loop").symlink_to("../a")
    (tmp_path / "again").symlink_to("a")
    assert only_line(run("--output", "concise").stdout).startswith(f"a/{FAULT}")


@pytest.fixture
def deep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file below more folders than Python likes to recurse into; they are removed, since pytest couldn't."""
    monkeypatch.chdir(tmp_path)
    for _ in range(1200):
        os.mkdir("d")
        os.chdir("d")
    put(Path("."), "ds.json", BAD)
    yield tmp_path
    os.remove("ds.json")
    for _ in range(1200):
        os.chdir("..")
        os.rmdir("d")


def test_a_very_deep_folder(run: Run, deep: Path) -> None:
    assert ": NOT17 error" in run(str(deep), "--output", "concise").stdout


def test_after_two_dashes_all_words_are_paths(run: Run, tmp_path: Path) -> None:
    for name in ("-a.json", "b.json"):
        put(tmp_path, name, BAD)
    result = run("--output", "concise", "--select", "NOT17", "--", "-a.json", "b.json", cwd=tmp_path)
    assert [line.split(":")[0] for line in result.stdout.splitlines()] == ["-a.json", "b.json"]
    assert run("show", "--only", "changed", "--", "-a.json", cwd=tmp_path).returncode == 0


def test_a_file_that_is_given_twice_is_linted_once(run: Run, tmp_path: Path) -> None:
    put(tmp_path, "ds.json", BAD)
    (tmp_path / "link.json").symlink_to("ds.json")
    result = run("ds.json", "./ds.json", "link.json", ".", str(tmp_path), "--output", "concise")
    assert only_line(result.stdout).startswith(FAULT)


def test_a_name_that_would_steer_a_terminal(run: Run, tmp_path: Path) -> None:
    put(tmp_path, "a\n\x1b[31m.json", BAD)
    put(tmp_path, "b\r\udcff.json", BAD)
    result = run("--output", "concise")
    assert [line.split(":")[0] for line in result.stdout.splitlines()] == [r"a\n\x1b[31m.json", r"b\r\xff.json"]
    assert only_line(run("no\nsuch\x1b[2J").stderr).startswith(r"grpo-lint: no\nsuch\x1b[2J: there is no")


def test_a_working_directory_that_is_gone(run: Run, tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    script = 'cd gone && rmdir ../gone && "$0" -m grpo_lint .'
    command = ["sh", "-c", script, sys.executable]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert only_line(result.stderr) == "grpo-lint: the working directory can't be used: No such file or directory"
    assert result.returncode == 2


# -- what can't be meant


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--output", "jason"], "--output jason: no format is called 'jason'; did you mean json?"),
        (["--output", "zzz"], "--output zzz: no format is called 'zzz'; known are text, concise, json, "),
        (["--output", "json="], "--output json=: name a file after the ="),
        (["--output", "json=no/where.json"], "--output json=no/where.json: No such file or directory"),
        (["--output", "json=."], "--output json=.: Is a directory"),
        (["--select", "NOT77"], "no rule, prefix or topic is called 'NOT77'"),
        (["--ignore", "grup-size-1"], "no rule, prefix or topic is called 'grup-size-1'; did you mean group-size-1?"),
        (["--target", "verll=0.9.1"], "--target verll=0.9.1: no framework is called 'verll'"),
        (["--target", "verl"], "--target verl: write FRAMEWORK=RELEASE"),
        (["explain", "bf16-and-fp61"], "no rule is called 'bf16-and-fp61'; did you mean bf16-and-fp16?"),
        (["show", "nowhere.sh"], "nowhere.sh: there is no such file or directory"),
    ],
)
def test_what_can_not_be_meant_is_told_in_a_line(run: Run, tmp_path: Path, arguments: list[str], message: str) -> None:
    put(tmp_path, "ds.json")
    result = run(*arguments)
    line = only_line(result.stderr)
    assert line.startswith("grpo-lint: ")
    assert message in line
    assert (result.returncode, result.stdout) == (2, "")


@pytest.mark.parametrize("arguments", [["--fail-on", "fatal"], ["--colour"], ["show"], ["explain"], ["rules", "x"]])
def test_a_wrong_command_line(run: Run, arguments: list[str]) -> None:
    result = run(*arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert "grpo-lint" in result.stderr.splitlines()[-1]


def test_rules_are_found_by_name_and_in_any_case(run: Run) -> None:
    assert run("explain", "not17").stdout == run("explain", "bf16-and-fp16").stdout != ""


@pytest.mark.parametrize("words", [["--version"], ["-V"], ["check", "--version"]])
def test_the_version(run: Run, words: list[str]) -> None:
    assert run(*words).stdout == f"grpo-lint {__version__}\n"


def test_help_names_every_command(run: Run) -> None:
    text = run("--help").stdout
    assert all(f"\n  {command} " in text for command in arguments.COMMANDS)


# -- where output goes


def test_several_outputs_at_once(run: Run, tmp_path: Path) -> None:
    put(tmp_path, "ds.json", BAD)
    result = run("--output=json=a.json", "--output=concise", "--output=sarif=b.sarif", "--output=text=c.txt")
    assert result.stdout.startswith(FAULT)
    assert json.loads((tmp_path / "a.json").read_text())["counts"]["error"] == 1
    assert json.loads((tmp_path / "b.sarif").read_text())["runs"][0]["results"][0]["ruleId"] == "NOT17"
    assert (tmp_path / "c.txt").read_text().startswith("error[NOT17 bf16-and-fp16]")


COMMANDS = [["--version"], ["--help"], ["rules"], ["rules", "--format", "json"], ["explain", "NOT17"], ["matrix"],
            ["guide", "fsdp"], ["compare", "fsdp1", "fsdp2"],
            ["ds.json"], ["show", "ds.json"], ["ds.json", "--output", "sarif"]]  # fmt: skip


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_reader_that_goes_away(run: Run, tmp_path: Path, words: list[str]) -> None:
    put(tmp_path, "ds.json", BAD)
    reading, writing = os.pipe()
    os.close(reading)
    result = run(*words, capture_output=False, stdout=writing, stderr=subprocess.PIPE, env=buffered())
    os.close(writing)
    assert (result.returncode, result.stderr) == (2, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_full_disk(run: Run, tmp_path: Path, words: list[str]) -> None:
    put(tmp_path, "ds.json", BAD)
    with open("/dev/full", "w", encoding="utf-8") as full:
        result = run(*words, capture_output=False, stdout=full, stderr=subprocess.PIPE, env=buffered())
    assert only_line(result.stderr) == "grpo-lint: can't write to standard output: No space left on device"
    assert result.returncode == 2
    if words[0] == "ds.json":
        result = run("ds.json", "--output", "json=/dev/full")
        assert only_line(result.stderr) == "grpo-lint: --output json=/dev/full: No space left on device"
        assert result.returncode == 2


def buffered() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


@pytest.mark.parametrize("redirected", [">&-", "2>&-", ">&- 2>&-"])
def test_closed_streams(tmp_path: Path, redirected: str) -> None:
    put(tmp_path, "ds.json", BAD)
    command = ["sh", "-c", f'"$0" -m grpo_lint ds.json {redirected}', sys.executable]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.stderr == ""
    assert result.returncode == 1


def test_ctrl_c_ends_quietly(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "out")
    put(tmp_path, "ds.json", BAD)
    command = [sys.executable, "-m", "grpo_lint", "ds.json", "--output", "json=out"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a job in the background ignores it
    ) as process:
        # it waits for somebody to read the FIFO
        try:
            process.wait(3)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=20)
        finally:
            process.kill()
    assert (process.returncode, out, err) == (130, "", "")


@pytest.mark.parametrize(
    ("environment", "arguments", "colored"),
    [
        ({}, [], False),
        ({"FORCE_COLOR": "1"}, [], True),
        ({"FORCE_COLOR": ""}, [], False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, [], False),
        ({"FORCE_COLOR": "1", "NO_COLOR": ""}, [], True),
        ({"NO_COLOR": "1"}, ["--color", "always"], True),
        ({"FORCE_COLOR": "1"}, ["--color", "never"], False),
    ],
)
def test_colors(run: Run, tmp_path: Path, environment: dict[str, str], arguments: list[str], colored: bool) -> None:
    put(tmp_path, "ds.json", BAD)
    plain = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    out = run("ds.json", *arguments, env={**plain, **environment}).stdout
    assert ("\x1b[" in out) == colored


def test_text_keeps_to_80_columns(run: Run, tmp_path: Path) -> None:
    put(tmp_path, "ds.json", BAD)
    out = run("ds.json").stdout
    assert "NOT17" in out
    assert max(len(line) for line in out.splitlines() if '"zero_optimization"' not in line) <= 80


def test_a_terminal_of_another_encoding(run: Run, tmp_path: Path) -> None:
    put(tmp_path, "é.json", BAD)
    out = run("é.json", "--output", "concise", env={**os.environ, "PYTHONIOENCODING": "ascii"}).stdout
    assert out.startswith(r"\xe9.json:1:")


def test_files_of_one_repository_share_what_they_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A hook names files one by one; what they have in common is still read once."""
    from grpo_lint.discover import Repository
    from grpo_lint.source import SourceFile

    (tmp_path / ".git").mkdir()
    (tmp_path / "common.sh").write_text("N=1\n", encoding="utf-8")
    scripts = []
    for name in ("a.sh", "b.sh"):
        script = tmp_path / name
        script.write_text(
            "source common.sh\n"
            "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=$N\n",
            encoding="utf-8",
        )
        scripts.append(str(script))
    read: list[str] = []
    plain = Repository._read

    def noted(self: Repository, path: str, real: str) -> SourceFile | None:
        read.append(real)
        return plain(self, path, real)

    monkeypatch.setattr(Repository, "_read", noted)
    assert cli.main([*scripts, "--output", "concise", "--select", "NOT07"]) == 1
    assert capsys.readouterr().out.count("NOT07") == 2
    assert read.count(str(tmp_path.resolve() / "common.sh")) == 1


def test_a_marked_value_is_not_its_own_origin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of an arithmetic expansion the expression is marked, and the assignment that it reads told beside it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.sh").write_text(
        "N=2\npython3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=$((N / 2))\n",
        encoding="utf-8",
    )
    assert cli.main(["run.sh", "--output", "json", "--select", "NOT07"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["diagnostics"]
    places = [(place["line"], place["column"]) for place in found["related"]]
    assert (found["primary"]["line"], found["primary"]["column"]) not in places
    assert (1, 3) in places
