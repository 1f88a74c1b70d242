"""What a model's name gives away."""

from __future__ import annotations

from grpo_lint.patterns import lazy

_MIXTURES = lazy(
    r"""(?ix)
    \d+B-A\d+(?:\.\d+)?B            # Qwen3-30B-A3B, ERNIE-4.5-21B-A3B, Ling: total and active parameters
    | -A\d+(?:\.\d+)?B\b            # Qwen1.5-MoE-A2.7B, Qwen2-57B-A14B
    | \bMixtral
    | \bDeepSeek-(?:V2|V3|MoE)
    | \bgpt-oss-
    | [-_]MoE\b
    | \bOLMoE\b
    """
)

_IN_MIXTURES = ("-a", "mixtral", "deepseek-", "gpt-oss-", "moe")
"""Each of the names above holds one of these."""

_DENSE = lazy(
    r"""(?ix)
    (?:Meta-)?Llama-(?:2|3(?:\.\d)?)-\d+B(?:-(?:Instruct|Chat|hf))*
    | Qwen(?:1\.5|2|2\.5)-(?:Math-|Coder-|VL-)?\d+(?:\.\d+)?B(?:-Instruct|-Chat|-Base)?
    | Qwen3-(?:VL-|Embedding-)?\d+(?:\.\d+)?B(?:-Base|-Instruct|-Thinking)?(?:-\d{4})?
    | DeepSeek-R1-Distill-(?:Qwen|Llama)-\d+(?:\.\d+)?B
    | Mistral-7B(?:-Instruct)?(?:-v\d\.\d)?
    """
)
"""Names of released models, whole, that are known to be dense (their config.json holds no experts)."""


def mixture_of_experts(path: str) -> bool | None:
    """Whether a model is a mixture of experts, as far as its path or hub name tells."""
    if names_mixture_of_experts(path):
        return True
    return False if _DENSE.fullmatch(path.rstrip("/").rsplit("/", 1)[-1]) else None


def names_mixture_of_experts(path: str) -> bool:
    """Whether a model's path or hub name says that it is a mixture of experts. False proves nothing."""
    lower = path.lower()
    if lower.isascii() and not any(part in lower for part in _IN_MIXTURES):
        return False
    return _MIXTURES.search(path) is not None
