"""Commands inside other shells and containers: what they start, and where their words stand."""

from pathlib import Path

import pytest

from grpo_lint.located import DYNAMIC
from grpo_lint.nested import launches
from grpo_lint.source import SourceFile
from grpo_lint.syntax import shell

LAUNCH = "python3 -m verl.trainer.main_ppo a.b=1 c=x"

CASES = [
    f"bash -c '{LAUNCH}'",
    f'bash -lc "{LAUNCH}"',
    f"srun -N 2 --gres=gpu:8 bash -c 'cd /w && {LAUNCH}'",
    f"ssh -p 22 host '{LAUNCH}'",
    f"ssh host {LAUNCH}",
    f"docker run --gpus all --rm -it -v $PWD:/w -e A=b image:tag {LAUNCH}",
    f"docker exec -it name bash -c '{LAUNCH}'",
    f"singularity exec --nv -B /data image.sif {LAUNCH}",
    f"sbatch --nodes 2 --wrap='{LAUNCH}'",
    f"nohup ssh host \"bash -c '{LAUNCH}'\"",
    f"env A=1 bash -c 'export B=2; {LAUNCH}'",
]


def started(script: str) -> list[tuple[str, list[str]]]:
    source = SourceFile("run.sh", script)
    found = []
    for command in shell.run(source).commands:
        for launch in launches(command.argv, command.env):
            found.append((launch.program, [word.text for word in launch.args]))
            for word in launch.args:
                assert 0 <= word.span.start <= word.span.end <= len(script)
                if not word.dynamic:
                    assert word.span.text == word.text
    return found


@pytest.mark.parametrize("script", CASES)
def test_what_an_inner_command_starts(script: str) -> None:
    assert started(script) == [("verl.trainer.main_ppo", ["a.b=1", "c=x"])]


@pytest.mark.parametrize("script", [LAUNCH, "bash script.sh", "ssh host", "docker ps", "bash -c", "echo bash -c x"])
def test_what_starts_nothing_inside(script: str) -> None:
    assert started(script) == []


def test_what_the_outer_shell_does_not_know_stays_unknown() -> None:
    script = 'bash -c "python3 -m verl.trainer.main_ppo a.b=$(date) c=$X"'
    (command,) = [c for c in shell.run(SourceFile("run.sh", script)).commands if c.argv[0].text == "bash"]
    (launch,) = launches(command.argv, command.env)
    assert [word.text for word in launch.args] == [f"a.b={DYNAMIC}", f"c={DYNAMIC}"]
    assert all(word.reason for word in launch.args)


def test_the_environment_of_the_inner_shell() -> None:
    script = f"A=1 bash -c 'export B=2; {LAUNCH}'"
    (command,) = shell.run(SourceFile("run.sh", script)).commands
    (launch,) = launches(command.argv, command.env)
    assert {name: word.text for name, word in launch.env.items()} == {"A": "1", "B": "2"}


def test_the_command_finds_a_fault_inside_another_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from grpo_lint.cli import main

    inner = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=1"
    script = f"srun bash -c '{inner} actor_rollout_ref.rollout.name=vllm'"
    (tmp_path / "run.sh").write_text(script, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["run.sh", "--output", "concise"]) == 1
    column = script.index("rollout.n=1") + len("rollout.n=") + 1
    assert capsys.readouterr().out.startswith(f"run.sh:1:{column}: NOT07 error: actor_rollout_ref.rollout.n is 1")
