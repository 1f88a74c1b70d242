"""Matching of .gitignore patterns, against git itself."""

import random
import subprocess
import time
from pathlib import Path

import pytest

from grpo_lint.gitignore import excluded, parse

PATTERNS = [
    "*.sh", "!keep.sh", "/a", "a/", "a/b", "a/**", "**/b", "a/**/c", "a**", "**", "a*/b", "?", "[ab]", "[!a]",
    "[a-c].sh", "[]a]", "[!]a]", "[[:alpha:]]", "[[:nope:]]", "[", "[a", "\\a", "\\!a", "\\#a", "#a",
    "a ", "a\\ ", "a\\", "", "/",
    "!", "a/b/", "**/a/**", "/**/c", "*a*b*", "b*\\*", "[c-a]", "[a\\-c]", "[\\]]", "***", "a***c", "**/", "//a",
    "!/a/c", "[^b]", "a\tb", "*/b", "a/*", "[a-]", "[-a]", "!**/c",
]  # fmt: skip
NAMES = [
    "a",
    "b",
    "c",
    "ab",
    "abc",
    "a b",
    "a ",
    "!a",
    "#a",
    "]",
    "-",
    "a.sh",
    "keep.sh",
    "b*",
    "[",
    "[a",
    "acb",
    "\\a",
]


def ours(text: str, path: str, is_folder: bool = False) -> bool:
    """Whether a walk from the top leaves a path out: it never enters a folder that is excluded."""
    names, patterns = path.split("/"), parse(text)
    for depth in range(1, len(names)):
        if excluded(patterns, names[:depth], True):
            return True
    return bool(excluded(patterns, names, is_folder))


def gits(root: Path, text: str, paths: list[str]) -> set[str]:
    (root / ".gitignore").write_text(text, encoding="utf-8")
    command = ["git", "-c", "core.excludesFile=", "check-ignore", "--no-index", "--stdin", "-z"]
    result = subprocess.run(command, cwd=root, input="\0".join(paths), capture_output=True, text=True, check=False)
    assert result.returncode in (0, 1), result.stderr
    return set(result.stdout.rstrip("\0").split("\0")) - {""}


@pytest.mark.parametrize("seed", range(8))
def test_as_git_has_it(tmp_path: Path, seed: int) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    randomly = random.Random(seed)
    for _ in range(25):
        text = "\n".join(randomly.choices(PATTERNS, k=randomly.randint(1, 4))) + "\n"
        paths = ["/".join(randomly.choices(NAMES, k=randomly.randint(1, 4))) for _ in range(60)]
        expected = gits(tmp_path, text, paths)
        assert {path for path in paths if ours(text, path)} == expected, text


def test_folders_only() -> None:
    assert ours("a/\n", "a", is_folder=True)
    assert not ours("a/\n", "a")


def test_line_ends_of_windows() -> None:
    assert ours("*.sh\r\n!b.sh\r\n", "a.sh")
    assert not ours("*.sh\r\n!b.sh\r\n", "b.sh")


@pytest.mark.parametrize("pattern", ["*a" * 20 + "b", "**/a/" * 20 + "b", "[a-z]*" * 20 + "0", "a**" * 30 + "/b"])
def test_no_pattern_takes_long(pattern: str) -> None:
    start = time.process_time()
    assert not ours(pattern, "/".join(["a" * 200] * 20))
    assert time.process_time() - start < 1
