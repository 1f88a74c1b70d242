"""Baselines: findings that are known, as a user types it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from grpo_lint.cli import main

SCRIPT = """#!/bin/bash
python3 -m verl.trainer.main_ppo \\
    algorithm.adv_estimator=grpo \\
    actor_rollout_ref.rollout.n=1
"""
COMMAND = SCRIPT.partition("\n")[2]
KEY = "actor_rollout_ref.rollout.n"

Lint = Callable[..., tuple[int, str, str]]


@pytest.fixture
def lint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Lint:
    (tmp_path / ".git").mkdir()
    put("a/run.sh", SCRIPT, tmp_path)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([*arguments, "--select", "NOT07,SRC01,LNT01"])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def put(name: str, text: str, folder: Path = Path()) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def entry(path: str = "a/run.sh", rule: str = "NOT07", key: str = KEY, count: int = 1) -> dict[str, object]:
    return {"path": path, "rule": rule, "key": key, "count": count}


def findings(out: str) -> list[str]:
    return [
        f"{one['primary']['path']}:{one['primary']['line']} {one['rule']}" for one in json.loads(out)["diagnostics"]
    ]


def test_written_and_used(lint: Lint) -> None:
    code, out, err = lint("--write-baseline", "base.json", "--output", "concise")
    assert (code, out, err) == (0, "", "grpo-lint: 1 finding written to base.json\n")
    assert json.loads(Path("base.json").read_text()) == {"schema": 1, "tool": "grpo-lint", "findings": [entry()]}
    assert lint("--baseline", "base.json", "--output", "concise") == (0, "", "")
    put("b/run.sh", SCRIPT)
    code, out, _ = lint("--baseline", "base.json", "--output", "json")
    assert (code, findings(out)) == (1, ["b/run.sh:4 NOT07"])


def test_an_empty_baseline(lint: Lint) -> None:
    assert lint("--write-baseline", "base.json", "--ignore", "NOT07")[0] == 0
    assert json.loads(Path("base.json").read_text())["findings"] == []
    assert lint("--baseline", "base.json")[0] == 1


def test_it_survives_moves_of_lines_and_changes_of_values(lint: Lint) -> None:
    lint("--write-baseline", "base.json")
    put("a/run.sh", SCRIPT.replace("#!/bin/bash\n", "#!/bin/bash\n\n# more\nset -x\n").replace("n=1", "n=${N:-1}"))
    assert lint("--baseline", "base.json")[0] == 0


def test_more_of_the_same_kind_are_new(lint: Lint) -> None:
    put("a/run.sh", SCRIPT + COMMAND)
    lint("--write-baseline", "base.json")
    assert json.loads(Path("base.json").read_text())["findings"] == [entry(count=2)]
    put("a/run.sh", SCRIPT + COMMAND + COMMAND)
    code, out, _ = lint("--baseline", "base.json", "--output", "json")
    assert (code, findings(out)) == (1, ["a/run.sh:10 NOT07"])


def test_it_counts_from_its_own_folder(lint: Lint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "ci").mkdir()
    lint("--write-baseline", "ci/base.json")
    assert json.loads(Path("ci/base.json").read_text())["findings"] == [entry("../a/run.sh")]
    monkeypatch.chdir(tmp_path / "a")
    assert lint("run.sh", "--baseline", "../ci/base.json", "--output", "concise") == (0, "", "")


def test_known_findings_are_suppressed_in_json_and_sarif(lint: Lint) -> None:
    plain = json.loads(lint("--output", "json")[1])["diagnostics"][0]
    lint("--write-baseline", "base.json")
    (known,) = json.loads(lint("--baseline", "base.json", "--output", "json")[1])["suppressed"]
    assert known["suppression"] == {"kind": "baseline", "reason": "known: it is in base.json", "place": None}
    assert known["fingerprint"] == plain["fingerprint"]
    (result,) = json.loads(lint("--baseline", "base.json", "--output", "sarif")[1])["runs"][0]["results"]
    assert result["suppressions"] == [{"kind": "external", "justification": "known: it is in base.json"}]
    assert result["level"] == "error"
    assert result["partialFingerprints"]["grpoLint/v1"] == plain["fingerprint"]


def test_a_finding_that_a_comment_suppresses_is_not_written(lint: Lint) -> None:
    put("a/run.sh", SCRIPT.replace("n=1", "n=1  # grpo-lint: ignore[NOT07] smoke test"))
    lint("--write-baseline", "base.json")
    assert json.loads(Path("base.json").read_text())["findings"] == []


# -- stale entries


def stale(out: str) -> list[str]:
    return [one["message"] for one in json.loads(out)["notices"] if one["path"] == "base.json"]


def test_what_is_gone_is_told_and_fails_nothing(lint: Lint) -> None:
    lint("--write-baseline", "base.json")
    put("a/run.sh", SCRIPT.replace("n=1", "n=8"))
    code, out, _ = lint("--baseline", "base.json", "--output", "json")
    assert code == 0
    assert stale(out) == [
        f"stale: a/run.sh has no NOT07 finding about {KEY} any more, or fewer of them",
        "--write-baseline leaves stale entries out",
    ]
    lint("--write-baseline", "base.json")
    assert stale(lint("--baseline", "base.json", "--output", "json")[1]) == []


def test_a_file_that_is_gone_is_stale_too(lint: Lint) -> None:
    lint("--write-baseline", "base.json")
    os.remove("a/run.sh")
    assert len(stale(lint("--baseline", "base.json", "--output", "json")[1])) == 2


def test_what_was_not_looked_at_is_not_stale(lint: Lint, capsys: pytest.CaptureFixture[str]) -> None:
    put("b/run.sh", SCRIPT)
    lint("--write-baseline", "base.json")
    put("a/run.sh", SCRIPT.replace("n=1", "n=8"))
    put("b/run.sh", SCRIPT.replace("n=1", "n=8"))
    out = lint("b", "--baseline", "base.json", "--output", "json")[1]
    assert [message for message in stale(out) if "a/run.sh" in message] == []
    assert len(stale(out)) == 2
    main(["--baseline", "base.json", "--output", "json", "--ignore", "NOT07"])
    assert stale(capsys.readouterr().out) == []
    put("a/run.sh", SCRIPT.replace("n=1", "n=$1"))
    assert [m for m in stale(lint("a", "--baseline", "base.json", "--output", "json")[1]) if "a/run.sh" in m] == []
    Path("a/run.sh").write_bytes(b"verl \xff\n")
    assert [m for m in stale(lint("a", "--baseline", "base.json", "--output", "json")[1]) if "a/run.sh" in m] == []


def test_many_stale_entries_are_counted(lint: Lint) -> None:
    rows = [entry(f"a/{number}.sh") for number in range(50)]
    put("base.json", json.dumps({"schema": 1, "tool": "grpo-lint", "findings": rows}))
    messages = stale(lint("--baseline", "base.json", "--output", "json")[1])
    assert len(messages) == 22
    assert messages[20] == "30 more entries are stale"


# -- what is wrong


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not valid JSON: "),
        ("{", "not valid JSON: "),
        ("[]", "this is no baseline; --write-baseline writes one"),
        ('{"version": "2.1.0", "runs": []}', "this is no baseline"),
        ('{"schema": 2, "tool": "grpo-lint", "findings": []}', "its schema is 2, this release reads 1; write it again"),
        ('{"tool": "grpo-lint", "findings": []}', "its schema is None, this release reads 1"),
        ('{"schema": 1, "tool": "grpo-lint", "findings": {}}', "this is no baseline"),
        ('{"schema": 1, "tool": "grpo-lint", "findings": [1]}', "this entry can't be read: 1"),
        ('{"schema": 1, "tool": "grpo-lint", "findings": [{"path": "a"}]}', "this entry can't be read: {'path': 'a'}"),
        (json.dumps({"schema": 1, "tool": "grpo-lint", "findings": [entry(count=0)]}), "this entry can't be read: "),
        (json.dumps({"schema": 1, "tool": "grpo-lint", "findings": [entry(path="\0")]}), "this entry can't be read: "),
        ("[" * 100_000, "this is no baseline: nested too deeply"),
    ],
)
def test_a_broken_baseline(lint: Lint, text: str, message: str) -> None:
    put("base.json", text)
    code, out, err = lint("--baseline", "base.json")
    assert (code, out) == (2, "")
    assert err.startswith(f"grpo-lint: --baseline base.json: {message}")
    assert err.count("\n") == 1


def test_a_baseline_that_is_not_there(lint: Lint) -> None:
    assert lint("--baseline", "none.json")[2] == "grpo-lint: --baseline none.json: No such file or directory\n"
    assert lint("--baseline", ".")[2] == "grpo-lint: --baseline .: not a regular file\n"


def test_options_that_do_not_go_together(lint: Lint) -> None:
    for more in (("--baseline", "b.json"), ("--diff-file", "c.diff")):
        code, _, err = lint("--write-baseline", "a.json", *more)
        assert code == 2
        assert err.startswith("grpo-lint: --write-baseline: it takes all findings")
        assert not Path("a.json").exists()


# -- writing


def test_where_it_can_not_be_written(lint: Lint) -> None:
    code, _, err = lint("--write-baseline", "none/base.json")
    assert (code, err) == (2, "grpo-lint: --write-baseline none/base.json: No such file or directory\n")
    Path("folder").mkdir()
    code, _, err = lint("--write-baseline", "folder")
    assert code == 2
    assert err.startswith("grpo-lint: --write-baseline folder: ")
    assert sorted(os.listdir()) == [".git", "a", "folder"]


def test_a_failed_write_leaves_the_old_file_and_no_other(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    put("base.json", "old")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    code, _, err = lint("--write-baseline", "base.json")
    assert (code, err) == (2, "grpo-lint: --write-baseline base.json: No space left on device\n")
    assert Path("base.json").read_text() == "old"
    code, _, err = lint("--output", "json=base.json")
    assert (code, err) == (2, "grpo-lint: --output json=base.json: No space left on device\n")
    assert Path("base.json").read_text() == "old"
    assert sorted(os.listdir()) == [".git", "a", "base.json"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_full_device(lint: Lint) -> None:
    code, _, err = lint("--write-baseline", "/dev/full")
    assert (code, err) == (2, "grpo-lint: --write-baseline /dev/full: No space left on device\n")


def test_what_a_crash_left_behind_is_passed_over(lint: Lint) -> None:
    left = f".grpo-lint-{os.getpid()}-0.new"
    put(left, "left")
    name = "n" * 250
    assert lint("--write-baseline", name)[0] == 0
    assert json.loads(Path(name).read_text())["findings"] == [entry()]
    assert Path(left).read_text() == "left"


@pytest.mark.skipif(sys.platform == "win32", reason="modes and links as POSIX has them")
def test_mode_and_link_are_kept(lint: Lint) -> None:
    put("real/base.json", "old")
    os.chmod("real/base.json", 0o640)
    os.symlink("real/base.json", "base.json")
    assert lint("--write-baseline", "base.json")[0] == 0
    assert os.path.islink("base.json")
    assert stat.S_IMODE(os.stat("real/base.json").st_mode) == 0o640
    assert json.loads(Path("real/base.json").read_text())["findings"] == [entry("../a/run.sh")]
    assert os.listdir("real") == ["base.json"]


def test_a_file_size_limit_leaves_the_old_file(lint: Lint) -> None:
    resource = pytest.importorskip("resource")
    put("base.json", "old")
    for number in range(200):
        put(f"b/{number}.sh", SCRIPT)
    code = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, (4096, {resource.RLIM_INFINITY}));"
        "from grpo_lint.cli import main; sys.exit(main(['--write-baseline', 'base.json']))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert (run.returncode, run.stderr) == (2, "grpo-lint: --write-baseline base.json: File too large\n")
    assert Path("base.json").read_text() == "old"
    assert sorted(os.listdir()) == [".git", "a", "b", "base.json"]
