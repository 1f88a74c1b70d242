"""The pre-commit hooks: which files they are given, and what becomes of them with the real pre-commit."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from identify.identify import tags_from_path
from package_index import needs_package_index

from grpo_lint.discover import KINDS

ROOT = Path(__file__).parent.parent
HOOKS: dict[str, dict[str, Any]] = {
    hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
}

SCRIPT = """\
#!/usr/bin/env bash
N=${N:-8}
python3 -m verl.trainer.main_ppo \\
    algorithm.adv_estimator=grpo \\
    actor_rollout_ref.rollout.n=%s \\
    actor_rollout_ref.actor.use_dynamic_bsz=True \\
    trainer.n_gpus_per_node=8
"""
CLEAN, FAULTY = SCRIPT % "$N", SCRIPT % "1"


def git(folder: Path, *arguments: str | Path) -> None:
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def commit(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(exist_ok=True)
    git(folder, "init", "--quiet")
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "files")


def snapshot(folder: Path) -> Path:
    """A repository that holds this one's files as they are now, committed or not."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listing.returncode:
        pytest.skip("this is no git checkout")
    for name in filter(None, listing.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    commit(folder, {})
    return folder


class PreCommit:
    """`pre-commit try-repo` in a sample repository, with a cache of its own: the first call installs."""

    def __init__(self, hooks: Path, sample: Path, cache: Path) -> None:
        self.hooks = hooks
        self.sample = sample
        self.environment = {**os.environ, "PRE_COMMIT_HOME": str(cache), "PRE_COMMIT_COLOR": "never"}

    def __call__(self, hook: str, *files: str) -> tuple[int, str]:
        which = ["--files", *files] if files else ["--all-files"]
        result = subprocess.run(
            [sys.executable, "-m", "pre_commit", "try-repo", self.hooks, hook, "--verbose", *which],
            cwd=self.sample,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return result.returncode, result.stdout


def test_with_the_real_pre_commit(tmp_path: Path) -> None:
    """One test, since the installation is what takes long."""
    needs_package_index()
    sample = tmp_path / "sample"
    commit(
        sample,
        {
            "scripts/clean run.sh": CLEAN,
            "scripts/faulty.slurm": FAULTY,
            "README.md": "# A sample\n",
            "show": "a file whose name is a command\n",
        },
    )
    pre_commit = PreCommit(snapshot(tmp_path / "hooks"), sample, tmp_path / "cache")

    code, out = pre_commit("grpo-lint", "scripts/faulty.slurm", "scripts/clean run.sh", "README.md")
    assert code == 1, out
    assert "scripts/faulty.slurm:5:33" in out
    assert "NOT07" in out
    assert "clean run.sh:" not in out
    assert "1 error in 1 file (2 files, 2 runs checked" in out

    code, out = pre_commit("grpo-lint", "scripts/clean run.sh", "show")
    assert code == 0, out
    assert "no findings (2 files, 1 run checked" in out

    code, out = pre_commit("grpo-lint", "README.md")
    assert code == 0, out
    assert "(no files to check)" in out

    code, out = pre_commit("grpo-lint-project", "README.md")
    assert code == 1, out
    assert "scripts/faulty.slurm:5:33" in out

    (sample / "scripts" / "faulty.slurm").unlink()
    code, out = pre_commit("grpo-lint-project", "README.md")
    assert code == 0, out


def test_the_two_hooks_differ_in_what_they_are_given() -> None:
    assert set(HOOKS) == {"grpo-lint", "grpo-lint-project"}
    assert all(hook["require_serial"] for hook in HOOKS.values())
    assert HOOKS["grpo-lint"].get("pass_filenames", True)
    assert not HOOKS["grpo-lint-project"]["pass_filenames"]
    assert HOOKS["grpo-lint-project"]["always_run"]


def given(tmp_path: Path, name: str, text: str = "", mode: int = 0o644) -> bool:
    """Whether pre-commit would give a file to the first hook."""
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    hook = HOOKS["grpo-lint"]
    return re.search(hook["files"], name) is not None and set(hook["types"]) <= tags_from_path(str(path))


@pytest.mark.parametrize("suffix", KINDS)
@pytest.mark.parametrize("mode", [0o644, 0o755])
def test_every_kind_of_file_that_is_read_is_given(tmp_path: Path, suffix: str, mode: int) -> None:
    assert given(tmp_path, f"a b/c{suffix}", mode=mode)
    assert given(tmp_path, f"c{suffix.upper()}", mode=mode)


def test_a_script_without_a_suffix_is_given(tmp_path: Path) -> None:
    assert given(tmp_path, "train", CLEAN)
    assert given(tmp_path, "scripts.d/train", CLEAN, 0o755)


@pytest.mark.parametrize("name", ["Dockerfile", "docker/Dockerfile.gpu", "Makefile", "Makefile.train"])
def test_a_file_that_its_name_tells_is_given(tmp_path: Path, name: str) -> None:
    assert given(tmp_path, name, "text\n")


@pytest.mark.parametrize("name", ["a.c", "README.md", "a.yaml.j2", "a.sh.txt", ".gitignore", "a.ipynb"])
def test_other_files_are_not(tmp_path: Path, name: str) -> None:
    assert not given(tmp_path, name, "text\n")


def test_their_schema() -> None:
    path = ROOT / ".pre-commit-hooks.yaml"
    result = subprocess.run(
        [sys.executable, "-m", "pre_commit", "validate-manifest", path], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout
