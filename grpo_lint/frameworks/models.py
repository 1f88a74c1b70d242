"""What a model's name gives away, and its config.json where it is at hand."""

from __future__ import annotations

from grpo_lint.frameworks.deepspeed import as_setting
from grpo_lint.frameworks.documents import document_at
from grpo_lint.patterns import lazy
from grpo_lint.unified import derived

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.discover import Repository
    from grpo_lint.runconfig import Options, RunConfig
    from grpo_lint.unified import Setting

_MIXTURES = lazy(
    r"""(?ix)
    \d+B-A\d+(?:\.\d+)?[BM]         # Qwen3-30B-A3B, ERNIE-4.5-21B-A3B, granite-3.1-1b-a400m: total, active parameters
    | -A\d+(?:\.\d+)?B\b            # Qwen1.5-MoE-A2.7B, Qwen2-57B-A14B
    | \bMixtral
    | \bDeepSeek-(?:V2|V3|MoE)
    | \bDeepSeek-R1(?:-Zero|-0528)?(?:[-_](?:bf16|fp8|awq|w\d+a\d+))*/?$     # not those distilled into Qwen and Llama
    | \bKimi-K2
    | \bgpt-oss-
    | [-_]MoE\b
    | \bOLMoE\b
    """
)

_IN_MIXTURES = ("-a", "mixtral", "deepseek-", "gpt-oss-", "moe", "kimi-k2")
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

_TEXT_MIXTURES = lazy(
    r"""(?ix)
    Qwen3-\d+B-A\d+B(?:-Base|-Instruct|-Thinking)?(?:-\d{4})?
    | Qwen1\.5-MoE-A2\.7B(?:-Chat)?
    | Mixtral-8x\d+B(?:-Instruct)?-v0\.1
    | OLMoE-1B-7B-\d{4}(?:-Instruct|-SFT)?
    | DeepSeek-V(?:2|2-Lite|2\.5|3|3\.1)(?:-Chat|-Base)?(?:-\d{4})?
    | gpt-oss-\d+b
    | granite-3\.[01]-\db-a\d+m-(?:base|instruct)
    """
)
"""Names of released mixtures of experts, whole, that have no vision or audio tower."""


def is_text_only(path: str) -> bool:
    """Whether a path or hub name is that of a released model that is known to have no vision or audio tower."""
    name = path.rstrip("/").rsplit("/", 1)[-1]
    if _TEXT_MIXTURES.fullmatch(name):
        return True
    return _DENSE.fullmatch(name) is not None and "VL" not in name.upper()


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


CONFIG = "model"
"""Under this name a run's options hold what its model's config.json says."""
COUNTS = ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts", "num_experts_per_tok")


def read_config(path: Setting, folder: str, options: Options, repository: Repository) -> bool:
    """Put the number of experts of a model that lies in the repository into the options; whether it does."""
    if not path.known or not isinstance(path.value, str) or path.value.startswith(("/", "~")):
        return False
    root = document_at(f"{path.value.rstrip('/')}/config.json", folder, repository, "pyyaml")
    if root is None or not root.is_mapping or not {"model_type", "architectures"} & root.data.keys():
        return False
    parts = [part for part in (root, root.data.get("text_config")) if part is not None and part.is_mapping]
    counts = [part.data[name] for part in parts for name in COUNTS if name in part.data]
    value = next((count for count in counts if type(count.data) is int and count.data > 1), None)
    place = value or root.data.get("model_type") or root.data["architectures"]
    data = value.data if value is not None else 0
    options.put(CONFIG, "num_experts", as_setting(place, "num_experts", "file", data))
    return True


def unify(run: RunConfig) -> None:
    """Whether the model is a mixture, as its config.json says."""
    count = run.option(CONFIG, "num_experts")
    run.fields["moe"] = derived(count.value > 0, count, note="what the model's config.json says")
