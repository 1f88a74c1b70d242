"""Fixes, as a user asks for them: --fix, --unsafe-fixes and --diff."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import jsonschema
import pytest

from grpo_lint import atomic
from grpo_lint.cli import main
from grpo_lint.engine import Linter
from grpo_lint.settings import Settings

PLUS = """#!/bin/bash
python3 -m verl.trainer.main_ppo \\
    algorithm.adv_estimator=grpo \\
    +actor_rollout_ref.rollout.n=8
"""
SAFE = PLUS.replace("+actor", "actor")
ZERO = """#!/bin/bash
python3 -m verl.trainer.main_ppo \\
    algorithm.adv_estimator=grpo \\
    actor_rollout_ref.rollout.n=8 \\
    actor_rollout_ref.actor.optim.clip_grad=0
"""
SLIP = """{
  "train_batch_size": 8,
  "zero_optimization": {"stage": 2, "overlap_com": true},
  "gradient_clipping": 1.0
}
"""
CLIPPED = ZERO.replace("clip_grad=0", "clip_grad=1.0")

Lint = Callable[..., tuple[int, str, str]]


@pytest.fixture
def lint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Lint:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([*arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def put(name: str, text: str | bytes) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


# -- what is written


def test_a_safe_fix_is_written_and_the_finding_is_gone(lint: Lint) -> None:
    path = put("run.sh", PLUS)
    code, out, err = lint("run.sh", "--fix")
    assert (code, err) == (0, "grpo-lint: fixed 1 finding in 1 file\n")
    assert "no findings" in out
    assert path.read_text() == SAFE


def test_an_unsafe_fix_is_written_only_if_it_is_asked_for(lint: Lint) -> None:
    path = put("run.sh", ZERO)
    code, out, err = lint("run.sh", "--fix")
    assert (code, err, path.read_text()) == (1, "", ZERO)
    assert "\n1 fixable with --fix --unsafe-fixes\n" in out
    code, out, err = lint("run.sh", "--fix", "--unsafe-fixes")
    assert (code, err, path.read_text()) == (0, "grpo-lint: fixed 1 finding in 1 file\n", CLIPPED)


def test_nothing_to_fix_touches_nothing(lint: Lint) -> None:
    path = put("run.sh", SAFE)
    before = path.stat()
    assert lint("run.sh", "--fix", "--unsafe-fixes")[::2] == (0, "")
    assert path.stat().st_ino == before.st_ino
    assert path.stat().st_mtime_ns == before.st_mtime_ns


def test_what_is_left_decides_the_exit_code(lint: Lint) -> None:
    put("run.sh", PLUS.replace("=8", "=1"))
    code, out, err = lint("run.sh", "--fix")
    assert code == 1
    assert "NOT07" in out
    assert err == "grpo-lint: fixed 1 finding in 1 file\n"
    assert lint("run.sh", "--fix", "--exit-zero")[0] == 0


def test_the_hint_tells_which_options_make_a_fix(lint: Lint) -> None:
    put("a.sh", PLUS)
    put("b.sh", ZERO)
    out = lint()[1]
    assert "= fix: remove the + [--fix]" in out
    assert "= fix: clip to 1.0 [--fix --unsafe-fixes]" in out
    assert out.endswith("\n1 fixable with --fix, 1 more with --fix --unsafe-fixes\n")


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (b"", "utf-8"),
        (b"\xef\xbb\xbf", "utf-8"),
        (b"\xff\xfe", "utf-16-le"),
        (b"\xfe\xff", "utf-16-be"),
        (b"\xff\xfe\x00\x00", "utf-32-le"),
    ],
)
def test_encoding_mark_and_line_ends_stay(lint: Lint, mark: bytes, encoding: str) -> None:
    text = '{\r\n  "train_batch_size": 8, // größer 🚀\r\n  "zero_optimization": {"stage": 2}\r\n}'
    path = put("ds.json", mark + text.encode(encoding))
    assert lint("ds.json", "--fix", "--unsafe-fixes", "--target", "deepspeed=0.19.2")[0] == 0
    after = text.replace("2}\r\n}", '2},\r\n  "gradient_clipping": 1.0\r\n}')
    assert path.read_bytes() == mark + after.encode(encoding)


def test_mode_and_links_within_the_tree_stay(lint: Lint) -> None:
    path = put("real/run.sh", PLUS)
    path.chmod(0o754)
    Path("link.sh").symlink_to("real/run.sh")
    assert lint("link.sh", "--fix")[0] == 0
    assert Path("link.sh").is_symlink()
    assert path.read_text() == SAFE
    assert stat.S_IMODE(path.stat().st_mode) == 0o754
    assert sorted(os.listdir("real")) == ["run.sh"]


def test_what_a_link_leads_to_outside_of_the_tree_is_left_alone(lint: Lint, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside.sh"
    outside.write_text(PLUS)
    Path("link.sh").symlink_to(outside)
    code, out, err = lint("link.sh", "--fix")
    assert (code, outside.read_text()) == (2, PLUS)
    assert "link.sh: not fixed: it is a link to" in out.replace("\n    ", " ")
    assert not err
    put("sub/run.sh", PLUS)
    Path("sub/up.sh").symlink_to("../top.sh")
    put("top.sh", PLUS)
    assert lint("sub", "--fix")[0] == 2
    assert (Path("top.sh").read_text(), Path("sub/run.sh").read_text()) == (PLUS, SAFE)


def test_a_read_only_file_is_told_and_the_others_are_fixed(lint: Lint) -> None:
    locked, other = put("a.sh", PLUS), put("b.sh", PLUS)
    locked.chmod(0o444)
    code, out, err = lint("--fix")
    assert (code, locked.read_text(), other.read_text()) == (2, PLUS, SAFE)
    assert "notice: a.sh: not fixed: it is read-only\n" in out
    assert "OPT02" in out
    assert err == "grpo-lint: fixed 1 finding in 1 file\n"


def test_only_what_is_linted_is_written(lint: Lint) -> None:
    """A script names a config: its fault is told, but the file wasn't asked for."""
    config = put("ds.json", SLIP)
    put("run.sh", "deepspeed train.py --deepspeed ds.json\n")
    before = config.read_text()
    code, out, _ = lint("run.sh", "--fix")
    assert code == 1
    assert "overlap_com" in out
    assert config.read_text() == before
    assert lint(".", "--fix")[0] == 0
    assert config.read_text() == before.replace("overlap_com", "overlap_comm")


