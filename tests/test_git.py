"""`--diff-base` with real repositories: what counts as changed, what git must not run, and what is said."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from grpo_lint import git as our_git
from grpo_lint.cli import main

LAUNCH = (
    "python3 -m verl.trainer.main_ppo \\\n    algorithm.adv_estimator=grpo \\\n    actor_rollout_ref.rollout.n=%s\n"
)
GOOD, BAD = LAUNCH % 8, LAUNCH % 1

Lint = Callable[..., tuple[int, list[str], str]]


def git(*arguments: str, cwd: str | Path = ".") -> str:
    settings = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgSign=false")
    command = ["git", *settings, *arguments]
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True).stdout.strip()


def commit(message: str = "change", cwd: str | Path = ".") -> None:
    git("add", "-A", cwd=cwd)
    git("commit", "-q", "-m", message, cwd=cwd)


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a faulty and a good script, in which we are."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    folder = tmp_path / "repository"
    folder.mkdir()
    git("init", "-q", "-b", "main", cwd=folder)
    (folder / "old.sh").write_text(BAD)
    (folder / "good.sh").write_text(GOOD)
    commit("first", folder)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def lint(capsys: pytest.CaptureFixture[str]) -> Lint:
    """The exit code, the places of the findings, and what is said on standard error."""

    def run(*arguments: str) -> tuple[int, list[str], str]:
        capsys.readouterr()
        code = main([*arguments, "--select", "NOT07", "--output", "json"])
        captured = capsys.readouterr()
        found = json.loads(captured.out)["diagnostics"] if captured.out else []
        return code, [f"{one['primary']['path']}:{one['primary']['line']}" for one in found], captured.err

    return run


def test_what_did_not_change_does_not_count(lint: Lint) -> None:
    assert lint()[1] == ["old.sh:3"]
    assert lint("--diff-base", "HEAD") == (0, [], "")


def test_a_changed_line_counts_committed_or_not(lint: Lint) -> None:
    Path("good.sh").write_text(BAD)
    assert lint("--diff-base", "main")[:2] == (1, ["good.sh:3"])
    git("add", "good.sh")
    assert lint("--diff-base", "main")[1] == ["good.sh:3"]
    git("commit", "-qm", "worse")
    assert lint("--diff-base", "HEAD~1")[1] == ["good.sh:3"]
    assert lint("--diff-base", "HEAD")[1] == []


def test_a_changed_line_that_breaks_another_counts(lint: Lint) -> None:
    Path("good.sh").write_text(LAUNCH.replace("=grpo", "=gae") % 1)
    commit()
    Path("good.sh").write_text(BAD)  # only line 2 changed
    assert lint("--diff-base", "HEAD")[1] == ["good.sh:3"]


def test_a_file_that_git_does_not_know_is_new_as_a_whole(lint: Lint) -> None:
    Path("new folder").mkdir()
    Path("new folder/nöw.sh").write_text(BAD)
    Path("ignored.sh").write_text(BAD)
    Path(".gitignore").write_text("ignored.sh\n")
    assert lint("--diff-base", "HEAD")[1] == ["new folder/nöw.sh:3"]


def test_what_the_other_branch_did_since_does_not_count(lint: Lint) -> None:
    git("checkout", "-qb", "topic")
    Path("good.sh").write_text(BAD)
    commit()
    git("checkout", "-q", "main")
    Path("old.sh").write_text(GOOD)
    commit()
    git("checkout", "-q", "topic")
    assert lint("--diff-base", "main")[1] == ["good.sh:3"]


def test_a_file_that_moved_is_not_changed(lint: Lint) -> None:
    git("mv", "old.sh", "moved.sh")
    assert lint("--diff-base", "HEAD")[1] == []


def test_a_file_that_is_marked_as_binary_is_changed_as_a_whole(lint: Lint) -> None:
    Path(".gitattributes").write_text("*.sh binary\n")
    commit()
    Path("old.sh").write_text(BAD + "echo done\n")
    assert lint("--diff-base", "HEAD")[1] == ["old.sh:3"]


def test_it_works_from_a_folder_below_and_on_paths_from_above(
    lint: Lint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    Path("sub").mkdir()
    Path("sub/a.sh").write_text(GOOD)
    commit()
    Path("sub/a.sh").write_text(BAD)
    Path("sub/b.sh").write_text(BAD)
    monkeypatch.chdir("sub")
    assert lint("--diff-base", "HEAD")[1] == ["a.sh:3", "b.sh:3"]
    monkeypatch.chdir(tmp_path)
    assert lint("--diff-base", "HEAD", "repository")[1] == ["repository/sub/a.sh:3", "repository/sub/b.sh:3"]


def test_a_worktree_is_a_repository(lint: Lint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    git("worktree", "add", "-q", str(tmp_path / "other"), "-b", "other")
    monkeypatch.chdir(tmp_path / "other")
    Path("good.sh").write_text(BAD)
    assert lint("--diff-base", "main")[1] == ["good.sh:3"]


# -- what git must not do


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A program that leaves a mark when it is started."""
    program = tmp_path / "trap.sh"
    program.write_text(f"#!/bin/sh\ntouch '{tmp_path}/sprung'\ncat\n")
    program.chmod(0o755)
    return program


