"""`grpo-lint guide fsdp` and `grpo-lint compare fsdp1 fsdp2`, and the facts behind them."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from grpo_lint.cli import main
from grpo_lint.commands.compare import CHOICES, load
from grpo_lint.commands.guide import condition_text, decide, holds

Capture = pytest.CaptureFixture[str]
KNOWN = load()
ROWS = KNOWN["rows"]
DOCS = Path(__file__).parent.parent / "docs" / "fsdp.md"
CONDITIONS = {"torch_before", "torch_from", "verl_before", "verl_from", "nodes_from", "offload"}


def printed(capsys: Capture, *words: str) -> str:
    assert main(list(words)) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def guided(**facts: Any) -> dict[str, Any]:
    return decide(KNOWN, {"torch": None, "verl": None, "nodes": None, "offload": None, **facts})


# -- the data


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["topic"])
def test_each_fact_has_its_source(row: dict[str, str]) -> None:
    assert set(row) == {"topic", "source", *CHOICES}
    assert all(row.values())
    assert not any("|" in text for text in row.values())


@pytest.mark.parametrize("reason", [*KNOWN["reasons"], *KNOWN["cautions"]], ids=lambda reason: reason["text"][:30])
def test_each_reason_has_its_source_and_conditions_that_are_known(reason: dict[str, Any]) -> None:
    assert reason["text"]
    assert reason["source"]
    assert set(reason["when"]) <= CONDITIONS
    assert reason.get("answer", "fsdp2") in CHOICES


def test_the_first_reason_holds_always() -> None:
    assert KNOWN["reasons"][0]["when"] == {}


# -- the guide


@pytest.mark.parametrize(
    ("facts", "answer"),
    [
        ({}, "fsdp2"),
        ({"torch": "2.6", "verl": "0.9.1", "nodes": 2, "offload": True}, "fsdp2"),
        ({"torch": "2.6.0+cu124", "verl": "0.4.1"}, "fsdp1"),
        ({"torch": "2.6", "verl": "0.5.0"}, "fsdp2"),
        ({"torch": "2.7.0", "verl": "0.4.1"}, "fsdp2"),
        ({"torch": "2.5.1", "verl": "0.4.1"}, "fsdp2"),
        ({"torch": "2.3.1", "verl": "0.9.1"}, "fsdp1"),
        ({"torch": "2.10.0", "verl": "0.9.1"}, "fsdp2"),
        ({"verl": "0.3.0.post1"}, "fsdp1"),
        ({"verl": "0.4.0", "torch": "2.4"}, "fsdp2"),
    ],
)
def test_the_answer(facts: dict[str, Any], answer: str) -> None:
    found = guided(**facts)
    assert found["answer"] == answer
    assert f"strategy={'fsdp' if answer == 'fsdp1' else 'fsdp2'} " in found["set"]
    assert {reason["answer"] for reason in found["because"]} == {answer}


def test_what_isnt_told_could_change_it() -> None:
    assert [condition_text(reason["when"]) for reason in guided()["would_change"]] == [
        "verl before 0.4.0",
        "torch before 2.4",
        "torch from 2.6 and before 2.7, verl before 0.5.0",
    ]
    assert [condition_text(reason["when"]) for reason in guided(torch="2.6")["would_change"]] == [
        "verl before 0.4.0",
        "torch from 2.6 and before 2.7, verl before 0.5.0",
    ]
    assert guided(torch="2.7", verl="0.9.1")["would_change"] == []


@pytest.mark.parametrize(
    ("facts", "sources"),
    [
        ({"verl": "0.8.0", "nodes": 2, "offload": True}, ["verl-project/verl#7005, #6772 (rule NOT06)"]),
        ({"verl": "0.8.0", "nodes": 1, "offload": True}, []),
        ({"verl": "0.8.0", "nodes": 2, "offload": False}, []),
        ({"verl": "0.8.0", "nodes": 2}, []),
        ({"verl": "0.9.0", "nodes": 2, "offload": True}, ["verl-project/verl#7005"]),
    ],
)
def test_what_to_mind(facts: dict[str, Any], sources: list[str]) -> None:
    assert [caution["source"] for caution in guided(**facts)["mind"]] == sources


@pytest.mark.parametrize(
    ("when", "facts", "answer"),
    [
        ({}, {}, True),
        ({"torch_before": "2.4"}, {"torch": None}, None),
        ({"torch_before": "2.4", "verl_before": "0.5.0"}, {"torch": None, "verl": "0.5.0"}, False),
        ({"torch_before": "2.4", "verl_before": "0.5.0"}, {"torch": None, "verl": "0.4.9"}, None),
        ({"torch_before": "2.10"}, {"torch": "2.9"}, True),
        ({"offload": True}, {"offload": False}, False),
    ],
)
def test_conditions_have_three_answers(when: dict[str, Any], facts: dict[str, Any], answer: bool | None) -> None:
    assert holds(when, facts) is answer


def test_the_guide_for_a_terminal(capsys: Capture) -> None:
    out = printed(capsys, "guide", "fsdp", "--torch", "2.6", "--verl", "0.8.0", "--nodes", "2", "--offload")
    assert out.startswith("FSDP2\n\nbecause\n  - ")
    assert "\nmind\n" in out
    assert "would change" not in out
    assert max(map(len, out.splitlines())) <= 80


def test_the_guide_as_json(capsys: Capture) -> None:
    document = json.loads(printed(capsys, "guide", "fsdp", "--torch", "2.3", "--no-offload", "--format", "json"))
    assert document["schema"] == 1
    assert document["facts"] == {"torch": "2.3", "verl": None, "nodes": None, "offload": False}
    assert document["answer"] == "fsdp1"


# -- the comparison


def test_the_comparison_for_a_terminal(capsys: Capture) -> None:
    out = printed(capsys, "compare", "fsdp1", "fsdp2")
    assert [line for line in out.split("\n\n")[0].splitlines() if line[0] != " "] == [row["topic"] for row in ROWS]
    assert out.index("  FSDP1 ") < out.index("  FSDP2 ")
    assert max(map(len, out.splitlines())) <= 80
    flat = " ".join(out.split())
    assert all(f"source {row['source']}" in flat for row in ROWS)


def test_the_comparison_keeps_the_order_that_is_asked_for(capsys: Capture) -> None:
    head = printed(capsys, "compare", "fsdp2", "fsdp1", "--format", "markdown").splitlines()[0]
    assert head.split("|")[2:4] == [" FSDP2 ", " FSDP1 "]
    rows = json.loads(printed(capsys, "compare", "fsdp2", "fsdp1", "--format", "json"))["rows"]
    assert list(rows[0]) == ["topic", "fsdp2", "fsdp1", "source"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("compare fsdp1 fsdp1", "name two that differ"),
        ("compare fsdp1", "CHOICE"),
        ("compare fsdp1 fsdp3", "fsdp3"),
        ("guide", "fsdp"),
        ("guide zero", "zero"),
        ("guide fsdp --torch new", "'new' is no release"),
        ("guide fsdp --nodes 0", "'0' is no number from 1 on"),
        ("guide fsdp --nodes ٣", "is no number"),
    ],
)
def test_a_wrong_command_line(capsys: Capture, words: str, message: str) -> None:
    assert main(words.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err


# -- the page


def test_the_page_shows_what_the_commands_print(capsys: Capture) -> None:
    page = DOCS.read_text(encoding="utf-8")
    assert printed(capsys, "compare", "fsdp1", "fsdp2", "--format", "markdown") in page
    shown = re.findall(r"^`grpo-lint (guide [^`]+)` says:\n\n```text\n(.*?)```$", page, re.M | re.S)
    assert shown
    for command, output in shown:
        assert printed(capsys, *command.split()) == output
