"""What a run takes of each GPU, phase by phase, as far as its config tells: the terms of memory.py with its numbers.

What isn't known makes a range: the number of GPUs (1 to 1,024), a type (2 to 4 bytes), the matrices that an adapter
covers. What a config can't tell at all (activations, logits, fragments) is left out, so that the sum is a lower bound.
"""

from __future__ import annotations

from grpo_lint import memory
from grpo_lint.frameworks import verl
from grpo_lint.frameworks.shapes import shape_of
from grpo_lint.memory import BYTES, Shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.runconfig import RunConfig
    from grpo_lint.unified import Setting

MOST_RANKS = 1024
"""Where the number of GPUs isn't known, one to so many are taken to share a model."""

FSDP, REFERENCE, ROLLOUT = (
    "actor_rollout_ref.actor.fsdp_config",
    "actor_rollout_ref.ref.fsdp_config",
    "actor_rollout_ref.rollout",
)
KL_TERMS = ("actor_rollout_ref.actor.use_kl_loss", "algorithm.use_kl_in_reward")
LEANER = ("--use-precision-aware-optimizer", "--optimizer-cpu-offload", "--offload-optimizer-states")
LEANER_IN_VERL = ("use_precision_aware_optimizer", "optimizer_cpu_offload", "optimizer_offload_fraction")
"""Options of Megatron's by which its optimizer takes less of the GPU."""
WITHOUT_ADAPTERS = ("megatron", "slime")
"""Trainers that train whole models alone."""
COMPRESSED = ("--quantization", "--cpu-offload-gb", "--load-format", "--dtype")
SERVERS = {"vllm": ("--gpu-memory-utilization", 0.9), "sglang": ("--mem-fraction-static", None)}


class Term:
    """A part of the memory: bytes at least and at most, and the formula with its numbers."""

    __slots__ = ("formula", "high", "low", "name")

    def __init__(self, name: str, low: float, high: float, formula: str) -> None:
        self.name = name
        self.low = min(low, high)
        self.high = max(low, high)
        self.formula = formula


class Phase:
    """A part of a step with what lies on a GPU during it."""

    __slots__ = ("name", "terms")

    def __init__(self, name: str, terms: list[Term]) -> None:
        self.name = name
        self.terms = terms

    @property
    def low(self) -> float:
        return sum(term.low for term in self.terms)

    @property
    def high(self) -> float:
        return sum(term.high for term in self.terms)


class Estimate:
    """The phases of a run; `gpu` is the memory of a GPU in bytes where it is known; `notes` say what was taken for
    granted, and `missing`, where there are no phases, why."""

    __slots__ = ("gpu", "missing", "notes", "phases")

    def __init__(self, gpu: float | None) -> None:
        self.gpu = gpu
        self.phases: list[Phase] = []
        self.notes: list[str] = []
        self.missing = ""


class Span:
    """A number that is known, or one within bounds; `text` is how a formula tells it."""

    __slots__ = ("high", "low", "text")

    def __init__(self, low: float, high: float, text: str = "") -> None:
        self.low = low
        self.high = high
        self.text = text or (f"{low:g}" if low == high else f"{low:g} to {high:,.0f}")


class States:
    """How a trainer keeps a model: bytes of a weight, a gradient and the optimizer's state, and the ranks they are
    split among at a stage of ZeRO's.

    `parts` are the ranks that tensor and pipeline parallelism split the model among; `off` is what lies on the CPU;
    `whole_layers` tells FSDP from ZeRO-3.
    """

    __slots__ = ("gradient", "master", "moments", "off", "parts", "ranks", "stage", "weight", "whole_layers")

    def __init__(self, weight: Span, gradient: Span, moments: Span, master: Span, ranks: Span, stage: int) -> None:
        self.weight, self.gradient, self.moments, self.master = weight, gradient, moments, master
        self.ranks = ranks
        self.stage = stage
        self.parts = Span(1, 1)
        self.off: set[str] = set()
        self.whole_layers = True


def estimate(run: RunConfig) -> Estimate:
    """The memory that a run takes of each GPU, or why that can't be told."""
    gpu = run.gpu_memory
    found = Estimate(gpu.value * memory.GIB if type(gpu.value) in (int, float) else None)
    name = _model(run)
    shape = shape_of(name) if name else None
    if shape is None:
        why = f"the table has no shape for {name}" if name else run.model_path.reason or "nothing names it"
        found.missing = f"the model isn't known: {why}"
    elif run.framework in SERVERS:
        _server(run, shape, found)
    else:
        states = _states(run, found)
        if states is None:
            found.missing = "how the trainer keeps the model isn't known"
        else:
            _trainer(run, shape, states, found)
    return found


