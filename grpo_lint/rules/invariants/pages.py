"""The page of a relation: the sections that every rule has, put together from its declaration."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.rules.invariants.relation import Relation

PROGRAMS = {
    # framework: the start of a launch, to which an example adds its arguments
    "verl": "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=8",
    "trl": "trl grpo --model_name_or_path Qwen/Qwen2.5-1.5B-Instruct --dataset_name trl-lib/tldr",
    "openrlhf": "python3 -m openrlhf.cli.train_ppo_ray --actor.model_name_or_path Qwen/Qwen2.5-7B",
    "slime": "python3 train.py --hf-checkpoint Qwen/Qwen3-8B --advantage-estimator grpo --n-samples-per-prompt 8",
    "megatron": "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 "
    "--num-attention-heads 32 --micro-batch-size 1",
    "vllm": "vllm serve Qwen/Qwen2.5-32B-Instruct",
    "sglang": "python3 -m sglang.launch_server --model-path Qwen/Qwen2.5-32B-Instruct",
}

TITLES = {"deepspeed": "DeepSpeed", "trl": "TRL", "openrlhf": "OpenRLHF", "megatron": "Megatron", "vllm": "vLLM"}
TITLES |= {
    "sglang": "SGLang",
    "mindie": "MindIE",
    "ms_swift": "ms-swift",
    "nemo_rl": "NeMo RL",
    "areal": "AReaL",
    "roll": "ROLL",
}

_PAGE = """\
{summary}

## What it does
Reads {operands} as {framework} {gets} them, with their defaults, and reports what can't go together{bounds}.

## Why it matters
{why}

## Example
{bad}

## Use instead
{good}

## When it does not apply
{unless}Where one of these settings can't be known before the run, nothing is said.

## Sources
{source}"""


def page(rule: Relation, text: str) -> str:
    """A relation's page as Markdown. `text` is its docstring: what it is about, and why it matters."""
    summary, _, why = text.partition("\n\n")
    framework = " and ".join(TITLES.get(name, name) for name in rule.frameworks)
    keys = dict.fromkeys(operand.keys[0] for operand in rule.operands.values())
    package, since, until = rule.bounds
    bounds = f" in {package}" if since or until else ""
    bounds += f" from {since} on" if since else ""
    bounds += f" before {until}" if until else ""
    source = rule.source if rule.source.startswith("- ") else f"- {rule.source}"
    return _PAGE.format(
        summary=summary,
        operands=", ".join(f"`{key}`" for key in keys),
        framework=framework,
        gets="get" if len(rule.frameworks) > 1 else "gets",
        bounds=bounds,
        why=why or "The run ends at start, after the cluster has been taken.",
        bad=_block(rule, rule.bad),
        good=_block(rule, rule.good),
        unless=f"{rule.unless} " if rule.unless else "",
        source=source,
    )


def _block(rule: Relation, example: str) -> str:
    language, text = whole(rule, example)
    told = f"With `--target {rule.target}`:\n\n" if rule.target else ""
    for name, file in rule.files.items():
        told += f"`{name}`:\n\n```{name.rsplit('.', 1)[-1]}\n{file.rstrip()}\n```\n\n"
    return f"{told}```{language}\n{text}```"


def whole(rule: Relation, example: str) -> tuple[str, str]:
    """An example's language, and its text as a file: arguments stand after their program, one on a line."""
    text = example.strip("\n")
    if text.lstrip().startswith("{"):
        return "json", f"{text}\n"
    if text.startswith("$ "):
        return "sh", f"{text[2:]}\n"
    if "\n" in text:
        return "yaml", f"{text}\n"
    words = _grouped(PROGRAMS[rule.frameworks[0]].split()), _grouped(text.split())
    given = {_name(part) for part in words[1]}
    head = [part for part in words[0] if _name(part) not in given]
    start = next((at for at, part in enumerate(head) if part.startswith("--") or "=" in part), len(head))
    return "sh", " \\\n    ".join([" ".join(head[:start]), *head[start:], *words[1]]) + "\n"


def _grouped(words: list[str]) -> list[str]:
    """Words with each option's values beside it."""
    parts: list[str] = []
    for word in words:
        if parts and parts[-1].startswith("--") and not word.startswith("--") and "=" not in word:
            parts[-1] += f" {word}"
        else:
            parts.append(word)
    return parts


def _name(part: str) -> str:
    return part.split("=")[0].split()[0]
