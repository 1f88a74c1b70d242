"""The GitHub action: its steps' shell is run as GitHub's runner would run it, on repositories made here."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from package_index import needs_package_index

from grpo_lint import __version__

ROOT = Path(__file__).parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))

GOOD = '{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}, "gradient_clipping": 1.0}\n'
BAD = GOOD.replace("}\n", ', "fp16": {"enabled": true}}\n')
NOTE = '{"zero_optimization": {"stage": 2}, "optimizer": {"type": "AdamW"}}\n'


class Job:
    """A runner that knows as much of GitHub's as the action uses: inputs, steps' outputs, `if`, and the files."""

    def __init__(self, folder: Path, **inputs: str) -> None:
        self.workspace = folder / "work space"
        self.temp = folder / "temp"
        self.workspace.mkdir()
        self.temp.mkdir()
        self.summary_file = folder / "summary.md"
        self.summary_file.touch()
        defaults = {name: entry.get("default", "") for name, entry in ACTION["inputs"].items()}
        assert set(inputs) <= {name.replace("-", "_") for name in defaults}
        self.inputs = {name: inputs.get(name.replace("-", "_"), default) for name, default in defaults.items()}
        self.outputs: dict[str, dict[str, str]] = {}
        self.outcomes: dict[str, str] = {}
        self.log = ""
        self.uploaded: dict[str, str] | None = None
        self.failed = ""

    def put(self, name: str, text: str) -> None:
        path = self.workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def use_installed(self) -> None:
        """Skip the installation: have this environment's command where the action looks for it."""
        self.outputs["install"] = {"bin": str(Path(sys.executable).parent)}

    def run(self, upload: str = "success") -> None:
        """Run all steps; `upload` is what becomes of the one that isn't ours."""
        for step in ACTION["runs"]["steps"]:
            if self.failed or (step.get("id") == "install" and "install" in self.outputs):
                continue
            if "if" in step and not self.holds(step["if"]):
                outcome = "skipped"
            elif "run" in step:
                outcome = self.shell(step)
            else:
                self.uploaded = {name: self.filled(value) for name, value in step["with"].items()}
                outcome = upload
            self.outcomes[step.get("id", step["name"])] = outcome
            if outcome == "failure" and not step.get("continue-on-error", False):
                self.failed = step["name"]

    def shell(self, step: dict[str, Any]) -> str:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "an input that is pasted into a script is run as code"
        output = self.temp / f"output-{len(self.outcomes)}"
        output.touch()
        script = self.temp / "script.sh"
        script.write_text(step["run"], encoding="utf-8")
        environment = {
            **os.environ,
            "CI": "true",
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_ACTIONS": "true",
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(self.summary_file),
            "GITHUB_WORKSPACE": str(self.workspace),
            "RUNNER_TEMP": str(self.temp),
            **{name: self.filled(value) for name, value in step.get("env", {}).items()},
        }
        result = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.workspace,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        self.log += result.stdout
        if "id" in step:
            lines = output.read_text(encoding="utf-8").splitlines()
            self.outputs[step["id"]] = dict(line.split("=", 1) for line in lines)
        return "success" if result.returncode == 0 else "failure"

    def value(self, name: str) -> str:
        match name.split("."):
            case ["inputs", key]:
                return self.inputs[key]
            case ["steps", step, "outputs", key]:
                return self.outputs.get(step, {}).get(key, "")
            case ["steps", step, "outcome"]:
                return self.outcomes[step]
        raise AssertionError(f"the action uses {name}, which this runner doesn't know")

    def filled(self, text: str) -> str:
        return re.sub(r"\$\{\{ (\S+) \}\}", lambda match: self.value(match[1]), text)

    def holds(self, condition: str) -> bool:
        parts = [re.fullmatch(r"(\S+) (==|!=) '([^']*)'", part) for part in condition.split(" && ")]
        assert all(parts), condition
        return all((self.value(part[1]) == part[3]) == (part[2] == "==") for part in parts if part)

    @property
    def results(self) -> dict[str, str]:
        """The action's outputs."""
        return {name: self.filled(entry["value"]) for name, entry in ACTION["outputs"].items()}

    @property
    def summary(self) -> str:
        return self.summary_file.read_text(encoding="utf-8")


@pytest.fixture
def job(tmp_path: Path) -> Job:
    job = Job(tmp_path)
    job.use_installed()
    return job