def _model(run: RunConfig) -> str:
    """The model's name or path; for a script that no framework knows, what follows the argument of the usual name."""
    if run.model_path.known:
        return str(run.model_path.value)
    words = run.command if run.model_path.unset else ()
    for at, word in enumerate(words[:-1]):
        if word.text in ("--model_name_or_path", "--model-name-or-path") and not words[at + 1].dynamic:
            return words[at + 1].text
    return ""


# -- how a trainer keeps a model


def _states(run: RunConfig, found: Estimate) -> States | None:
    if run.framework == verl.NAME:
        if run.fsdp_mode.value in ("fsdp1", "fsdp2"):
            return _verl_fsdp(run, found)
        return _megatron(run) if run.fsdp_mode.value == "megatron" else None
    if run.framework in ("megatron", "slime"):
        return _megatron(run)
    if run.zero_stage.known and type(run.zero_stage.value) is int:
        return _deepspeed(run, run.zero_stage.value)
    # A YAML alone says nothing of the launcher, which may bring DeepSpeed or FSDP.
    alone = run.framework == "trl" and run.zero_stage.unset and run.complete and bool(run.command)
    return _torch(run) if alone else None


def _world(run: RunConfig) -> Span:
    """The GPUs of the trainer, over all nodes."""
    counts = [setting.value for setting in (run.n_gpus, run.nnodes)]
    if type(counts[0]) is not int:
        return Span(MOST_RANKS, 1, f"1 to {MOST_RANKS:,}")
    return _exactly(counts[0] * (counts[1] if type(counts[1]) is int else 1))


def _exactly(number: float) -> Span:
    return Span(number, number)


def _width(setting: Setting) -> Span:
    """Bytes of a number of a type."""
    width = BYTES.get(str(setting.value))
    return Span(2, 4, "2 to 4") if width is None else _exactly(width)


def _moments(run: RunConfig, width: Span) -> Span:
    """Bytes of the optimizer's moments for each trained parameter; Adam's, where nothing says otherwise."""
    name = str(run.optimizer.value or "adamw").lower()
    if "8bit" in name or "8_bit" in name:
        return _exactly(2)
    if "adam" in name:
        return Span(2 * width.low, 2 * width.high)
    return Span(0, 2 * width.high, "0 to 8")


def _verl_fsdp(run: RunConfig, found: Estimate) -> States:
    """FSDP keeps one copy in `model_dtype` and computes in another; Adam's moments are of the copy's type."""
    width = _width(verl.option(run, f"{FSDP}.model_dtype").map(_short))
    size = verl.option(run, f"{FSDP}.fsdp_size").value
    ranks = _exactly(size) if type(size) is int and size > 0 else _world(run)
    states = States(width, width, _moments(run, width), _exactly(0), ranks, 3)
    if verl.option(run, f"{FSDP}.offload_policy").value is True and run.fsdp_mode.value == "fsdp2":
        states.off = {"weights", "gradients", "optimizer"}
    elif "cpu" in (run.offload_param.value, run.offload_optimizer.value):
        found.notes.append("verl brings what is offloaded back to the GPU for the update")
    return states


def _short(name: object) -> object:
    from grpo_lint.frameworks.shape import DTYPES

    return DTYPES.get(str(name), name)


def _megatron(run: RunConfig) -> States | None:
    """bf16 weights and fp32 gradients on each data-parallel rank, the rest split by the distributed optimizer."""
    sizes = [setting.value if type(setting.value) is int else None for setting in (run.tp, run.pp)]
    if None in sizes or run.moe.value is True:  # expert parallelism splits experts alone
        return None
    parts = (sizes[0] or 1) * (sizes[1] or 1)
    world = _world(run)
    ranks = Span(max(world.low / parts, 1), max(world.high / parts, 1))
    states = States(_exactly(2), _exactly(4), _exactly(8), _exactly(4), ranks, 1)
    if run.framework != verl.NAME:
        flags = [run.option(run.framework, key).value for key in LEANER]
        if flags[0] is True:
            states.moments, states.master, states.gradient = Span(2, 8), Span(2, 4), Span(2, 4)
        if flags[1] is True or flags[2] is True:
            states.off.add("optimizer")
    elif any(key.endswith(LEANER_IN_VERL) for key in run.options.keys(verl.NAME)):
        states.moments, states.master, states.gradient = Span(0, 8), Span(0, 4), Span(2, 4)
    states.parts = _exactly(parts)
    return states


