"""What a model's name gives away."""

from __future__ import annotations

import re

_MIXTURES = re.compile(
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


def names_mixture_of_experts(path: str) -> bool:
    """Whether a model's path or hub name says that it is a mixture of experts. False proves nothing."""
    return _MIXTURES.search(path) is not None
