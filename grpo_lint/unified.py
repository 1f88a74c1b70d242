"""The unified config: one vocabulary for what every framework calls by its own names."""

from __future__ import annotations

from grpo_lint.source import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal

    State = Literal["known", "alternatives", "unknown", "unset"]
    Layer = Literal["default", "base", "file", "environment", "override", "derived"]

LAYERS: tuple[Layer, ...] = ("default", "base", "file", "environment", "override", "derived")
"""Weakest first. `derived` values are worked out from others by the framework's own formula."""


class Field:
    """A unified field: its type ("int", "float", "str", "bool"), unit or allowed words, and meaning."""

    __slots__ = ("meaning", "type", "unit")

    def __init__(self, type: str, unit: str, meaning: str) -> None:
        self.type = type
        self.unit = unit
        self.meaning = meaning


FIELDS: dict[str, Field] = {
    # what the source document's config holds
    "zero_stage": Field("int", "0-3", "DeepSpeed ZeRO stage; FSDP sharding is not one"),
    "optimizer": Field("str", "name", "optimizer of the trained model, as the framework names it"),
    "gradient_clipping": Field("float", "max norm", "gradient norm that the optimizer step clips to"),
    "overlap_comm": Field("bool", "", "DeepSpeed overlaps the gradient reduction with the backward pass"),
    "lora_rank": Field("int", "0 = none", "adapter rank that is really in force"),
    "fsdp_mode": Field("str", "fsdp1 | fsdp2 | megatron | ...", "engine that shards the trained model"),
    "group_size": Field("int", "responses per prompt", "size of the group that advantages are normalised in"),
    "bypass_mode": Field("bool", "", "the rollout's log-probabilities stand in for the old policy's"),
    "enforce_eager": Field("bool", "", "the rollout engine runs without CUDA graphs"),
    "use_critic": Field("bool", "", "a critic model is trained"),
    "ref_in_actor": Field("bool", "", "the reference policy is the actor with its adapter switched off"),
    "checkpoint_mode": Field("str", "naive | nccl | ...", "engine that carries weights from trainer to rollout"),
    "sleep_level": Field("int", "0-2", "how much the rollout engine frees while it sleeps"),
    "rollout_engine": Field("str", "vllm | sglang | ...", "engine that generates the responses"),
    "model_dtype": Field("str", "bf16 | fp16 | fp32", "type that the trained model computes in"),
    "gating_dtype": Field("str", "fp32 | fp64 | ...", "type of the mixture-of-experts router"),
    # shape of the run
    "n_gpus": Field("int", "per node", "GPUs of the trainer on each node (in all, where the framework counts so)"),
    "nnodes": Field("int", "", "nodes of the trainer"),
    "dp_size": Field("int", "", "data-parallel size of the trainer"),
    "tp": Field("int", "", "tensor-parallel size: the trainer's, or the rollout's where the trainer has none"),
    "pp": Field("int", "", "pipeline-parallel size of the trainer"),
    "moe": Field("bool", "", "the model is a mixture of experts"),
    "algorithm": Field("str", "grpo | gae | rloo | ...", "advantage estimator"),
    # what the rules need besides
    "offload_optimizer": Field("str", "none | cpu | nvme", "where optimizer state lives between steps"),
    "offload_param": Field("str", "none | cpu | nvme", "where parameters live between uses"),
    "bf16": Field("bool", "", "bfloat16 training is switched on"),
    "fp16": Field("bool", "", "float16 training is switched on"),
    "torch_compile": Field("bool", "", "the trained model is compiled by torch.compile"),
    "router_replay": Field("str", "disabled | R2 | R3", "whose expert choices the trainer replays"),
    "lora_merge": Field("bool", "", "adapters are merged into the weights that the rollout gets"),
    "load_format": Field("str", "dummy | auto | ...", "how the rollout engine loads its first weights"),
    "critic_enable": Field("bool", "", "the config itself says whether a critic is trained"),
    "model_path": Field("str", "path or hub name", "the trained model"),
    "rollout_tp": Field("int", "", "tensor-parallel size of the rollout engine"),
    "sequence_parallel": Field("int", "", "sequence-parallel size of the trainer"),
    "async_rollout": Field("bool", "", "rollout runs on GPUs of its own, apart from the trainer's"),
    # what only the strict forms and the unified config know
    "gpu_memory": Field("float", "GiB", "memory of each of the trainer's GPUs"),
    "group_by_prompt": Field("bool", "", "advantages are normalised among the responses to one prompt"),
    "reward_kind": Field(
        "str", "outcome | sparse | shaped", "what the reward tells: right or wrong, rarely right, how far"
    ),
    "ulimit": Field("int", "open files", "limit on open files that the launch sets"),
    "record_stream": Field("bool", "", "buffers of asynchronous streams are recorded with the allocator"),
    "multi_turn": Field("bool", "", "responses take turns with an environment or with tools"),
    "env_loss_coef": Field("float", "weight", "weight of an auxiliary loss on the environment's tokens (ECHO)"),
    "dsa": Field("bool", "", "the model's sparse attention chooses tokens by an indexer (DSA)"),
    "indexer_replay": Field("bool", "", "the trainer replays the rollout's choices of that indexer"),
    "multimodal": Field("bool", "", "the model has a vision or audio tower"),
}


