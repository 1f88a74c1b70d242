"""Writes docs/memory.md from the formulas' docstrings and the figures below: `python tools/memory_docs.py`.

python tools/memory_docs.py            write the page
python tools/memory_docs.py --check    write nothing; exit with 1 when the page isn't what it would be
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from inspect import getdoc
from pathlib import Path

from grpo_lint import memory
from grpo_lint.frameworks.shapes import shape_of
from grpo_lint.memory import GIB, Shape

PAGE = Path(__file__).parent.parent / "docs" / "memory.md"
MIB, GB = 2**20, 10**9

TERMS: tuple[Callable[..., object], ...] = (
    memory.attention, memory.feed_forward, memory.layer, memory.embedding, memory.parameters, memory.largest_piece,
    memory.adapter, memory.weights, memory.gradients, memory.optimizer, memory.zero_shards, memory.gathered,
    memory.distributed_optimizer, memory.kv_bytes_per_token, memory.engine_share, memory.kv_tokens,
)  # fmt: skip


def shape(name: str) -> Shape:
    found = shape_of(name)
    assert found is not None, name
    return found


def kv(name: str, tokens: int, tp: int) -> float:
    return tokens * memory.kv_bytes_per_token(shape(name), 2, tp)


def bf16(name: str, shards: int = 1) -> float:
    return memory.weights(shape(name).parameters, 2, shards)


GPT2 = 124_475_904
FIGURES: tuple[tuple[str, str, float, float, str], ...] = (
    # what was measured, where it is published, the figure in bytes, ours in bytes, remark
    ("vLLM, weights, Llama-3-8B, bf16", "vllm-project/vllm#10511", 14.96 * GIB, bf16("Meta-Llama-3-8B"), ""),
    ("vLLM, weights, Llama-3-8B, TP 2", "vllm-project/vllm#10511", 7.48 * GIB, bf16("Meta-Llama-3-8B", 2), ""),
    ("vLLM, weights, Qwen3-30B-A3B, TP 4", "vllm-project/vllm#17469", 14.2474 * GIB, bf16("Qwen3-30B-A3B", 4),
     "norms and routers are copied to each rank"),
    ("vLLM, weights, R1-Distill-Qwen-14B, TP 2", "vllm-project/vllm#13061", 13.9476 * GIB,
     bf16("DeepSeek-R1-Distill-Qwen-14B", 2), "not explained"),
    ("vLLM, KV cache of 178,880 tokens, Qwen3-235B-A22B, TP 4", "vllm-project/vllm#21348", 8.11 * GIB,
     kv("Qwen3-235B-A22B", 178_880, 4), "the figure is what is available, in whole blocks"),
    ("SGLang, KV cache of 367,404 tokens, Qwen3-235B-A22B, TP 4", "vllm-project/vllm#21348", 2 * 8.23 * GIB,
     kv("Qwen3-235B-A22B", 367_404, 4), ""),
    ("llama.cpp, KV cache of 8,192 tokens, Qwen2 of 28 layers (7B), fp16", "ollama/ollama#8990", 448 * MIB,
     kv("Qwen2.5-7B", 8192, 1), ""),
    ("torchtune, weights, Llama-2-7B, bf16", "meta-pytorch/torchtune#389", 13.51 * GB, bf16("Llama-2-7b-hf"), ""),
    ("verl, FSDP, actor of Qwen2.5-7B before the rollout engine", "hkust-nlp/simpleRL-reason#84", 3.564157 * GIB,
     memory.weights(shape("Qwen2.5-7B").parameters, 4, 8), "fp32; 8 GPUs are taken, the excerpt doesn't name them"),
    ("llm.c, weights, GPT-2 124M, bf16", "karpathy/llm.c#309", 237 * MIB, memory.weights(GPT2, 2), ""),
    ("llm.c, gradients, GPT-2 124M, bf16", "karpathy/llm.c#309", 237 * MIB, memory.gradients(GPT2, 2), ""),
    ("llm.c, Adam's moments, GPT-2 124M, fp32", "karpathy/llm.c#309", 2 * 474 * MIB,
     memory.optimizer(GPT2, 8, 0), ""),
    ("DeepSpeed, ZeRO-3, all offloaded, 6.8 B, allocated after initialize", "deepspeedai/DeepSpeedExamples#777",
     0.41 * GIB, memory.gathered(shape("Llama-2-7b")), "the term is a peak, and nothing is gathered yet"),
    ("the same, as nvidia-smi tells it", "deepspeedai/DeepSpeed#4527", 14_678 * MIB,
     memory.gathered(shape("Llama-2-7b")), "13 GiB are reserved from loading the model, not in use"),
    ("whole run, full fine-tuning of Llama-3.2-1B in fp32 with Adam, batch 8", "usamec/lowmem_finetuning", 29.2 * GB,
     memory.weights(shape("Llama-3.2-1B").parameters, 16), "activations and logits are the rest"),
)  # fmt: skip

ESTIMATOR: tuple[tuple[str, str, float, float], ...] = (
    # DeepSpeed's own estimator, for Llama-2-7B (6,738 M, largest layer 131 M) on 4 GPUs, as deepspeedai/DeepSpeed#4527
    # and axolotl-ai-cloud/axolotl#1129 print it: options, where, GiB, ours
    ("ZeRO-3, optimizer and parameters on the CPU", "axolotl-ai-cloud/axolotl#1129", 0.49,
     memory.gathered(shape("Llama-2-7b")) / GIB),
    ("ZeRO-3, optimizer on the CPU", "axolotl-ai-cloud/axolotl#1129", 3.63,
     (memory.gathered(shape("Llama-2-7b")) + memory.weights(6_738_415_616, 2, 4)) / GIB),
)  # fmt: skip

HEAD = """# Memory

