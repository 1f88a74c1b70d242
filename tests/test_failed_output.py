"""Where a report can't be written: a line that says why, exit code 2, and never half a file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grpo_lint import atomic
from grpo_lint.cli import main
from grpo_lint.reporters import FORMATS

BAD = '{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}, "fp16": {"enabled": true}}\n'
OLD = "what was there before\n"
SIZE = 64 * 1024


def mounted(folder: Path, options: str) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for 64 KB, of which 4 are left, and with a report of an earlier run."""
    if sys.platform != "linux" or os.geteuid():
        pytest.skip("only root on Linux can make a file system here")
    folder = tmp_path / "disk"
    folder.mkdir()
    if not mounted(folder, "size=64k"):
        pytest.skip("no file system can be mounted here")
    try:
        (folder / "report").write_text(OLD)
        (folder / "filler").write_bytes(b"\0" * (SIZE - 8192))
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Many files with the same fault, so that no report of them is small."""
    here = tmp_path / "here"
    here.mkdir()
    for number in range(60):
        (here / f"ds{number}.json").write_text(BAD)
    monkeypatch.chdir(here)
    return here


def failure(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What is said of a command that fails, in its one line."""
    assert main(list(arguments)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = captured.err.splitlines()
    assert line.startswith("grpo-lint: ")
    return line.removeprefix("grpo-lint: ")


@pytest.mark.parametrize("format", FORMATS)
def test_a_full_disk_leaves_the_old_report(small_disk: Path, format: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = small_disk / "report"
    assert failure(capsys, "--output", f"{format}={path}") == f"--output {format}={path}: No space left on device"
    assert path.read_text() == OLD
    assert sorted(os.listdir(small_disk)) == ["filler", "report"]


def test_a_full_disk_leaves_no_half_of_a_new_report(small_disk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = small_disk / "new.json"
    assert "No space left on device" in failure(capsys, "--output", f"json={path}")
    assert sorted(os.listdir(small_disk)) == ["filler", "report"]
    assert "No space left on device" in failure(capsys, "--verdicts", "--output", f"json={path}")
    assert sorted(os.listdir(small_disk)) == ["filler", "report"]


def test_a_full_disk_leaves_the_old_baseline(small_disk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = small_disk / "report"
    line = failure(capsys, "--write-baseline", str(path))
    assert line == f"--write-baseline {path}: No space left on device"
    assert path.read_text() == OLD


def test_a_disk_that_can_only_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if sys.platform != "linux" or os.geteuid():
        pytest.skip("only root on Linux can make a file system here")
    disk = tmp_path / "disk"
    disk.mkdir()
    if not mounted(disk, "size=64k,ro"):
        pytest.skip("no file system can be mounted here")
    try:
        line = failure(capsys, "--output", f"sarif={disk}/a.sarif")
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    assert line == f"--output sarif={disk}/a.sarif: Read-only file system"


@pytest.mark.skipif(not os.geteuid(), reason="root may write everywhere")
def test_a_folder_without_permission(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    assert failure(capsys, "--output", f"json={closed}/a.json").endswith(": Permission denied")


@pytest.mark.parametrize("path", ["no/where.json", "ds0.json/a.json", ".", "a" * 300])
def test_a_path_that_leads_nowhere(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    line = failure(capsys, "--output", f"json={path}")
    assert line.startswith(f"--output json={path}: ")
    assert not [name for name in os.listdir() if not name.startswith("ds")]


def test_the_first_report_is_whole_when_the_second_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert "No such file or directory" in failure(capsys, "--output", "json=a.json", "--output", "sarif=no/b.sarif")
    assert Path("a.json").read_text().endswith("}\n")


def test_ctrl_c_while_a_report_is_written_leaves_the_old_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(handle: int) -> None:
        raise KeyboardInterrupt

    Path("report.html").write_text(OLD)
    monkeypatch.setattr(os, "fsync", interrupt)
    assert main(["--output", "html=report.html"]) == 130
    assert capsys.readouterr() == ("", "")
    assert Path("report.html").read_text() == OLD
    assert not [name for name in os.listdir() if name.startswith(".grpo-lint")]


def test_ctrl_c_of_the_real_program(folder: Path) -> None:
    """In the middle of a linting that takes some time: no traceback, no report, and the code that shells expect."""
    launch = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=8\n"
    (folder / "long.sh").write_text(launch * 3000)
    code = (
        "import os; from grpo_lint.cli import main; os.write(1, b'ready\\n');"
        "os._exit(main(['long.sh', '--output', 'json=report.json']))"
    )
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "")
    assert not os.path.exists("report.json")


def test_a_link_that_leads_nowhere_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "target")
    atomic.write(str(tmp_path / "link"), "text")
    assert (tmp_path / "target").read_text() == "text"


@pytest.mark.parametrize("format", FORMATS)
def test_broken_settings_are_told_whatever_the_format(format: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("grpo-lint.toml").write_text("fail-on = [\n")
    line = failure(capsys, "--output", f"{format}=report")
    assert line.startswith("grpo-lint.toml:")
    assert not os.path.exists("report")