def test_nothing_that_the_repository_names_is_run(lint: Lint, trap: Path, tmp_path: Path) -> None:
    Path(".gitattributes").write_text("*.sh filter=evil diff=evil\n*.json filter=Long.Name\n")
    commit()
    for name in ("core.fsmonitor", "diff.external", "core.pager", "pager.diff", "core.sshCommand", "core.editor"):
        git("config", name, str(trap))
    for driver in ("evil", "Long.Name"):
        for name in ("clean", "smudge", "process"):
            git("config", f"filter.{driver}.{name}", str(trap))
        git("config", f"filter.{driver}.required", "true")
    for name in ("command", "textconv"):
        git("config", f"diff.evil.{name}", str(trap))
    hooks = Path(".git/hooks")
    hooks.mkdir(exist_ok=True)
    for name in ("post-index-change", "fsmonitor-watchman", "post-checkout", "pre-commit"):
        shutil.copy(trap, hooks / name)
    Path("good.sh").write_text(BAD)
    Path("new.sh").write_text(BAD)
    os.utime("old.sh", (1, 1))  # git has to look into it again
    index = Path(".git/index").read_bytes()
    assert lint("--diff-base", "HEAD")[:2] == (1, ["good.sh:3", "new.sh:3"])
    assert not (tmp_path / "sprung").exists()
    assert Path(".git/index").read_bytes() == index


def test_the_trap_would_have_sprung(trap: Path, tmp_path: Path) -> None:
    git("config", "diff.external", str(trap))
    Path("good.sh").write_text(BAD)
    git("diff")
    assert (tmp_path / "sprung").exists()


def test_the_environment_is_not_obeyed(lint: Lint, trap: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("good.sh").write_text(BAD)
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(trap))
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert lint("--diff-base", "HEAD")[1] == ["good.sh:3"]
    assert not (tmp_path / "sprung").exists()


