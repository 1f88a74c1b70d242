"""Strict forms about the rollout engine, the weights it gets, and mixtures of experts."""

from __future__ import annotations

import re

from grpo_lint.frameworks.models import is_text_only
from grpo_lint.rules.verdict import (
    Form,
    Verdict,
    fails,
    form,
    hidden,
    inapplicable,
    lacking,
    number,
    passes,
    said,
    untold,
)
from grpo_lint.unified import UNSET, Setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.runconfig import RunConfig

FSDP1 = ("fsdp1", "fsdp")
WIDE = ("fp32", "fp64", "float32", "float64")
NARROW = ("fp16", "float16", "half")
SPARSE_ATTENTION = r"(?i)DeepSeek-?V(?:3\.2|4)|GLM-?5"
"""Names of models whose attention chooses tokens by an indexer."""


def _one_word(run: RunConfig, field: str, right: tuple[object, ...], demand: str, help: str) -> Verdict:
    """The verdict of a form that wants one field to have one value."""
    setting: Setting = getattr(run, field)
    undecided = hidden((field, setting))
    if undecided is not None or setting.unset or setting.value is None:
        return undecided or untold(field)
    if setting.value in right:
        return passes(setting, field)
    return fails(setting, field, demand, help)


@form("DO03", "bypass_mode")
def bypass_mode(run: RunConfig) -> Verdict:
    """Stated: bypass mode, which skips the forward pass for the old log-probabilities.

    Fails when bypass mode is off, also by default.
    """
    return _one_word(run, "bypass_mode", (True,), "asks for bypass mode", "set bypass_mode to true")


@form("DO05", "enforce_eager")
def enforce_eager(run: RunConfig) -> Verdict:
    """Stated: eager mode, no CUDA graphs in training. (The switch is the rollout engine's.)

    Fails when CUDA graphs are on, also by default.
    """
    return _one_word(run, "enforce_eager", (True,), "asks for eager mode", "set enforce_eager to true")


@form("DO06", "fsdp_mode")
def fsdp1(run: RunConfig) -> Verdict:
    """Stated: FSDP1, "the only one proven safe for GRPO".

    Fails when another engine shards the model; FSDP2 is reported as NOT06.
    """
    verdict = _one_word(run, "fsdp_mode", FSDP1, "asks for FSDP1", "use FSDP1")
    if verdict.state == "fail" and run.fsdp_mode.value == "fsdp2":
        verdict.speaker = "NOT06"
    return verdict


@form("NOT06", "fsdp_mode")
def fsdp2(run: RunConfig) -> Verdict:
    """Stated: no FSDP2, since it leaks CPU memory and runs out of GPU memory.

    Fails when FSDP2 shards the model.
    """
    mode = run.fsdp_mode
    undecided = hidden(("fsdp_mode", mode))
    if undecided is not None or mode.unset or mode.value is None:
        return undecided or untold("fsdp_mode")
    if mode.value == "fsdp2":
        return fails(mode, "fsdp_mode", "forbids FSDP2", "use FSDP1")
    return passes(mode, "fsdp_mode")


@form("DO08", "lora_rank", "rollout_engine", "lora_merge")
def rank_32(run: RunConfig) -> Verdict:
    """Stated: LoRA of rank 32 with an adapter sync.

    Fails when the rank is not 32, or merged weights are sent. A rank of 64 or more with vLLM is reported as NOT05, a
    full sync as DO19.
    """
    rank, merge = run.lora_rank, run.lora_merge
    undecided = hidden(("lora_rank", rank))
    if undecided is not None or rank.unset or rank.value is None:
        return undecided or untold("lora_rank")
    demand = "asks for LoRA of rank 32 with an adapter sync"
    if rank.value != 32:
        wide = (number(rank) or 0) >= 64 and run.rollout_engine.value == "vllm"
        return fails(rank, "lora_rank", demand, "set the rank to 32", "NOT05" if wide else "")
    undecided = hidden(("lora_merge", merge))
    if undecided is not None:
        return undecided
    if merge.value is True:
        return fails(merge, "lora_merge", demand, "sync the adapter alone", "DO19")
    return passes(rank, "lora_rank") if merge.known else untold("lora_merge")


@form("NOT05", "lora_rank", "rollout_engine")
def rank_64(run: RunConfig) -> Verdict:
    """Stated: no LoRA rank of 64 or more with vLLM, since it "breaks EOS".

    Fails when the rank is 64 or more and vLLM generates.
    """
    rank, engine = run.lora_rank, run.rollout_engine
    undecided = hidden(("lora_rank", rank))
    if undecided is not None or rank.unset or number(rank) is None:
        return undecided or untold("lora_rank")
    if rank.value < 64:
        return passes(rank, "lora_rank")
    undecided = hidden(("rollout_engine", engine))
    if undecided is not None or engine.unset:
        return undecided or lacking("rollout_engine", rank, said(rank, "lora_rank"))
    if engine.value != "vllm":
        return passes(engine, "rollout_engine")
    others = ((engine, "vLLM generates"),)
    return fails(rank, "lora_rank", "forbids a rank of 64 or more with vLLM", "set the rank to 32", "", others)