def test_a_clean_repository(job: Job) -> None:
    job.put("ds.json", GOOD)
    job.run()
    assert not job.failed, job.log
    sarif = job.results.pop("sarif-file")
    assert job.results == {
        "findings": "0", "errors": "0", "warnings": "0", "notes": "0", "exit-code": "0", "sarif-file": sarif,
    }  # fmt: skip
    assert job.uploaded == {"sarif_file": sarif, "category": "grpo-lint"}
    assert '"results":[]' in Path(sarif).read_text(encoding="utf-8")
    assert "no findings" in job.summary


def test_a_faulty_repository_fails_after_the_upload(job: Job) -> None:
    job.put("conf/my ds.json", BAD)
    job.put("note.json", NOTE)
    job.run()
    assert job.failed == "Fail on findings"
    assert job.uploaded is not None
    assert {**job.results, "sarif-file": ""} == {
        "findings": "2", "errors": "1", "warnings": "0", "notes": "1", "exit-code": "1", "sarif-file": "",
    }  # fmt: skip
    assert "::error file=conf/my ds.json,line=1,endLine=1,col=110," in job.log
    assert "| ❌ error | NOT17 bf16\\-and\\-fp16 | conf/my ds.json\\:1\\:110 |" in job.summary
    assert job.summary.index("❌") < job.summary.index("ℹ️")


@pytest.mark.parametrize(
    ("fail_on", "text", "failed"),
    [
        ("never", BAD, False),
        ("error", BAD, True),
        ("error", NOTE, False),
        ("warning", NOTE, False),
        ("note", NOTE, True),
    ],
)
def test_fail_on(tmp_path: Path, fail_on: str, text: str, failed: bool) -> None:
    job = Job(tmp_path, fail_on=fail_on)
    job.use_installed()
    job.put("ds.json", text)
    job.run()
    assert bool(job.failed) == failed
    assert job.results["findings"] == "1"


def test_never_does_not_hide_that_the_linting_failed(tmp_path: Path) -> None:
    job = Job(tmp_path, fail_on="never", paths="nowhere")
    job.use_installed()
    job.run()
    assert job.failed == "Fail on findings"
    assert job.results["exit-code"] == "2"
    assert "nowhere: there is no such file or directory" in job.log
    assert job.uploaded is None
    assert "could not start" in job.summary


def test_paths_and_arguments_one_a_line(tmp_path: Path) -> None:
    job = Job(
        tmp_path, paths="a b.json\r\n-c.json\n\n$(touch x).json", args="--select\nNOT17\n", sarif_file="out.sarif"
    )
    job.use_installed()
    for name in ("a b.json", "-c.json", "$(touch x).json", "not linted.json"):
        job.put(name, BAD)
    job.run()
    assert job.results["errors"] == "3"
    assert not (job.workspace / "x").exists()
    assert job.uploaded == {"sarif_file": "out.sarif", "category": "grpo-lint"}
    assert (job.workspace / "out.sarif").exists()


def test_a_profile_and_a_baseline(tmp_path: Path) -> None:
    job = Job(tmp_path, profile="strict", baseline="known findings.json")
    job.use_installed()
    job.put("ds.json", BAD)
    grpo_lint = [Path(sys.executable).parent / "grpo-lint", "--write-baseline", "known findings.json"]
    subprocess.run(grpo_lint, cwd=job.workspace, capture_output=True, check=True)
    job.put("new.json", NOTE)
    job.run()
    assert "known" not in job.log
    assert (job.failed, job.results["errors"]) == ("Fail on findings", "0")
    assert job.results["notes"] == "1"


def test_a_sarif_file_that_can_not_be_written(tmp_path: Path) -> None:
    job = Job(tmp_path, sarif_file="no/where.sarif")
    job.use_installed()
    job.put("ds.json", GOOD)
    job.run()
    assert job.failed == "Fail on findings"
    assert (job.results["exit-code"], job.uploaded) == ("2", None)


def test_a_name_that_looks_like_a_command(job: Job) -> None:
    job.put("::set-output name=findings::\n::stop-commands::x.json", BAD)
    job.run()
    commands = [line for line in job.log.splitlines() if line.lstrip().startswith("::")]
    assert [line.split(" ")[0] for line in commands] == ["::error"]
    assert job.results["findings"] == "1"


def test_without_upload(tmp_path: Path) -> None:
    job = Job(tmp_path, upload="false")
    job.use_installed()
    job.put("ds.json", GOOD)
    job.run()
    assert (job.uploaded, job.failed) == (None, "")
    assert job.results["sarif-file"]