def test_what_the_settings_leave_out_is_not_written(lint: Lint) -> None:
    config = put("conf/ds.json", SLIP)
    put("run.sh", "deepspeed train.py --deepspeed conf/ds.json\n")
    before = config.read_text()
    lint("--fix", "--exclude", "conf/")
    assert config.read_text() == before


def test_a_file_that_changes_meanwhile_is_left_alone(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    from grpo_lint import repair
    from grpo_lint.commands import fix

    path = put("run.sh", PLUS)
    run = repair.Repair.run

    def slow(self: repair.Repair) -> object:
        report = run(self)
        path.write_text(PLUS + "# somebody's\n")
        return report

    monkeypatch.setattr(fix.Repair, "run", slow)
    code, out, err = lint("run.sh", "--fix")
    assert code == 2
    assert err == "grpo-lint: run.sh: not fixed: it changed while it was being fixed; run it once more\n"
    assert "OPT02" in out
    assert path.read_text() == PLUS + "# somebody's\n"


def test_a_crash_leaves_the_old_file_whole(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put("run.sh", PLUS)

    def crash(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(atomic.os, "replace", crash)
    assert lint("run.sh", "--fix")[0] == 2
    assert path.read_text() == PLUS
    assert sorted(os.listdir()) == [".git", "run.sh"]


def test_a_killed_process_leaves_the_old_file_whole(lint: Lint) -> None:
    path = put("run.sh", PLUS)
    code = (
        "import os, sys; from grpo_lint import atomic; from grpo_lint.cli import main;"
        "atomic.os.fsync = lambda handle: os.kill(os.getpid(), 9); main(['run.sh', '--fix'])"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    run = subprocess.run([sys.executable, "-c", code], env=environment, check=False, capture_output=True)
    assert run.returncode == -9
    assert path.read_text() == PLUS
    assert lint("run.sh", "--fix")[0] == 0
    assert path.read_text() == SAFE


def test_a_full_disk_is_told(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put("run.sh", PLUS)

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic.os, "fsync", full)
    code, out, err = lint("run.sh", "--fix")
    assert (code, err) == (2, "grpo-lint: run.sh: not fixed: No space left on device\n")
    assert path.read_text() == PLUS
    assert sorted(os.listdir()) == [".git", "run.sh"]
    assert "OPT02" in out


# -- --diff


def test_a_diff_is_printed_and_nothing_written(lint: Lint) -> None:
    path = put("run.sh", PLUS)
    code, out, err = lint("run.sh", "--diff")
    assert (code, path.read_text()) == (1, PLUS)
    assert out == (
        "--- run.sh\n+++ run.sh\n@@ -1,4 +1,4 @@\n #!/bin/bash\n python3 -m verl.trainer.main_ppo \\\n"
        "     algorithm.adv_estimator=grpo \\\n"
        "-    +actor_rollout_ref.rollout.n=8\n+    actor_rollout_ref.rollout.n=8\n"
    )
    assert err == "grpo-lint: would fix 1 finding in 1 file\n"
    assert lint("run.sh", "--fix", "--diff")[:2] == (1, out)
    assert path.read_text() == PLUS


def test_without_changes_a_diff_is_empty(lint: Lint) -> None:
    put("run.sh", ZERO)  # a finding, whose fix is unsafe
    assert lint("run.sh", "--diff") == (0, "", "")


def test_a_diff_is_one_that_patch_takes(lint: Lint) -> None:
    path = put("ds.json", '{\r\n  "zero_optimization": {"stage": 2}\r\n}')
    _, out, _ = lint("ds.json", "--diff", "--unsafe-fixes", "--target", "deepspeed=0.19.2")
    assert "\\ No newline at end of file\n" in out
    Path("fix.diff").write_bytes(out.encode())
    subprocess.run(["git", "init", "-q", "."], check=True)
    subprocess.run(["git", "apply", "-p0", "fix.diff"], check=True)
    assert path.read_bytes() == b'{\r\n  "zero_optimization": {"stage": 2},\r\n  "gradient_clipping": 1.0\r\n}'


def test_a_diff_in_colours_shows_no_control_characters(lint: Lint) -> None:
    put("run.sh", PLUS.replace("#!/bin/bash", "# \x1b[2J"))
    _, out, _ = lint("run.sh", "--diff", "--color", "always")
    assert "\x1b[2J" not in out
    assert "\x1b[32m+    actor_rollout_ref.rollout.n=8\x1b[0m\n" in out


DIFF = "--diff: it prints a diff in place of a report, so {} does not go with it"


def test_credentials_stay_in_the_file_and_out_of_the_diff(lint: Lint) -> None:
    secret = "hf_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzA"
    text = PLUS.replace("#!/bin/bash", f"export HF_TOKEN={secret}")
    path = put("run.sh", text)
    _, out, err = lint("run.sh", "--diff")
    assert "-    +actor_rollout_ref.rollout.n=8" in out
    assert secret not in out + err
    lint("run.sh", "--fix")
    assert path.read_text() == text.replace("+actor", "actor")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--unsafe-fixes",), "--unsafe-fixes: say with --fix or --diff what to do with the fixes"),
        (
            ("--diff", "--output", "json"),
            "--diff: it prints a diff in place of a report, so --output does not go with it",
        ),
        (
            ("--diff", "--statistics"),
            "--diff: it prints a diff in place of a report, so --statistics does not go with it",
        ),
        (
            ("--diff", "--write-baseline", "b.json"),
            "--diff: it prints a diff in place of a report, so --write-baseline does not go with it",
        ),
    ],
)
def test_what_does_not_go_together_is_told(lint: Lint, arguments: tuple[str, ...], message: str) -> None:
    put("run.sh", PLUS)
    assert lint("run.sh", *arguments) == (2, "", f"grpo-lint: {message}\n")


# -- standard input


class Stdin:
    def __init__(self, data: bytes) -> None:
        self.buffer = BytesIO(data)


def test_standard_input_is_fixed_to_standard_output(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(PLUS.encode()))
    code, out, err = lint("--stdin-filename", "new.sh", "--fix")
    assert (code, out) == (0, SAFE)
    assert "no findings" in err
    assert not Path("new.sh").exists()


def test_text_without_faults_comes_out_as_it_came(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    text = '\ufeff{"gradient_clipping": 1.0,\r\n "zero_optimization": {"stage": 2}}'
    monkeypatch.setattr(sys, "stdin", Stdin(text.encode()))
    assert lint("--stdin-filename", "new.json", "--fix")[:2] == (0, text)


def test_the_report_of_fixed_input_may_go_to_a_file(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(ZERO.encode()))
    code, out, err = lint("--stdin-filename", "new.sh", "--fix", "--output", "json=report.json")
    assert (code, out, err) == (1, ZERO, "")
    assert json.loads(Path("report.json").read_text())["counts"]["warning"] == 1
    monkeypatch.setattr(sys, "stdin", Stdin(ZERO.encode()))
    code, out, err = lint("--stdin-filename", "new.sh", "--fix", "--output", "json")
    assert (code, out) == (2, "")
    assert err == "grpo-lint: --fix: standard output has the fixed text, so name a file: --output FORMAT=FILE\n"


def test_a_diff_of_standard_input(lint: Lint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(PLUS.encode()))
    code, out, _ = lint("--stdin-filename", "new.sh", "--diff")
    assert code == 1
    assert out.startswith("--- new.sh\n+++ new.sh\n")


# -- what is reported only is fixed


def test_known_findings_stay(lint: Lint) -> None:
    path = put("run.sh", PLUS)
    assert lint("run.sh", "--write-baseline", "base.json")[0] == 0
    assert lint("run.sh", "--fix", "--baseline", "base.json")[::2] == (0, "")
    assert path.read_text() == PLUS


def test_a_baseline_is_written_of_what_is_left(lint: Lint) -> None:
    path = put("run.sh", PLUS.replace("=8", "=1"))
    lint("run.sh", "--fix", "--write-baseline", "base.json")
    assert [one["rule"] for one in json.loads(Path("base.json").read_text())["findings"]] == ["NOT07"]
    assert "+actor" not in path.read_text()


TWO = PLUS + "\n" + PLUS.partition("\n")[2]


def test_of_a_change_only_its_lines_are_fixed(lint: Lint) -> None:
    path = put("run.sh", TWO)
    put("change.diff", "--- a/run.sh\n+++ b/run.sh\n@@ -7,0 +8 @@\n+    +actor_rollout_ref.rollout.n=8\n")
    code, _, err = lint("run.sh", "--fix", "--diff-file", "change.diff")
    assert (code, err) == (0, "grpo-lint: fixed 1 finding in 1 file\n")
    assert path.read_text() == PLUS + "\n" + SAFE.partition("\n")[2]


def test_lines_of_a_change_move_with_what_is_fixed(lint: Lint) -> None:
    """The first fix takes a line away; what the change touches below, and can't be fixed, is then one line higher."""
    comment = "# grpo-lint: ignore[NOT07] no longer\n"
    second = PLUS.partition("\n")[2].replace("=8", "=1")
    path = put("run.sh", comment + SAFE + "\n" + second)
    put("change.diff", "--- a/run.sh\n+++ b/run.sh\n@@ -0,0 +1 @@\n+x\n@@ -8,0 +9 @@\n+x\n")
    code, out, err = lint("run.sh", "--fix", "--diff-file", "change.diff", "--output", "concise")
    assert (code, err) == (1, "grpo-lint: fixed 2 findings in 1 file\n")
    assert out.startswith("run.sh:8:33: NOT07 error")
    assert path.read_text() == SAFE + "\n" + second.replace("+actor", "actor")


def test_suppressed_findings_stay(lint: Lint) -> None:
    text = PLUS.replace("n=8\n", "n=8  # grpo-lint: ignore[OPT02] a fork\n")
    path = put("run.sh", text)
    assert lint("run.sh", "--fix")[0] == 0
    assert path.read_text() == text


def test_rules_that_are_off_fix_nothing(lint: Lint) -> None:
    path = put("run.sh", PLUS)
    lint("run.sh", "--fix", "--ignore", "OPT02")
    assert path.read_text() == PLUS


# -- what several runs share


def test_a_value_that_another_run_is_right_about_is_left_alone(lint: Lint) -> None:
    script = """GRAD_CLIP=0
python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=8 \\
    actor_rollout_ref.actor.optim.clip_grad=$GRAD_CLIP
"""
    path = put("run.sh", script)
    lint("run.sh", "--fix", "--unsafe-fixes")
    assert path.read_text() == script.replace("CLIP=0", "CLIP=1.0")
    both = script + "python3 prepare.py --clip $GRAD_CLIP\n"
    path = put("run.sh", both)
    code, out, _ = lint("run.sh", "--fix", "--unsafe-fixes")
    assert (code, path.read_text()) == (1, both)
    assert "fixable" not in out


def test_an_array_of_two_runs_is_edited_only_if_both_are_at_fault(lint: Lint) -> None:
    script = """#!/bin/bash
COMMON=(
    algorithm.adv_estimator=grpo
    actor_rollout_ref.rollout.n=8
    actor_rollout_ref.actor.optim.clip_grad=0
)
python3 -m verl.trainer.main_ppo "${COMMON[@]}" actor_rollout_ref.actor.strategy=fsdp
python3 -m verl.trainer.main_ppo "${COMMON[@]}" actor_rollout_ref.actor.strategy=%s
"""
    path = put("run.sh", script % "fsdp2")
    lint("run.sh", "--fix", "--unsafe-fixes", "--select", "NOT16")
    assert "clip_grad=1.0" in path.read_text()
    path = put("run.sh", script % "megatron")
    code, out, _ = lint("run.sh", "--fix", "--unsafe-fixes", "--select", "NOT16")
    assert (code, path.read_text()) == (1, script % "megatron")
    assert "clip to 1.0" not in out


def test_a_config_of_two_scripts_is_edited_only_if_both_are_at_fault(lint: Lint) -> None:
    config = put("ds.json", '{"zero_optimization": {"stage": 2, "overlap_comm": true}, "gradient_clipping": "auto"}\n')
    before = config.read_text()
    compiled = "distributed_type: DEEPSPEED\ndeepspeed_config:\n  deepspeed_config_file: ds.json\n"
    put("acc.yaml", compiled + "dynamo_config:\n  dynamo_backend: INDUCTOR\nnum_processes: 8\n")
    put("plain.yaml", compiled + "num_processes: 8\n")
    lint(".", "--fix", "--unsafe-fixes", "--select", "NOT15", "--target", "deepspeed=0.19.2")
    assert config.read_text() == before
    Path("plain.yaml").unlink()
    lint(".", "--fix", "--unsafe-fixes", "--select", "NOT15", "--target", "deepspeed=0.19.2")
    assert config.read_text() == before.replace("true", "false")


# -- fixes that meet


def test_fixes_that_want_one_text_come_one_after_the_other(lint: Lint) -> None:
    """A misspelt flag with a value in the wrong letters, and a flag after it that goes."""
    path = put(
        "run.sh",
        "#!/bin/bash\nvllm serve Qwen/Qwen3-8B --gpu_memory_utilisation 0.9 --max-lora-rank 64 --max-loras 2\n",
    )
    code, _, err = lint("run.sh", "--fix", "--unsafe-fixes")
    assert (code, err) == (0, "grpo-lint: fixed 3 findings in 1 file\n")
    assert path.read_text() == "#!/bin/bash\nvllm serve Qwen/Qwen3-8B --gpu-memory-utilization 0.9\n"


def test_a_second_run_changes_nothing(lint: Lint) -> None:
    path = put("run.sh", TWO)
    lint("run.sh", "--fix", "--unsafe-fixes")
    once = path.read_bytes()
    assert lint("run.sh", "--fix", "--unsafe-fixes")[::2] == (0, "")
    assert path.read_bytes() == once


# -- for other tools


def test_other_tools_are_told_of_the_fixes(lint: Lint) -> None:
    """The edits that SARIF, JSON and rdjson tell are those that --fix makes."""
    path = put("run.sh", "# größe 🚀\n" + TWO)
    lint("run.sh", "--output", "sarif=r.sarif", "--output", "json=r.json", "--output", "rdjson=r.rdjson")
    document = json.loads(Path("r.sarif").read_text())
    schema = json.loads((Path(__file__).parent / "reporters" / "schemas" / "sarif-schema-2.1.0.json").read_text())
    assert not list(jsonschema.Draft4Validator(schema).iter_errors(document))
    regions = [
        (change["artifactLocation"]["uri"], one["deletedRegion"], one.get("insertedContent"))
        for result in document["runs"][0]["results"]
        for fix in result["fixes"]
        for change in fix["artifactChanges"]
        for one in change["replacements"]
    ]
    place = {"startColumn": 5, "endColumn": 6}
    assert regions == [("run.sh", {"startLine": line, "endLine": line, **place}, None) for line in (5, 9)], (
        "the + of both commands"
    )
    edits = [edit for one in json.loads(Path("r.json").read_text())["diagnostics"] for edit in one["fix"]["edits"]]
    assert [(edit["line"], edit["column"], edit["end_column"], edit["replacement"]) for edit in edits] == [
        (5, 5, 6, ""),
        (9, 5, 6, ""),
    ]
    (first, second) = json.loads(Path("r.rdjson").read_text())["diagnostics"]
    assert [one["suggestions"][0]["text"] for one in (first, second)] == ["", ""]
    lint("run.sh", "--fix")
    assert path.read_text() == "# größe 🚀\n" + TWO.replace("+actor", "actor")


@pytest.mark.parametrize(("padding", "offered"), [(10, True), (120_000, False)])
def test_no_key_is_added_to_a_file_that_is_too_long_to_read_again(tmp_path: Path, padding: int, offered: bool) -> None:
    path = tmp_path / "ds.json"
    path.write_text(f'{{\n  "zero_optimization": {{"stage": 2}},\n  "note": "{"x" * padding}"\n}}\n', encoding="utf-8")
    found = {one.rule: one for one in Linter(Settings()).check([str(path)]).diagnostics}
    assert (found["DO02"].fix is not None) is offered