def _torch(run: RunConfig) -> States:
    """DDP, or accelerate's FSDP: weights as they were loaded, gradients and Adam's moments of the same type."""
    width = Span(2, 4, "2 to 4")
    sharded = run.fsdp_mode.value in ("fsdp1", "fsdp2")
    return States(width, width, _moments(run, width), _exactly(0), _world(run), 3 if sharded else 0)


def _deepspeed(run: RunConfig, stage: int) -> States:
    """ZeRO: with mixed precision 16-bit weights and gradients, and an optimizer with a copy of the weights in fp32."""
    if run.bf16.value is True or run.fp16.value is True:
        width, master = _exactly(2), _exactly(4)
    elif run.bf16.value is False and run.fp16.value is False:
        width, master = _exactly(4), _exactly(0)
    else:
        width, master = Span(2, 4, "2 to 4"), Span(0, 4, "0 to 4")
    states = States(width, width, _moments(run, _exactly(4)), master, _world(run), stage)
    states.whole_layers = False
    if run.offload_optimizer.value in ("cpu", "nvme"):
        states.off |= {"optimizer", "gradients"}
    if run.offload_param.value in ("cpu", "nvme"):
        states.off |= {"weights"}
    return states


# -- terms


def _trainer(run: RunConfig, shape: Shape, states: States, found: Estimate) -> None:
    """Two phases: the update, and the rollout of an engine on the same GPUs."""
    trained, told = _trained(run, shape)
    actor = _model_terms("", shape, states, trained, told)
    reference = _reference(run, shape, states)
    found.phases.append(Phase("update", [*actor, *reference]))
    if run.use_critic.value is True:
        found.notes.append("the critic's model is left out: it takes as much again, if it is of the same size")
    if run.framework == verl.NAME and _shares_gpus(run):
        rollout = _colocated(run, shape, [*actor, *reference], found)
        if rollout is not None:
            found.phases.append(rollout)


def _trained(run: RunConfig, shape: Shape) -> tuple[Span, str]:
    """How many parameters are trained, and how a formula tells it."""
    rank, every = run.lora_rank.value, float(shape.parameters)
    if not run.lora_rank.known and run.framework not in WITHOUT_ADAPTERS:
        return Span(0, every), f"0 to {_millions(every)} (an adapter, or all)"
    if type(rank) is not int or rank <= 0:
        return _exactly(every), _millions(every)
    low, high = memory.adapter(shape, rank, every_linear=False), memory.adapter(shape, rank)
    return Span(low, high), f"{_millions(low)} to {_millions(high)} (rank {rank})"


def _model_terms(owner: str, shape: Shape, states: States, trained: Span, told: str) -> list[Term]:
    """What a trained model takes: weights, gradients, optimizer state, and what is gathered of them."""
    count, parts = shape.parameters, states.parts.high
    low = memory.zero_shards(states.stage, states.ranks.low)
    high = memory.zero_shards(states.stage, states.ranks.high)

    def term(name: str, size: Span, text: str, width: Span, at: int) -> Term:
        among = "" if low[at] == high[at] == 1 and parts == 1 else f" / {_shards(states, low[at], high[at])}"
        return Term(
            f"{owner}{name}",
            size.low * width.low / low[at] / parts,
            size.high * width.high / high[at] / parts,
            f"{text} x {width.text} B{among}",
        )

    optimizer = Span(states.moments.low + states.master.low, states.moments.high + states.master.high)
    terms = [
        term("weights", _exactly(count), _millions(count), states.weight, 0),
        term("gradients", trained, told, states.gradient, 1),
        term("optimizer", trained, told, optimizer, 2),
    ]
    terms = [one for one in terms if one.name.removeprefix(owner) not in states.off]
    if states.stage == 3:
        copies = 1 if trained.low < count else 2
        size = memory.gathered(shape, states.whole_layers, 2, copies)
        piece = memory.largest_piece(shape, states.whole_layers)
        terms.append(Term(f"{owner}gathered", size, size, f"{_millions(piece)} x 2 B x {copies}"))
    return terms


