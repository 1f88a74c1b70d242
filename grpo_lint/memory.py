"""How much memory a model takes: one function a term, each with its formula, its unit and its source.

Sizes are bytes, counts are parameters or tokens. What isn't here, because no config tells it: activations and logits
(they grow with the tokens of a micro-batch), the allocator's fragments, CUDA's own context, the buffers of collectives.
A sum of these terms is therefore less than what a run takes. docs/memory.md compares them with logs.
"""

from __future__ import annotations

GIB = 2**30

BYTES = {"fp32": 4, "fp16": 2, "bf16": 2, "fp8": 1}
"""Bytes of a number."""


class Shape:
    """A decoder's shape, as its config.json gives it: grouped-query attention, gated MLPs, RMS norms.

    `tied` says that the output layer is the embedding, `qkv_bias` and `qk_norm` that attention has those; `experts` is
    0 for a dense model, `expert_ffn` the width of one expert. `parameters` is the published count.
    """

    __slots__ = (
        "expert_ffn", "experts", "ffn", "head_dim", "heads", "hidden", "kv_heads", "layers", "name", "parameters",
        "qk_norm", "qkv_bias", "tied", "vocab",
    )  # fmt: skip

    def __init__(self, name: str, *numbers: int) -> None:
        self.name = name
        self.layers, self.hidden, self.ffn, self.heads, self.kv_heads, self.head_dim = numbers[:6]
        self.vocab, self.tied, self.qkv_bias, self.qk_norm, self.experts, self.expert_ffn = numbers[6:12]
        self.parameters = numbers[12]


def attention(shape: Shape) -> int:
    """Parameters of one layer's attention: q and o `h x heads x d`, k and v `h x kv_heads x d`, biases, two norms.

    Source: Transformers 5.24.0, `models/qwen2/modeling_qwen2.py` and `models/qwen3/modeling_qwen3.py`.
    """
    queries, keys = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    biases = (queries + 2 * keys) * shape.qkv_bias
    return 2 * shape.hidden * (queries + keys) + biases + 2 * shape.head_dim * shape.qk_norm


def feed_forward(shape: Shape) -> int:
    """Parameters of one layer's MLP: gate, up and down, `3 x h x ffn`; of a mixture that for each expert, and a router.

    Source: as `attention`, and `models/qwen3_moe/modeling_qwen3_moe.py`.
    """
    if shape.experts:
        return shape.experts * 3 * shape.hidden * shape.expert_ffn + shape.hidden * shape.experts
    return 3 * shape.hidden * shape.ffn


def layer(shape: Shape) -> int:
    """Parameters of one layer: attention, MLP, and two norms of `h`."""
    return attention(shape) + feed_forward(shape) + 2 * shape.hidden


def embedding(shape: Shape) -> int:
    """Parameters of the embedding, `vocab x h`; the output layer has as many unless it is tied."""
    return shape.vocab * shape.hidden


def parameters(shape: Shape) -> int:
    """Parameters of the model: layers, embedding, output layer, last norm. It equals the count that is published."""
    return shape.layers * layer(shape) + embedding(shape) * (1 if shape.tied else 2) + shape.hidden


def largest_piece(shape: Shape, whole_layers: bool = False) -> int:
    """Parameters of the largest piece gathered at once: ZeRO-3 gathers matrix by matrix, FSDP layer by layer."""
    width = shape.expert_ffn if shape.experts else shape.ffn
    return max(embedding(shape), layer(shape) if whole_layers else shape.hidden * width)


