"""The commit and the address of a repository, from its files alone."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from grpo_lint.cli import main
from grpo_lint.provenance import of


def git(*arguments: str, cwd: Path) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgSign=false", *arguments]
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "r"
    folder.mkdir()
    git("init", "-q", "-b", "main", cwd=folder)
    (folder / "ds.json").write_text('{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}}\n')
    git("add", "-A", cwd=folder)
    git("commit", "-qm", "first", cwd=folder)
    git("remote", "add", "upstream", "https://example.org/other/name", cwd=folder)
    git("remote", "add", "origin", "https://example.org/owner/name.git", cwd=folder)
    return folder


def told(folder: Path) -> tuple[str, str, str] | None:
    known = of(str(folder))
    return None if known is None else (known.address, known.commit, known.branch)


def test_a_branch(repository: Path) -> None:
    commit = git("rev-parse", "HEAD", cwd=repository)
    assert told(repository) == ("https://example.org/owner/name", commit, "main")
    git("pack-refs", "--all", cwd=repository)
    assert told(repository) == ("https://example.org/owner/name", commit, "main")
    git("checkout", "-qb", "a/topic", cwd=repository)
    assert told(repository) == ("https://example.org/owner/name", commit, "a/topic")


def test_a_commit_by_itself(repository: Path) -> None:
    commit = git("rev-parse", "HEAD", cwd=repository)
    git("checkout", "-q", commit, cwd=repository)
    assert told(repository) == ("https://example.org/owner/name", commit, "")


def test_a_worktree(repository: Path, tmp_path: Path) -> None:
    git("worktree", "add", "-q", str(tmp_path / "w"), "-b", "other", cwd=repository)
    assert told(tmp_path / "w") == ("https://example.org/owner/name", git("rev-parse", "HEAD", cwd=repository), "other")


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://me:hunter2@example.org/owner/name.git", "https://example.org/owner/name"),
        ("https://ghs_abc@example.org:8443/owner/name/", "https://example.org:8443/owner/name"),
        ("git@example.org:owner/name.git", "https://example.org/owner/name"),
        ("ssh://git@example.org/owner/name", "ssh://example.org/owner/name"),
    ],
)
def test_an_address_has_no_login(repository: Path, url: str, address: str) -> None:
    git("remote", "set-url", "origin", url, cwd=repository)
    known = told(repository)
    assert known is not None
    assert known[0] == address


@pytest.mark.parametrize("url", ["/srv/git/name", "file:///srv/git/name", "../name", "C:\\git", "https://a b/c", "x"])
def test_a_folder_of_this_machine_is_no_address(repository: Path, url: str) -> None:
    git("remote", "set-url", "origin", url, cwd=repository)
    assert told(repository) is None


def test_what_is_no_repository(tmp_path: Path, repository: Path) -> None:
    assert of(str(tmp_path)) is None
    (repository / ".git" / "HEAD").write_text("ref: refs/../../../etc/passwd\n")
    assert told(repository) is None
    (repository / ".git" / "HEAD").write_text("no commit\n")
    assert told(repository) is None
    (repository / ".git" / "HEAD").write_text("ref: refs/heads/unborn\n")
    assert told(repository) is None


def test_sarif_tells_it(repository: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(repository)
    commit = git("rev-parse", "HEAD", cwd=repository)
    main(["--output", "sarif"])
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert run["versionControlProvenance"] == [
        {"repositoryUri": "https://example.org/owner/name", "revisionId": commit, "branch": "main"}
    ]
