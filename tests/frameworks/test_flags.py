"""Command lines as argparse itself takes them apart, with a parser that is built from the option table."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

import pytest

from grpo_lint.frameworks import flags, megatron, sglang, tables
from grpo_lint.launch import literal
from grpo_lint.source import SourceFile

HF = flags.Dialect("trl", (("trl", ""),), folds="_", bools="optional", abbreviates=True, inherits=True)


def read(dialect: flags.Dialect, line: str) -> dict[str, Any]:
    source = SourceFile("line", line)
    words = [literal(text, source.span(0, len(line))) for text in shlex.split(line)]
    arguments = flags.parse(words, dialect)
    return {given.kind.name: flags.setting(given, dialect).value for given in arguments.given}


def oracle(table_name: str, abbreviates: bool) -> argparse.ArgumentParser:
    """A parser with the options of the newest release of a table, as the framework's own has them."""
    table = tables.table(table_name)
    parser = argparse.ArgumentParser(allow_abbrev=abbreviates, add_help=False)
    for name in table.names(table.releases[-1]):
        entry = table.options[name]
        more, type_ = entry.get("more", {}), entry["type"].lower()
        names = [name, *entry.get("aliases", ())]
        if not name.startswith("--") or more.get("no_cli"):
            continue
        action = str(more.get("action", ""))
        settings: dict[str, Any] = {"dest": name, "default": argparse.SUPPRESS}
        if action.endswith("BooleanOptionalAction"):
            settings["action"] = argparse.BooleanOptionalAction
        elif action in ("store_true", "store_false") or ("bool" in type_ and not action):
            settings |= {"action": "store_const", "const": True}
        elif action:
            continue
        else:
            settings["type"] = int if type_ in ("int", "optional[int]", "int | None".lower()) else str
            if "float" in type_:
                settings["type"] = float
            if "nargs" in more:
                settings["nargs"] = more["nargs"]
        parser.add_argument(*names, **settings)
    return parser


LINES = {
    "megatron": [
        "--num-layers 12 --hidden-size=64 --bf16 --no-rope-fusion",
        "--clip-grad 0.5 --clip-grad 1.0",
        "--lr 1e-6 --min-lr -1 --adam-beta1 .9",
        "--data-path 0.5 a 0.5 b --split 99,1,0",
        "--disable-bias-linear --use-distributed-optimizer --overlap-grad-reduce",
        "--moe-router-topk 8 --num-experts 128 --expert-model-parallel-size 8",
        "--load '' --save 'a b'",
        "--inference-text-gen-server-logging --no-inference-text-gen-server-logging",
        "--tensor-model-parallel-size 2 --sequence-parallel --context-parallel-size 2",
        "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1",
    ],
    "sglang": [
        "--model-path m --tp 2 --dp 4",
        "--tensor-parallel-size 8 --pp-size=2",
        "--mem-fraction-static 0.8 --trust-remote-code",
        "--context-len 4096 --port 3",
        "--disable-radix-cache --enable-dp-attention --schedule-conservativeness 0.3",
        "--ep 8 --dtype bfloat16 --host 0.0.0.0",
        "--max-running-requests 64 --chunked-prefill-size -1",
        "--served-model-name x --api-key k --log-level info",
        "--dllm-fdfo --no-dllm-fdfo",
        "--quantization fp8 --kv-cache-dtype fp8_e5m2",
    ],
}


@pytest.mark.parametrize(("table", "line"), [(table, line) for table, lines in LINES.items() for line in lines])
def test_as_argparse_reads_it(table: str, line: str) -> None:
    dialect = {"megatron": megatron.DIALECT, "sglang": sglang.DIALECT}[table]
    expected = vars(oracle(table, dialect.abbreviates).parse_args(shlex.split(line)))
    assert read(dialect, line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--num-generations 4", {"--num_generations": 4}),
        ("--num_generations=4 --beta 1e-3", {"--num_generations": 4, "--beta": 0.001}),
        ("--use_vllm", {"--use_vllm": True}),
        ("--use_vllm False", {"--use_vllm": False}),
        ("--use-vllm no --bf16 yes", {"--use_vllm": False, "--bf16": True}),
        (
            "--lora_target_modules q_proj v_proj --lora_r 8",
            {"--lora_target_modules": ["q_proj", "v_proj"], "--lora_r": 8},
        ),
        ("--num_gen 4", {"--num_gen": 4}),
        ("--max_grad 0.5", {"--max_grad_norm": 0.5}),
        ("--no_such_thing 5 --other", {"--no_such_thing": 5, "--other": True}),
        ("--beta", {"--beta": None}),
    ],
)
def test_as_hugging_faces_parser_reads_it(line: str, expected: dict[str, Any]) -> None:
    assert read(HF, line) == expected


def test_a_switch_that_clears_is_off_by_default() -> None:
    option = tables.option("slime", "--disable-rewards-normalization")
    assert option is not None
    assert option.default is True
    assert read(flags.Dialect("slime", (("slime", ""),)), "--disable-rewards-normalization") == {
        "--disable-rewards-normalization": True
    }


def test_what_follows_two_dashes_is_no_option() -> None:
    source = SourceFile("line", "x")
    words = [literal(text, source.span(0, 1)) for text in ("--bf16", "--", "--fp16")]
    arguments = flags.parse(words, megatron.DIALECT)
    assert [given.kind.name for given in arguments.given] == ["--bf16"]
    assert [word.text for word in arguments.positionals] == ["--fp16"]
