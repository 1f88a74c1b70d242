"""A file with more runs than anybody writes: so many are read, and what is left out is told."""

from pathlib import Path

import pytest

from grpo_lint.engine import Linter
from grpo_lint.run import MAX_RUNS
from grpo_lint.settings import Settings

LAUNCH = "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo data.train_batch_size={}\n"
SERVER = "  s{}:\n    image: vllm/vllm-openai\n    command: ['--model', 'a', '--tensor-parallel-size', '3']\n"
FILES = {
    "launches.sh": "".join(LAUNCH.format(n) for n in range(2_000)),
    "loop.sh": f"for i in {{1..50}}; do for j in {{1..50}}; do {LAUNCH.format('$i$j').strip()}; done; done\n",
    "heredocs.sh": "".join(f'cat > d{n}.json <<EOF\n{{"zero_optimization": {{}}}}\nEOF\n' for n in range(2_000)),
    "documents.yaml": "---\ncompute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\n" * 2_000,
    "compose.yaml": "services:\n" + "".join(SERVER.format(n) for n in range(2_000)),
}


@pytest.mark.parametrize("name", FILES)
def test_what_is_left_out_is_told_once(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(FILES[name], encoding="utf-8")
    report = Linter(Settings()).check([str(tmp_path / name)])
    told = [one for one in report.diagnostics if one.rule == "SRC05" and f"{MAX_RUNS} runs are read" in one.message]
    assert len(told) == 1
    assert report.runs == MAX_RUNS
    assert not report.errors


def test_as_many_as_are_read_are_no_reason_to_say_so(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text("".join(LAUNCH.format(n) for n in range(MAX_RUNS)), encoding="utf-8")
    report = Linter(Settings()).check([str(path)])
    assert report.runs == MAX_RUNS
    assert "SRC05" not in {one.rule for one in report.diagnostics}