`grpo-lint show --memory PATHS...` estimates what a run takes of each GPU, term by term, in the update and in the
rollout; `--format json` gives the same to programs. INV780 is a note where what is certain exceeds a GPU's memory by a
quarter. The memory of a GPU is `gpu-memory` in the `hardware` table of the [settings](settings.md), in GiB.

Each term is a function of `grpo_lint/memory.py`. What isn't known becomes a range: one to 1,024 GPUs, two to four bytes
a number, the matrices that an adapter covers. Left out is what no config tells: activations and logits, the allocator's
fragments, CUDA's context, buffers of collectives. The sum is a lower bound; a run takes more, as the last lines of the
comparison show.

Who keeps what where:

- **verl with FSDP** shards one copy of the weights in `fsdp_config.model_dtype` (fp32 unless told), gradients and
  Adam's moments in the same type: 16 bytes a parameter, split among `fsdp_size` ranks or all of them. `param_offload`
  and `optimizer_offload` take effect between updates: for the update itself all of it is on the GPU
  (verl-project/verl#284). With FSDP2 and `offload_policy` it stays on the CPU. In the rollout the engine's share stands
  beside what isn't offloaded.
- **DeepSpeed**: ZeRO's stages, with 16-bit weights and gradients and 12 bytes of optimizer state; what is offloaded is
  not on the GPU at any time.
- **Megatron** (also in verl and slime): bf16 weights and fp32 gradients of a tensor- and pipeline-parallel part, and
  the distributed optimizer's share. Mixtures of experts are left out, since expert parallelism splits experts alone.
- **TRL without DeepSpeed**: everything on each GPU (DDP), or split by accelerate's FSDP.
- **vLLM and SGLang as servers**: weights, and the KV cache that the rest of their share holds.

## Terms
"""


def error(published: float, ours: float) -> str:
    return f"{(ours / published - 1) * 100:+.1f}%"


def size(number: float) -> str:
    return f"{number / GIB:.2f} GiB"


def page() -> str:
    lines = [HEAD]
    for term in TERMS:
        lines += [f"### {term.__name__}", "", getdoc(term) or "", ""]
    lines += [
        "## Compared with published figures",
        "",
        "Figures of real runs, from logs that their authors published, in the units of the programs that printed them.",
        "",
        "| what | published in | figure | ours | error | remark |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {what} | {where} | {size(figure)} | {size(ours)} | {error(figure, ours)} | {remark} |"
        for what, where, figure, ours, remark in FIGURES
    ]
    lines += [
        "",
        "DeepSpeed's own `estimate_zero3_model_states_mem_needs`, Llama-2-7B on 4 GPUs: a formula against another.",
        "",
        "| options | printed in | DeepSpeed | ours | error |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {what} | {where} | {theirs:.2f} GiB | {ours:.2f} GiB | {error(theirs, ours)} |"
        for what, where, theirs, ours in ESTIMATOR
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    text = page()
    if "--check" in sys.argv:
        if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
            print("docs/memory.md is not up to date: run python tools/memory_docs.py")
            return 1
        return 0
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