def test_git_is_not_taken_from_the_working_directory(lint: Lint, trap: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(trap, "git")
    monkeypatch.setenv("PATH", os.pathsep.join((".", "", os.environ["PATH"])))
    assert lint("--diff-base", "HEAD")[0] == 0
    assert not trap.with_name("sprung").exists()


def test_settings_of_diffs_change_nothing(lint: Lint) -> None:
    for name, value in (
        ("diff.noprefix", "true"),
        ("diff.mnemonicPrefix", "true"),
        ("diff.relative", "true"),
        ("color.ui", "always"),
        ("diff.context", "9"),
        ("diff.interHunkContext", "9"),
        ("core.quotePath", "false"),
    ):
        git("config", name, value)
    Path("good.sh").write_text(BAD)
    Path("old.sh").write_text(BAD + "# more\n")
    assert lint("--diff-base", "HEAD")[1] == ["good.sh:3"]


def test_no_program_is_started_without_it(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a program was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert lint()[1] == ["old.sh:3"]


# -- what is said


def said(lint: Lint, *arguments: str) -> str:
    code, found, err = lint(*arguments)
    assert (code, found, err.count("\n")) == (2, [], 1), err
    return err.removeprefix("grpo-lint: ").strip()


@pytest.mark.parametrize("name", ["--output=/tmp/x", "-x", "", "a\nb", "--help"])
def test_a_name_can_not_be_an_option(lint: Lint, name: str) -> None:
    assert "this is no name of a commit" in said(lint, f"--diff-base={name}")


def test_an_unknown_revision(lint: Lint) -> None:
    text = said(lint, "--diff-base", "origin/main")
    assert text == "--diff-base origin/main: git knows no commit of this name; `git fetch` gets what the remote has"


def test_a_file_is_no_revision(lint: Lint) -> None:
    assert "git knows no commit of this name" in said(lint, "--diff-base", "good.sh")
    assert "git knows no commit of this name" in said(lint, "--diff-base", "HEAD:good.sh")


def test_a_repository_without_a_commit(lint: Lint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git("init", "-q", str(tmp_path / "empty"))
    monkeypatch.chdir(tmp_path / "empty")
    assert "git knows no commit of this name" in said(lint, "--diff-base", "HEAD")


def test_histories_without_a_common_commit(lint: Lint) -> None:
    git("checkout", "-q", "--orphan", "other")
    commit()
    assert "it has no commit in common with HEAD" in said(lint, "--diff-base", "main")


def test_no_repository(lint: Lint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert said(lint, "--diff-base", "HEAD") == "--diff-base HEAD: . is in the working tree of no git repository"


def test_a_path_elsewhere(lint: Lint, tmp_path: Path) -> None:
    other = tmp_path / "other.sh"
    other.write_text(BAD)
    assert "is not in the repository" in said(lint, "--diff-base", "HEAD", ".", str(other))


def test_a_shallow_clone_says_how_to_fetch(lint: Lint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit_of_main = git("rev-parse", "HEAD")
    Path("good.sh").write_text(BAD)
    commit()
    address = Path.cwd().as_uri()
    git("clone", "-q", "--depth", "1", address, str(tmp_path / "shallow"))
    monkeypatch.chdir(tmp_path / "shallow")
    text = said(lint, "--diff-base", commit_of_main)
    assert "this clone is shallow; `git fetch --unshallow` gets the rest" in text
    assert "fetch-depth: 0" in text
    assert lint("--diff-base", "HEAD")[0] == 0


def test_git_is_not_there(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert said(lint, "--diff-base", "HEAD") == (
        "--diff-base HEAD: git isn't installed; --diff-file takes a diff from elsewhere"
    )


def test_a_repository_of_somebody_else(lint: Lint, repository: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can give a folder away")
    for path in (repository, repository / ".git"):
        os.chown(path, 12345, 12345)
    assert "git doesn't trust this repository, since another user owns it" in said(lint, "--diff-base", "HEAD")


def test_a_very_large_diff(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(our_git, "MAX_BYTES", 300)
    Path("good.sh").write_text(BAD * 9)
    assert said(lint, "--diff-base", "HEAD") == "--diff-base HEAD: the diff has more than 300 bytes"


def test_git_that_never_answers(lint: Lint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexec sleep 30\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(our_git, "SECONDS", 0.2)
    assert "git took more than 0.2 seconds" in said(lint, "--diff-base", "HEAD")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--diff-base", "HEAD", "--diff-file", "x.diff"), "--diff-file tells what changed already"),
        (("--diff-base", "HEAD", "--write-baseline", "x"), "neither --baseline nor --diff-file nor --diff-base"),
    ],
)
def test_what_does_not_go_together(lint: Lint, arguments: tuple[str, ...], message: str) -> None:
    assert message in said(lint, *arguments)


def test_standard_input_is_nothing_that_git_compares(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BAD.encode())))
    assert "git compares files" in said(lint, "--diff-base", "HEAD", "--stdin-filename", "good.sh")