def adapter(shape: Shape, rank: int, every_linear: bool = True) -> int:
    """Parameters of a LoRA adapter: `rank x (in + out)` for each adapted matrix.

    `every_linear` adapts all seven matrices of a layer, otherwise q and v only, which is PEFT's default for most
    families. The experts of a mixture count only with `every_linear`. Source: Hu et al. 2021 (arXiv:2106.09685), 4.1.
    """
    queries, keys = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    sizes = [shape.hidden + queries, shape.hidden + keys]  # q, v
    if every_linear:
        width, count = (shape.expert_ffn, shape.experts) if shape.experts else (shape.ffn, 1)
        sizes += [shape.hidden + keys, queries + shape.hidden] + 3 * count * [shape.hidden + width]
    return shape.layers * rank * sum(sizes)


def weights(count: float, width: float, shards: float = 1) -> float:
    """Bytes of a rank's part of the weights: `parameters x bytes / shards`."""
    return count * width / shards


def gradients(count: float, width: float, shards: float = 1) -> float:
    """Bytes of a rank's part of the gradients, one number for each trained parameter.

    Source: Rajbhandari et al. 2020 (ZeRO, arXiv:1910.02054), 3.1.
    """
    return count * width / shards


def optimizer(count: float, moments: float = 8, master: float = 4, shards: float = 1) -> float:
    """Bytes of a rank's part of the optimizer's state: the moments (Adam: 2 x fp32) and a master copy of the weights.

    Without mixed precision the weights are their own master copy: `master` is 0. Source: ZeRO, 3.1: K = 12 for Adam.
    """
    return count * (moments + master) / shards


def zero_shards(stage: int, ranks: float) -> tuple[float, float, float]:
    """Among how many ranks ZeRO splits weights, gradients and optimizer state.

    Stage 1 splits the optimizer's state, 2 the gradients, too, 3 the weights, too. Source: ZeRO, figure 1.
    """
    return (ranks if stage >= 3 else 1), (ranks if stage >= 2 else 1), (ranks if stage >= 1 else 1)


def gathered(shape: Shape, whole_layers: bool = False, width: float = 2, copies: int = 2) -> float:
    """Bytes that a rank gathers of what is sharded while it computes: the largest piece, its weights and its gradients.

    Source: DeepSpeed 0.19.8 `runtime/zero/stage3.py`, `estimate_zero3_model_states_mem_needs`: `4 x
    largest_layer_params`. FSDP gathers a layer alike, and the next one ahead.
    """
    return largest_piece(shape, whole_layers) * width * copies


def distributed_optimizer(count: float, ranks: float) -> float:
    """Bytes of weights, gradients and optimizer state of Megatron's part of a model: `(6 + 12 / dp)` a parameter.

    bf16 weights (2) and fp32 gradients (4) stay whole on each data-parallel rank; the rest (12) is split. Without the
    distributed optimizer it is 18. Source: Megatron-LM `megatron/training/theoretical_memory_usage.py`,
    `compute_weight_and_optimizer_memory`.
    """
    return count * (6 + 12 / ranks)


def kv_bytes_per_token(shape: Shape, width: float = 2, tp: int = 1) -> float:
    """Bytes of the keys and values of one token on one rank: `2 x layers x kv_heads / tp x d x bytes`.

    A rank holds one head at least: with more ranks than heads these are copied. Source: Kwon et al. 2023 (vLLM,
    arXiv:2309.06180), 3.1; vLLM `config/model.py`, `get_num_kv_heads`.
    """
    return 2 * shape.layers * max(shape.kv_heads / tp, 1) * shape.head_dim * width


def engine_share(gpu: float, utilization: float) -> float:
    """Bytes that a rollout engine takes of a GPU: weights, activations and KV cache together.

    Source: vLLM `v1/worker/gpu_worker.py` (`gpu_memory_utilization` of the whole memory). SGLang's
    `mem_fraction_static` is the part for weights and KV cache alone; activations come on top.
    """
    return gpu * utilization


def kv_tokens(share: float, model: float, per_token: float) -> float:
    """Tokens that fit in the KV cache: what is left of the share after the weights; activations take some of that.

    Source: vLLM `v1/worker/gpu_worker.py`, `determine_available_memory`.
    """
    return max(share - model, 0) / per_token
