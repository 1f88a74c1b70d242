"""What people install: the wheel and the source archive, and the commands that the documents give."""

import os
import re
import subprocess
import sys
import tarfile
import venv
from collections.abc import Iterable
from email.parser import HeaderParser
from itertools import chain
from pathlib import Path
from zipfile import ZipFile

import pytest
from package_index import needs_package_index

from grpo_lint import __version__

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent

TEST_COMMAND = "python3 -m venv .venv && .venv/bin/pip install -e '.[test]' && .venv/bin/python -m pytest -n auto"

FAULTY = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=1\n"


def build(target: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", folder]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.iterdir()
    return built


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return build("wheel", tmp_path / "wheel")


def of_the_package() -> set[str]:
    """The files that belong to the package, as they lie in the work tree."""
    files = (path for path in (ROOT / "grpo_lint").rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(ROOT).as_posix() for path in files}


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    assert wheel.name == f"grpo_lint-{__version__}-py3-none-any.whl"
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
    info = f"grpo_lint-{__version__}.dist-info/"
    assert {name for name in names if not name.startswith(info)} == of_the_package()
    assert "grpo_lint/frameworks/options/verl.json" in names
    assert {f"{info}METADATA", f"{info}entry_points.txt", f"{info}licenses/LICENSE"} <= names


def test_the_wheel_says_what_it_is(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        text = archive.read(f"grpo_lint-{__version__}.dist-info/METADATA").decode()
    metadata = HeaderParser().parsestr(text)
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata["License-Expression"] == "MIT"
    assert names(need for need in metadata.get_all("Requires-Dist", []) if "extra ==" not in need) == documented(
        "To run"
    )


def names(requirements: Iterable[str]) -> set[str]:
    """The names of required packages, spelt as package indexes compare them."""
    return {re.sub(r"[-_.]+", "-", re.split(r"[^\w.-]", text)[0]).lower() for text in requirements}


def documented(title: str) -> set[str]:
    """The packages that a table of docs/dependencies.md gives reasons for."""
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    section = re.split(r"^## ", text.split(f"\n## {title}\n")[1], flags=re.M)[0]
    return names(re.findall(r"^\| `([^`]+)`", section, re.M))


def test_every_package_that_the_tests_need_has_its_reason() -> None:
    with open(ROOT / "pyproject.toml", "rb") as stream:
        extras = tomllib.load(stream)["project"]["optional-dependencies"]
    listed = names(chain(*extras.values())) - {"grpo-lint"}
    assert listed == documented("To test and to develop")


def test_the_source_archive_can_be_tested_and_built_from(tmp_path: Path) -> None:
    archive = build("sdist", tmp_path)
    with tarfile.open(archive) as files:
        names = {name.split("/", 1)[1] for name in files.getnames()}
    assert of_the_package() <= names
    assert {"LICENSE", "README.md", "pyproject.toml", "action.yml", ".pre-commit-hooks.yaml"} <= names
    assert "tests/test_package.py" in names
    assert any(name.startswith("fixtures/") for name in names)
    assert not [name for name in names if re.search(r"(^|/)(\.git|\.venv|__pycache__|\.\w+_cache|\.hypothesis)/", name)]


def test_it_installs_offline_from_a_folder_of_wheels(tmp_path: Path, wheel: Path) -> None:
    needs_package_index()
    house = tmp_path / "house"
    download = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary", ":all:", "--dest", house, wheel]
    subprocess.run(download, check=True, capture_output=True)
    home = tmp_path / "home"
    venv.create(home, symlinks=True)
    python = home / "bin" / "python"
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--no-index",
        "--find-links",
        house,
    ]
    subprocess.run([*install, "grpo-lint"], check=True, capture_output=True)

    (tmp_path / "run.sh").write_text(FAULTY, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    for program in ([home / "bin" / "grpo-lint"], [python, "-m", "grpo_lint"]):
        command = [*program, "run.sh", "--output", "concise", "--select", "NOT07"]
        result = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert result.returncode == 1, result.stderr
        assert "run.sh:1:91: NOT07 error" in result.stdout


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", ".ci/run"])
def test_the_documents_give_one_command_that_runs_the_tests(name: str) -> None:
    assert TEST_COMMAND in (ROOT / name).read_text(encoding="utf-8").splitlines()


def test_the_newest_entry_of_the_changelog_is_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[(\d+\.\d+\.\d+)\] - (unreleased|\d{4}-\d\d-\d\d)$", text, re.M)
    assert newest is not None
    assert newest[1] == __version__