class Origin:
    """Where a value comes from: the layer that set it, the place, and the places that led there, nearest first.

    `span` is None for a framework's default. `note` names what has no place ("default of verl 0.9.1") or qualifies the
    value ("unless ROLLOUT_N is set"). `key` is the option's name in its framework.
    """

    __slots__ = ("data", "key", "layer", "note", "span", "via")

    def __init__(
        self,
        layer: Layer,
        span: Span | None = None,
        via: tuple[Span, ...] = (),
        note: str = "",
        key: str = "",
        data: Any = None,
    ) -> None:
        self.layer = layer
        self.span = span
        self.via = via
        self.note = note
        self.key = key
        self.data = data

    def __repr__(self) -> str:
        return f"Origin({self.layer}, {self.key}, {self.span!r}, {self.note!r})"


class Setting:
    """A setting in one of four states, with the origins that its value passed through, weakest first.

    known: `value` is what the run gets. alternatives: one of `alternatives`, (condition, value) pairs. unknown:
    `reason` says why. unset: nothing sets it, and the framework has no default.
    """

    __slots__ = ("alternatives", "chain", "reason", "state", "value")

    def __init__(
        self,
        state: State,
        value: Any = None,
        chain: tuple[Origin, ...] = (),
        alternatives: tuple[tuple[str, Any], ...] = (),
        reason: str = "",
    ) -> None:
        self.state = state
        self.value = value
        self.chain = chain
        self.alternatives = alternatives
        self.reason = reason

    def __repr__(self) -> str:
        return f"Setting({self.state}, {self.value!r}, {self.origin!r})"

    @property
    def known(self) -> bool:
        return self.state == "known"

    @property
    def unset(self) -> bool:
        return self.state == "unset"

    @property
    def decided(self) -> bool:
        """Known, or known to be unset: a rule can judge it."""
        return self.state in ("known", "unset")

    @property
    def origin(self) -> Origin | None:
        return self.chain[-1] if self.chain else None

    @property
    def span(self) -> Span | None:
        """The place of the effective value, where it has one."""
        return self.chain[-1].span if self.chain else None

    @property
    def key(self) -> str:
        return self.chain[-1].key if self.chain else ""

    @property
    def explicit(self) -> bool:
        """Someone wrote it down: it is neither a framework's default nor derived."""
        return bool(self.chain) and self.chain[-1].layer not in ("default", "base", "derived")

    def map(self, convert: Callable[[Any], Any]) -> Setting:
        """The same setting with its value, or each alternative, converted; chain and state stay."""
        if self.state == "known":
            return Setting("known", convert(self.value), self.chain)
        if self.state == "alternatives":
            pairs = tuple((condition, convert(value)) for condition, value in self.alternatives)
            return Setting("alternatives", None, self.chain, pairs)
        return self


UNSET = Setting("unset")


def known(value: Any, *chain: Origin) -> Setting:
    return Setting("known", value, chain)


def unknown(reason: str, *chain: Origin) -> Setting:
    return Setting("unknown", None, chain, (), reason)


def derived(value: Any, *inputs: Setting, note: str = "") -> Setting:
    """A value worked out from settings. It stands where the first input with a place stands; the others are `via`."""
    spans = [setting.span for setting in inputs if setting.span is not None]
    via = tuple(spans[1:]) + tuple(via for s in inputs if s.origin is not None for via in s.origin.via)
    keys = next((setting.key for setting in inputs if setting.span is not None), "")
    return Setting("known", value, (Origin("derived", spans[0] if spans else None, via, note, keys, value),))


def undecided(*inputs: Setting) -> Setting | None:
    """An unknown setting that explains the first of `inputs` that isn't decided; None when all are."""
    for setting in inputs:
        if not setting.decided:
            reason = setting.reason or f"{setting.key} has more than one value"
            return Setting("unknown", None, setting.chain, (), reason)
    return None