def _shards(states: States, low: float, high: float) -> str:
    parts = states.parts.high
    ranks = states.ranks.text if (low, high) != (1, 1) else "1"
    return ranks if parts == 1 else f"({parts:g} x {ranks})" if ranks != "1" else f"{parts:g}"


def _reference(run: RunConfig, shape: Shape, states: States) -> list[Term]:
    """The frozen reference of verl, where one is kept and it isn't the actor itself nor on the CPU."""
    if run.framework != verl.NAME or states.parts.high != 1 or run.ref_in_actor.value is not False:
        return []
    uses = [verl.option(run, key).value for key in KL_TERMS]
    if True not in uses or verl.option(run, f"{REFERENCE}.param_offload").value is True:
        return []
    width = _width(verl.option(run, f"{REFERENCE}.model_dtype").map(_short))
    return [
        Term(
            "reference",
            memory.weights(shape.parameters, width.low, states.ranks.low),
            memory.weights(shape.parameters, width.high, states.ranks.high),
            f"{_millions(shape.parameters)} x {width.text} B / {states.ranks.text}",
        )
    ]


def _shares_gpus(run: RunConfig) -> bool:
    """Whether verl's engine runs on the trainer's GPUs."""
    separate = verl.option(run, "actor_rollout_ref.hybrid_engine").value is False
    apart = any("fully_async" in word.text or "one_step_off" in word.text for word in run.command[:6])
    return run.async_rollout.value is False and not separate and not apart


def _colocated(run: RunConfig, shape: Shape, resident: list[Term], found: Estimate) -> Phase | None:
    """The rollout of verl's engine on the trainer's GPUs: its share, beside what the trainer leaves there."""
    part = verl.option(run, f"{ROLLOUT}.gpu_memory_utilization").value
    if type(part) not in (int, float) or found.gpu is None:
        found.notes.append("the rollout's share is told where the GPU's memory is known (hardware.gpu-memory)")
        return None
    gone = {"gathered", "gradients"}
    gone |= {"weights"} if run.offload_param.value == "cpu" else set()
    gone |= {"optimizer"} if run.offload_optimizer.value == "cpu" else set()
    kept = [term for term in resident if term.name not in gone]
    share = memory.engine_share(found.gpu, part)
    tp = run.rollout_tp.value if type(run.rollout_tp.value) is int and run.rollout_tp.value > 0 else 1
    _tell_tokens(shape, share, tp, found)
    return Phase("rollout", [*kept, Term("engine", share, share, f"{part:g} x {_gib(found.gpu)} GiB")])


def _tell_tokens(shape: Shape, share: float, tp: int, found: Estimate) -> None:
    model = memory.weights(shape.parameters, 2, tp)
    tokens = memory.kv_tokens(share, model, memory.kv_bytes_per_token(shape, 2, tp))
    if tokens:
        found.notes.append(f"the engine's KV cache holds {tokens:,.0f} tokens at most ({_gib(model)} GiB are weights)")
    else:
        found.notes.append(f"the engine's weights, {_gib(model)} GiB a GPU, don't fit in its share")


def _server(run: RunConfig, shape: Shape, found: Estimate) -> None:
    """A server takes its share of the GPU, whatever the model."""
    key, otherwise = SERVERS[run.framework]
    part = run.option(run.framework, key)
    fraction = part.value if type(part.value) in (int, float) else otherwise
    sizes = [run.tp, run.pp]
    if not all(size.decided for size in sizes) or any(run.option(run.framework, key).explicit for key in COMPRESSED):
        found.missing = "how the server splits or compresses the weights isn't known"
        return
    tp = run.tp.value if type(run.tp.value) is int and run.tp.value > 0 else 1
    tp *= run.pp.value if type(run.pp.value) is int and run.pp.value > 0 else 1
    model = memory.weights(shape.parameters, 2, tp)
    terms = [Term("weights", model, model, f"{_millions(shape.parameters)} x 2 B / {tp}")]
    if found.gpu is not None and fraction is not None:
        share = memory.engine_share(found.gpu, fraction)
        _tell_tokens(shape, share, tp, found)
        rest = max(share - model, 0)
        terms.append(Term("kv cache", 0, rest, f"{fraction:g} x {_gib(found.gpu)} GiB - weights - activations"))
    found.phases.append(Phase("serving", terms))


def _millions(count: float) -> str:
    return f"{count / 1e6:,.0f} M"


def _gib(size: float) -> str:
    return f"{size / memory.GIB:.1f}"