@form("DO19", "lora_rank", "lora_merge")
def adapter_sync(run: RunConfig) -> Verdict:
    """Stated: with LoRA, sync the adapter, not all parameters.

    Fails when LoRA trains and merged weights are sent. Not applicable without LoRA.
    """
    return _sync(run, "asks for a sync of the adapter alone")


@form("NOT09", "lora_rank", "lora_merge")
def full_sync(run: RunConfig) -> Verdict:
    """Stated: no full parameter sync, since the adapter is enough.

    Fails with DO19, which reports it. Not applicable without LoRA.
    """
    verdict = _sync(run, "forbids a full sync with LoRA")
    verdict.speaker = "DO19" if verdict.state == "fail" else ""
    return verdict


def _sync(run: RunConfig, demand: str) -> Verdict:
    rank, merge = run.lora_rank, run.lora_merge
    if rank.known and not rank.value:
        return inapplicable("no LoRA", rank)
    undecided = hidden(("lora_merge", merge), ("lora_rank", rank))
    if undecided is not None or merge.unset:
        return undecided or untold("lora_merge")
    if merge.value is not True:
        return passes(merge, "lora_merge")
    if rank.unset:
        return lacking("lora_rank", merge, said(merge, "lora_merge"))
    others = ((rank, "LoRA trains"),)
    return fails(merge, "lora_merge", demand, "sync the adapter alone", "", others)


@form("DO09", "checkpoint_mode", "dp_size")
def naive_engine(run: RunConfig) -> Verdict:
    """Stated: the naive checkpoint engine on one data-parallel rank, without distributed overhead.

    Fails when the data-parallel size is 1 and weights go by another engine.
    """
    return _engine(run, ("naive",), "asks for the naive checkpoint engine on one data-parallel rank")


@form("NOT10", "checkpoint_mode", "dp_size")
def nccl_engine(run: RunConfig) -> Verdict:
    """Stated: no NCCL checkpoint engine on one data-parallel rank.

    Fails when the data-parallel size is 1 and weights go by nccl; reported as DO09.
    """
    mode = run.checkpoint_mode
    if mode.known and mode.value not in ("nccl", None):
        return passes(mode, "checkpoint_mode")
    verdict = _engine(run, (), "forbids the NCCL checkpoint engine on one data-parallel rank")
    verdict.speaker = "DO09" if verdict.state == "fail" else ""
    return verdict


def _engine(run: RunConfig, right: tuple[str, ...], demand: str) -> Verdict:
    mode, size = run.checkpoint_mode, run.dp_size
    undecided = hidden(("checkpoint_mode", mode))
    if undecided is not None or mode.unset or mode.value is None:
        return undecided or untold("checkpoint_mode")
    if mode.value in right:
        return passes(mode, "checkpoint_mode")
    undecided = hidden(("dp_size", size))
    if undecided is not None or size.unset:
        return undecided or lacking("dp_size", mode, said(mode, "checkpoint_mode"))
    if size.value != 1:
        return inapplicable(f"the data-parallel size is {size.value}", size)
    return fails(mode, "checkpoint_mode", demand, "use naive", "", ((size, "one data-parallel rank"),))


@form("DO14", "sleep_level")
def sleep_of_one(run: RunConfig) -> Verdict:
    """Stated: sleep level 1, never 2 on an RTX 4090.

    Fails when the level is known and not 1; 2 is reported as NOT04.
    """
    verdict = _one_word(run, "sleep_level", (1,), "asks for sleep level 1", "set the level to 1")
    verdict.speaker = "NOT04" if verdict.state == "fail" and run.sleep_level.value == 2 else ""
    return verdict


@form("NOT04", "sleep_level")
def sleep_of_two(run: RunConfig) -> Verdict:
    """Stated: no sleep level 2 on an RTX 4090, since it corrupts weights.

    Fails at level 2, whether weights are brought back or not.
    """
    level = run.sleep_level
    undecided = hidden(("sleep_level", level))
    if undecided is not None or level.unset or level.value is None:
        return undecided or untold("sleep_level")
    if level.value == 2:
        return fails(level, "sleep_level", "forbids sleep level 2", "set the level to 1")
    return passes(level, "sleep_level")


@form("DO15", "rollout_engine")
def sglang(run: RunConfig) -> Verdict:
    """Stated: SGLang for the rollout, since it can sleep and wake.

    Fails when another engine generates.
    """
    return _one_word(run, "rollout_engine", ("sglang",), "asks for SGLang", "use SGLang as rollout engine")


