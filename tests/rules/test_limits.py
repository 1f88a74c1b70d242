import pytest
from deepspeed_runs import config, findings, said
from verl_runs import MAIN, launched

from grpo_lint.discover import Repository
from grpo_lint.rules.avoidance.limits import OPEN_FILES, nofile_65535, open_files
from grpo_lint.run import Assembler
from grpo_lint.runconfig import RunConfig
from grpo_lint.source import SourceFile
from grpo_lint.unified import Origin, known, unknown


def limited(number: int) -> RunConfig:
    run = launched(MAIN + "trainer.n_gpus_per_node=8")
    run.env[OPEN_FILES] = known(number, Origin("environment", run.anchor, key=OPEN_FILES))
    return run


def test_below_what_ray_accepts() -> None:
    assert said(nofile_65535, limited(1024)) == [
        ("warning", "ulimit -n 1024 lowers the hard limit on open files, too, and workers can fail to connect")
    ]


def test_below_what_scripts_set() -> None:
    assert said(nofile_65535, limited(8192)) == [
        (
            "note",
            "ulimit -n 8192 lowers the hard limit on open files, too, below the 32768 or more that launch scripts set",
        )
    ]


@pytest.mark.parametrize("number", [32768, 65535, 1048576])
def test_enough(number: int) -> None:
    assert not findings(nofile_65535, limited(number))


def test_no_limit_or_an_unknown_one() -> None:
    run = limited(1)
    run.env[OPEN_FILES] = unknown("$1")
    assert not findings(nofile_65535, run)
    del run.env[OPEN_FILES]
    assert not findings(nofile_65535, run)


@pytest.mark.parametrize("section", ["offload_optimizer", "offload_param"])
def test_descriptors_of_nvme_offload(section: str) -> None:
    text = {"zero_optimization": {"stage": 3, section: {"device": "nvme", "nvme_path": "/local"}}}
    assert said(nofile_65535, config(text, deepspeed="0.19.2")) == [
        (
            "warning",
            (
                f"zero_optimization.{section}.device=nvme leaks a file descriptor for each transfer with DeepSpeed "
                "0.19.2, and the run ends with too many open files (DeepSpeed #8075)"
            ),
        )
    ]
    for release in ("0.19.3", "0.17.0"):
        assert not findings(nofile_65535, config(text, deepspeed=release))
    assert not findings(nofile_65535, config(text))
    text["zero_optimization"][section] = {"device": "cpu"}
    assert not findings(nofile_65535, config(text, deepspeed="0.19.2"))


@pytest.mark.parametrize(
    ("command", "limit"),
    [
        ("ulimit -n 65535", 65535),
        ("ulimit -Hn 4096", 4096),
        ("ulimit -HSn 4096", 4096),
        ("ulimit -S -H -n 4096", 4096),
        ("ulimit -n 1024; ulimit -n 65535", 65535),
        ("ulimit -n unlimited", "unlimited"),
        ("N=2048; ulimit -n $N", 2048),
        ("ulimit -Sn 1024", None),
        ("ulimit -c 0", None),
        ("ulimit -n", None),
        ("ulimit -n hard", None),
        ("(ulimit -n 1024)", None),
    ],
)
def test_what_a_script_sets(command: str, limit: int | str | None) -> None:
    text = f"{command}\npython3 -m verl.trainer.main_ppo trainer.n_gpus_per_node=8\n"
    reading = Assembler(Repository.around("."), {}).read(SourceFile("run.sh", text), "run.sh", "shell")
    assert [open_files(run).value for run in reading.runs] == [limit]
