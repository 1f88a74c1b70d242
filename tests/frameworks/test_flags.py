"""Command lines as argparse itself takes them apart, with a parser that is built from the option table."""

from __future__ import annotations

import argparse
import random
import re
import shlex
from typing import Any

import pytest

from grpo_lint.frameworks import flags, megatron, openrlhf, sglang, tables, vllm
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
        keys_of_json = "dict" in type_ or (table_name == "vllm" and "." in name)
        by_hand = name in flags.FLAGS_AFTER_ALL
        if not name.startswith("--") or (more.get("no_cli") and not by_hand) or keys_of_json:
            continue
        action = str(more.get("action", ""))
        settings: dict[str, Any] = {"dest": name, "default": argparse.SUPPRESS}
        if action.endswith("BooleanOptionalAction"):
            settings["action"] = argparse.BooleanOptionalAction
        elif "bool" in type_ and "str" in type_:
            settings |= {"nargs": "?", "const": True}
        elif action in ("store_true", "store_false") or ("bool" in type_ and not action):
            settings |= {"action": "store_const", "const": True}
        elif action:
            continue
        else:
            inner = re.sub(r"optional\[|list\[|\]| \| none", "", type_)
            numbered = inner == "int" or all(type(choice) is int for choice in entry.get("choices") or "-")
            settings["type"] = int if numbered else float if inner == "float" else str
            if "nargs" in more or re.match(r"(?:optional\[)?(?:list|set)\[|optional\[union\[set\[", type_):
                settings["nargs"] = more.get("nargs", "+")
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
        "--enable-lora --lora-target-modules q_proj v_proj",
        "--context-len 4096 --port 3",
        "--disable-radix-cache --enable-dp-attention --schedule-conservativeness 0.3",
        "--ep 8 --dtype bfloat16 --host 0.0.0.0",
        "--max-running-requests 64 --chunked-prefill-size -1",
        "--served-model-name x --api-key k --log-level info",
        "--dllm-fdfo --no-dllm-fdfo",
        "--quantization fp8 --kv-cache-dtype fp8_e5m2",
    ],
}


DIALECTS = {
    "megatron": megatron.DIALECT,
    "sglang": sglang.DIALECT,
    "openrlhf": openrlhf.DIALECT,
    "vllm": vllm.DIALECT,
}
VALUES = {int: ["3", "0", "-1"], float: ["0.5", "1e-6", "-.5", "2"], str: ["a", "a b", "x=1", "1"]}


def random_line(parser: argparse.ArgumentParser, choose: random.Random) -> str:
    """A line of some of a parser's options, each in one of the ways in which it may be given."""
    words: list[str] = []
    for action in choose.sample(parser._actions, 8):
        name = choose.choice(action.option_strings)
        values = VALUES[action.type if isinstance(action.type, type) else str]
        if action.nargs == 0 or (action.nargs == "?" and choose.random() < 0.5):
            words.append(name)
        elif action.nargs in (None, "?"):
            value = choose.choice(values)
            words += [f"{name}={value}"] if choose.random() < 0.5 and name.startswith("--") else [name, value]
        else:
            count = action.nargs if isinstance(action.nargs, int) else choose.randint(1, 3)
            words += [name, *(choose.choice(values) for _ in range(count))]
    return shlex.join(words)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("table", DIALECTS)
def test_any_options_are_read_as_argparse_reads_them(table: str, seed: int) -> None:
    parser = oracle(table, DIALECTS[table].abbreviates)
    line = random_line(parser, random.Random(f"{table}{seed}"))
    assert read(DIALECTS[table], line) == vars(parser.parse_args(shlex.split(line))), line


@pytest.mark.parametrize(("table", "line"), [(table, line) for table, lines in LINES.items() for line in lines])
def test_as_argparse_reads_it(table: str, line: str) -> None:
    dialect = DIALECTS[table]
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


@pytest.mark.parametrize(
    "name",
    ["--disable-cuda-graph", "--enable-dp-attention", "--enable-flashinfer-allreduce-fusion", "--sampling-backend"],
)
def test_flags_that_sglang_adds_by_hand_are_themselves(name: str) -> None:
    """And no beginning of another one, such as --enable-dp-attention-local-control-broadcast."""
    kind = sglang.DIALECT.kind(name)
    assert kind is not None
    assert kind.name == name
