"""What `grpo-lint recommend` writes is taken by the frameworks' own parsers, on a CPU: `pytest -m upstream`.

Each test needs the package that it is about and is skipped where that isn't installed. Megatron-LM is no package: it is
taken from PYTHONPATH, and GPUs of compute capability 9.0 are pretended where there are none.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grpo_lint.recipes import choose, write

pytestmark = [pytest.mark.upstream, pytest.mark.filterwarnings("ignore")]
KNOWN = choose.load()
MACHINES: dict[str, dict[str, Any]] = {
    "strict": {"strict": True, "gpus": 1, "nodes": 1, "memory": 24},
    "small": {"strict": False, "gpus": 4, "nodes": 2, "memory": 24},
    "large": {"strict": False, "gpus": 8, "nodes": 1, "memory": 80},
}


@pytest.fixture(autouse=True, scope="module")
def without_a_gpu() -> Iterator[None]:
    """vLLM looks for a device when it is first imported, and TRL imports it."""
    with pytest.MonkeyPatch.context() as patch:
        if "VLLM_TARGET_DEVICE" not in os.environ:
            patch.setenv("VLLM_TARGET_DEVICE", "cpu")
        yield


def cases(*formats: str) -> list[Any]:
    found = []
    for format in formats:
        for name, machine in MACHINES.items():
            for topic in ("", *choose.TOPICS):
                case = choose.Case(format, topic, **machine)
                if not choose.refusal(KNOWN, case):
                    found.append(pytest.param(case, id=f"{format}-{topic or 'all'}-{name}"))
    return found


def written(case: choose.Case) -> str:
    return write.text(KNOWN["formats"][case.format], case, choose.lines(KNOWN, case), ["as tests write it"])


def words(case: choose.Case) -> list[str]:
    """The arguments of a launch script, as its shell would pass them."""
    text = written(case)
    return shlex.split(text[text.index("=(") + 2 : text.index("\n)\n")], comments=True)


@pytest.mark.parametrize("case", cases("deepspeed"))
def test_deepspeed(case: choose.Case, tmp_path: Path) -> None:
    config = pytest.importorskip("deepspeed.runtime.config")
    path = tmp_path / "ds_config.json"
    path.write_text(written(case), encoding="utf-8")
    read = config.DeepSpeedConfig(str(path))
    muon = case.topic == "muon" and not case.strict
    assert read.gradient_clipping == (0.0 if muon else 1.0)
    assert read.optimizer_name == ("muon" if muon else "adamw")
    assert read.bfloat16_config.enabled
    assert not read.float16_config.enabled
    if case.topic != "moe-nan":
        assert read.zero_optimization_stage == 2
        offloaded = read.zero_config.offload_optimizer
        assert (offloaded is not None) == (case.memory <= 40 and not muon)


@pytest.mark.parametrize("case", cases("verl", "verl-yaml"))
def test_verl(case: choose.Case, tmp_path: Path) -> None:
    """Composed by Hydra from verl's own configs, then checked by `validate_config` and verl's data classes."""
    hydra = pytest.importorskip("hydra")
    pytest.importorskip("verl.trainer.config")
    if case.format == "verl":
        name = "ppo_megatron_trainer" if case.engine == "megatron" else "ppo_trainer"
        with hydra.initialize_config_module("verl.trainer.config", version_base=None):
            config = hydra.compose(name, overrides=words(case))
    else:
        (tmp_path / "grpo.yaml").write_text(written(case), encoding="utf-8")
        with hydra.initialize_config_dir(str(tmp_path), version_base=None):
            config = hydra.compose("grpo")
    actor = config.actor_rollout_ref.actor
    second = case.topic in ("", "fsdp") and not case.strict
    assert actor.strategy == ("megatron" if case.engine == "megatron" else "fsdp2" if second else "fsdp")
    assert actor.optim.clip_grad == (0.0 if case.topic == "muon" and not case.strict else 1.0)
    validate(config)


def validate(config: Any) -> None:
    checks = pytest.importorskip("verl.utils.config")
    utils = pytest.importorskip("verl.trainer.ppo.utils")
    try:
        checks.validate_config(
            config=config,
            use_reference_policy=utils.need_reference_policy(config),
            use_critic=utils.need_critic(config),
        )
    except ValueError as error:
        if "vllm version None" in str(error):
            pytest.skip("verl looks at the vLLM that is installed, and none is")
        raise
    for section in (config.actor_rollout_ref.actor, config.actor_rollout_ref.rollout):
        assert checks.omega_conf_to_dataclass(section)


@pytest.mark.parametrize("case", cases("trl"))
def test_trl(case: choose.Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trl = pytest.importorskip("trl")
    script = pytest.importorskip("trl.scripts.grpo")
    monkeypatch.setenv("WORLD_SIZE", "1")
    path = tmp_path / "grpo.yaml"
    path.write_text(written(case), encoding="utf-8")
    parser = trl.TrlParser((script.GRPOScriptArguments, trl.GRPOConfig, trl.ModelConfig))
    _, trainer, model = parser.parse_args_and_config(["--config", str(path), "--use_cpu"])
    assert trainer.num_generations == (16 if case.strict else 8)
    assert isinstance(trainer.learning_rate, float)
    assert trainer.generation_batch_size % trainer.num_generations == 0
    assert model.use_peft == (case.strict or case.topic in ("", "lora"))
    assert bool(trainer.fsdp) == (case.topic == "fsdp")
    assert isinstance(trainer.deepspeed, dict) == (case.topic in ("", "zero", "muon"))


@pytest.mark.parametrize("case", cases("megatron"))
def test_megatron(case: choose.Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parsed, and checked by `validate_args`, as on each rank of the launch."""
    torch = pytest.importorskip("torch")
    typing_extensions = pytest.importorskip("typing_extensions")
    monkeypatch.setattr("typing.override", typing_extensions.override, raising=False)  # of Python 3.12
    if not torch.cuda.is_available():
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda *_: (9, 0))
        properties = argparse.Namespace(major=9, minor=0, multi_processor_count=132)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda *_: properties)
    arguments = pytest.importorskip("megatron.training.arguments")
    for name, value in {"WORLD_SIZE": str(case.ranks), "RANK": "0", "LOCAL_RANK": "0"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(Path(arguments.__file__).parents[2])  # where its examples lie
    monkeypatch.setattr(sys, "argv", ["train_rl.py", *words(case)])
    parsed = arguments.parse_args()
    arguments.validate_args(parsed)
    assert parsed.data_parallel_size == case.ranks
    assert parsed.moe_router_dtype == ("fp32" if case.topic == "moe-nan" else None)
    assert (parsed.optimizer, parsed.clip_grad) == (
        ("muon", 0.0) if case.topic == "muon" and not case.strict else ("adam", 1.0)
    )
    assert parsed.grpo_group_size == (16 if case.strict else 8)


@pytest.mark.parametrize("case", cases("vllm"))
def test_vllm(case: choose.Case) -> None:
    pytest.importorskip("vllm.engine.arg_utils", exc_type=ImportError)
    try:
        from vllm.entrypoints.common import cli_args as module  # 0.33.0
    except ImportError:
        module = pytest.importorskip("vllm.entrypoints.openai.cli_args", exc_type=ImportError)
    utils = pytest.importorskip("vllm.utils.argparse_utils")
    parsed = module.make_arg_parser(utils.FlexibleArgumentParser()).parse_args(words(case))
    assert parsed.model_tag
    assert parsed.dtype == "bfloat16"
    assert parsed.max_lora_rank == (32 if case.topic in ("", "lora") else 16)


@pytest.mark.parametrize("case", cases("sglang"))
def test_sglang(case: choose.Case) -> None:
    server = pytest.importorskip("sglang.srt.server_args", exc_type=ImportError)
    parser = argparse.ArgumentParser()
    server.ServerArgs.add_cli_args(parser)
    parsed = parser.parse_args(words(case))
    assert parsed.dtype == "bfloat16"
    assert parsed.enable_memory_saver == (case.topic in ("", "rollout"))
    assert parsed.cuda_graph_backend_decode == ("disabled" if case.strict else None)
    assert parsed.max_lora_rank == (32 if case.topic in ("", "lora") else None)