def test_an_upload_without_the_right_to_it_is_told_and_no_reason_to_fail(job: Job) -> None:
    job.put("ds.json", GOOD)
    job.run(upload="failure")
    assert not job.failed
    assert "::warning title=grpo-lint::the findings could not be uploaded" in job.log


def test_two_uses_in_one_job_add_to_the_summary(job: Job) -> None:
    job.put("ds.json", GOOD)
    job.run()
    job.run()
    assert job.summary.count("### grpo-lint") == 2


def test_the_installation(tmp_path: Path) -> None:
    needs_package_index()
    job = Job(tmp_path, python=sys.executable, args="--select=NOT07,NOT17")
    job.put("ds.json", BAD)
    job.put("run.sh", "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=1\n")
    job.run()
    assert f"grpo-lint {__version__}\n" in job.log
    assert job.failed == "Fail on findings", job.log
    assert job.results["errors"] == "2"
    assert job.outputs["install"]["bin"].startswith(str(job.temp))


PYTHON_STUB = """#!/bin/sh
# `python -m venv FOLDER` puts this script into the folder; anything else is told and done
echo "called: $*"
if [ "$2" = venv ]; then
  mkdir -p "$3/bin"
  cp "$0" "$3/bin/python"
  cp "$0" "$3/bin/grpo-lint"
fi
"""


def test_a_version_of_ones_own_choice(tmp_path: Path) -> None:
    job = Job(tmp_path, python=str(tmp_path / "python"), version="1.2.3", upload="false")
    (tmp_path / "python").write_text(PYTHON_STUB, encoding="utf-8")
    (tmp_path / "python").chmod(0o755)
    job.run()
    assert "called: -m pip install --quiet --disable-pip-version-check grpo-lint==1.2.3\n" in job.log
    assert "called: --version\n" in job.log


# -- the file itself


def test_every_input_and_output_is_described_and_used() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    for name, entry in ACTION["inputs"].items():
        assert entry["description"]
        assert f"${{{{ inputs.{name} }}}}" in text or f"inputs.{name} ==" in text
    assert all(entry["description"] for entry in ACTION["outputs"].values())


def test_the_upload_is_pinned_to_a_commit() -> None:
    (uses,) = (step["uses"] for step in ACTION["runs"]["steps"] if "uses" in step)
    assert re.fullmatch(r"github/codeql-action/upload-sarif@[0-9a-f]{40}", uses)


def schema_faults(schema: str, *files: Path) -> str:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *files]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if result.returncode == 0 else result.stdout


def test_its_schema() -> None:
    assert not schema_faults("vendor.github-actions", ROOT / "action.yml")


def test_the_schema_of_the_workflows() -> None:
    assert not schema_faults("vendor.github-workflows", *sorted((ROOT / ".github" / "workflows").glob("*.yml")))


def test_zizmor_finds_nothing() -> None:
    zizmor = shutil.which("zizmor", path=str(Path(sys.executable).parent))
    assert zizmor is not None
    command = [zizmor, "--offline", "--no-progress", "--persona", "pedantic", ROOT / "action.yml", ROOT / ".github"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


def test_the_shell_works_with_the_bash_of_macos() -> None:
    """bash 3.2 has neither `mapfile` nor `${x,,}` nor associative arrays."""
    for step in ACTION["runs"]["steps"]:
        assert not re.search(r"mapfile|readarray|declare -A|\$\{\w+(,,|\^\^)|&>>|\|&", step.get("run", ""))


def test_a_pull_request_is_judged_by_what_it_touches(tmp_path: Path) -> None:
    job = Job(tmp_path, diff_base="HEAD^1")
    job.use_installed()
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgSign=false"]
    job.put("old.json", BAD)
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "base"]):
        subprocess.run([*git, *words], cwd=job.workspace, check=True)
    job.put("new.json", BAD)
    for words in (["add", "-A"], ["commit", "-qm", "change"]):
        subprocess.run([*git, *words], cwd=job.workspace, check=True)
    job.run()
    assert job.failed == "Fail on findings"
    assert job.results["findings"] == "1"
    assert "::error file=new.json,line=1," in job.log
    assert "old.json" not in job.log


def test_a_base_that_was_not_checked_out_is_told(tmp_path: Path) -> None:
    job = Job(tmp_path, diff_base="origin/main")
    job.use_installed()
    job.put("ds.json", BAD)
    subprocess.run(["git", "init", "-q"], cwd=job.workspace, check=True)
    job.run()
    assert job.failed == "Fail on findings"
    assert job.results["exit-code"] == "2"
    assert "--diff-base origin/main: git knows no commit of this name" in job.log
    assert job.uploaded is None
