"""The fuzzer finds nothing in its first inputs, and does find what is wrong."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import fuzz
import pytest
import targets

FUZZ = Path(targets.__file__).parent


@pytest.mark.parametrize("target", targets.TARGETS)
def test_the_first_inputs_of_each_target(target: str, tmp_path: Path) -> None:
    inputs = "60" if target.startswith("check") else "400"
    done = subprocess.run(
        [sys.executable, str(FUZZ / "fuzz.py"), target, "--inputs", inputs, "--save", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{inputs} inputs, 0 distinct failures" in done.stdout


def crash(text: str) -> None:
    raise ValueError("broken")


def hang(text: str) -> None:
    while True:
        pass


@pytest.mark.parametrize(("check", "said"), [(crash, "ValueError at ?: broken"), (hang, "Hang at ?")])
def test_a_failure_is_told_saved_and_fails(
    check: Callable[[str], None],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(targets.TARGETS, "json", ("json", check))
    monkeypatch.setattr(fuzz, "SECONDS_FOR_ONE", 0.05)
    monkeypatch.setattr(fuzz.resource, "setrlimit", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["fuzz.py", "json", "--inputs", "3", "--save", str(tmp_path / "found")])
    assert fuzz.main() == 1
    assert said in capsys.readouterr().out
    assert [path.name for path in (tmp_path / "found").iterdir()] == ["json-1-0"]