@form("NOT12", "multimodal", "model_path", warns=True)
def stale_encoder_cache(run: RunConfig) -> Verdict:
    """Stated: beware of stale entries in vLLM's encoder cache (to be monitored).

    Warns unless the model is known to be text-only, by `multimodal` or by the name of a released model. Not applicable
    to a run without a rollout engine.
    """
    told, path = run.multimodal, run.model_path
    if run.rollout_engine.unset and run.framework != "unified":
        return inapplicable("no rollout engine takes part")
    if told.known and told.value is False:
        return passes(told, "multimodal")
    if told.unset and path.known and is_text_only(str(path.value)):
        return passes(path, "model_path")
    known = said(told, "multimodal") if told.known else "nothing tells that the model is text-only"
    at = told if told.known else path if path.known else run.anchor
    help_ = "watch rewards on repeated images, or set multimodal to false"
    return Verdict("warn", known, at, "asks to monitor the encoder cache", (), help_)


@form("DO16", "dsa", "indexer_replay", "router_replay", "model_path")
def indexer_replay(run: RunConfig) -> Verdict:
    """Stated: replay of the DSA indexer's choices, so that training agrees with the rollout.

    Fails when the model is known to have such an indexer and nothing is replayed. Not applicable otherwise. No release
    of any framework can replay an indexer.
    """
    told, path = run.dsa, run.model_path
    undecided = hidden(("dsa", told))
    if undecided is not None:
        return undecided
    named = told.unset and path.known and re.search(SPARSE_ATTENTION, str(path.value))
    if told.value is not True and not named:
        why = said(told, "dsa") if told.known else "nothing tells that the model has a DSA indexer"
        return inapplicable(why, told if told.known else None)
    indexer, router = run.indexer_replay, run.router_replay
    if indexer.value is True:
        return passes(indexer, "indexer_replay")
    if router.known and router.value in ("R2", "R3"):
        return passes(router, "router_replay")
    undecided = hidden(("indexer_replay", indexer), ("router_replay", router))
    if undecided is not None:
        return undecided
    at, field = (path, "model_path") if named else (told, "dsa")
    return fails(at, field, "asks for a replay of the indexer's choices", "replay them where a framework can")


@form("DO17", "gating_dtype", "moe", "model_dtype")
def fp32_gate(run: RunConfig) -> Verdict:
    """Stated: a float32 gating softmax in a mixture of experts, since fp16 gives NaN.

    Fails when the model is a mixture and the router is known not to compute in float32: by its own setting, or on
    Megatron as the model does. Not applicable to dense models.
    """
    gate, field = _gate(run)
    if gate.known and gate.value in WIDE:
        return passes(gate, field)
    missing = _mixture_or_why_not(run, gate)
    if missing is not None:
        return missing
    others = ((run.moe, "a mixture of experts"),)
    return fails(gate, field, "asks for a float32 router", "compute the router in fp32", "", others)


@form("NOT14", "gating_dtype", "moe", "model_dtype")
def fp16_gate(run: RunConfig) -> Verdict:
    """Stated: no fp16 gating softmax in a mixture of experts.

    Fails when the model is a mixture and the router computes in fp16, by its own setting or on Megatron as the model
    does; reported as DO17.
    """
    gate, field = _gate(run)
    if gate.known and gate.value is not None and gate.value not in NARROW:
        return passes(gate, field)
    missing = _mixture_or_why_not(run, gate)
    if missing is not None:
        return missing
    others = ((run.moe, "a mixture of experts"),)
    return fails(gate, field, "forbids a router in fp16", "compute the router in fp32", "DO17", others)


def _gate(run: RunConfig) -> tuple[Setting, str]:
    """The type that the router computes in, and its field: on Megatron the model's, unless the router has its own."""
    gate = run.gating_dtype
    follows = run.fsdp_mode.value == "megatron" or run.framework in ("megatron", "slime")
    if follows and (gate.unset or (gate.known and gate.value is None)):
        return run.model_dtype, "model_dtype"
    return (UNSET if gate.known and gate.value is None else gate), "gating_dtype"


def _mixture_or_why_not(run: RunConfig, gate: Setting) -> Verdict | None:
    """Why a form about the router says nothing; None for a known mixture whose router's type is known."""
    moe = run.moe
    if moe.known and moe.value is False:
        return inapplicable("a dense model", moe)
    undecided = hidden(("moe", moe), ("gating_dtype", gate))
    if undecided is not None:
        return undecided
    if moe.unset:
        told = gate.known and gate is run.gating_dtype
        return lacking("moe", gate, said(gate, "gating_dtype")) if told else untold("moe")
    return lacking("gating_dtype", moe, "the model is a mixture of experts") if gate.unset else None


FORMS: tuple[Form, ...] = (
    bypass_mode,
    enforce_eager,
    fsdp1,
    fsdp2,
    rank_32,
    rank_64,
    adapter_sync,
    full_sync,
    naive_engine,
    nccl_engine,
    sleep_of_one,
    sleep_of_two,
    sglang,
    stale_encoder_cache,
    indexer_replay,
    fp32_gate,
    fp16_gate,
)
