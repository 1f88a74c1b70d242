"""The README's example is what the tool really says."""

import re
from pathlib import Path

import pytest

from grpo_lint.cli import main

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)


def test_the_example_prints_what_the_readme_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = next(block for block in blocks("bash") if "main_ppo" in block)
    (tmp_path / "train.sh").write_text(script, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["train.sh"]) == 1
    assert capsys.readouterr().out == next(block for block in blocks("text") if "NOT07" in block)


def test_the_first_page_of_the_site_shows_a_part_of_it() -> None:
    index = (Path(__file__).parent.parent / "docs" / "index.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```text\n(.*?)^```$", index, re.M | re.S)
    assert shown
    assert all(block in README for block in shown)
    assert next(block for block in blocks("bash") if "pip install ." in block) in index


def test_every_linked_file_exists() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert (Path(__file__).parent.parent / target).exists(), target
