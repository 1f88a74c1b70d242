"""What a model's name gives away."""

import pytest

from grpo_lint.frameworks.models import is_text_only, mixture_of_experts


@pytest.mark.parametrize(
    ("path", "mixture", "text_only"),
    [
        ("Qwen/Qwen3-4B", False, True),
        ("/models/Qwen2.5-VL-7B-Instruct/", False, False),
        ("Qwen/Qwen3-30B-A3B", True, True),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507", True, True),
        ("Qwen/Qwen3-VL-30B-A3B-Instruct", True, False),
        ("Qwen/Qwen3-Omni-30B-A3B-Instruct", True, False),
        ("ibm-granite/granite-3.1-1b-a400m-instruct", True, True),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", True, True),
        ("allenai/OLMoE-1B-7B-0924-Instruct", True, True),
        ("deepseek-ai/DeepSeek-V3", True, True),
        ("openai/gpt-oss-20b", True, True),
        ("deepseek-ai/DeepSeek-R1", True, False),
        ("/data/DeepSeek-R1_w8a8/", True, False),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", False, True),
        ("deepseek-ai/DeepSeek-R1-0528-Qwen3-8B", None, False),
        ("moonshotai/Kimi-K2-Instruct", True, False),
        ("my/finetune", None, False),
        ("my/mixtral-8x7b-vision", True, False),
        ("ckpt-a40m-old", None, False),
    ],
)
def test_names_of_released_models(path: str, mixture: bool | None, text_only: bool) -> None:
    assert mixture_of_experts(path) is mixture
    assert is_text_only(path) is text_only
