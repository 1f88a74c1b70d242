"""`grpo-lint matrix`, and the data on bugs behind it."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grpo_lint.cli import main
from grpo_lint.commands.matrix import load, reference
from grpo_lint.rules import RULES

Capture = pytest.CaptureFixture[str]
KNOWN = load()
CLASSES = {group["id"]: group for group in KNOWN["classes"]}
STATED_AS = {group.get("as_stated", name): name for name, group in CLASSES.items()}
BUGS: list[dict[str, Any]] = KNOWN["bugs"]
BY_ID = {rule.id: rule for rule in RULES}
STATES = {"open", "closed", "merged", "closed, not merged", "merged, then reverted"}
DOCS = Path(__file__).parent.parent / "docs" / "matrix.md"


def printed(capsys: Capture, *words: str) -> str:
    assert main(["matrix", *words]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


# -- the data


def test_the_data_says_when_it_was_read() -> None:
    for name in ("read", "states_as_of"):
        assert re.fullmatch(r"20\d\d-\d\d-\d\d", KNOWN[name])
    assert KNOWN["states_as_of"] <= KNOWN["read"]


@pytest.mark.parametrize("bug", BUGS, ids=reference)
def test_a_bug_is_whole(bug: dict[str, Any]) -> None:
    assert bug["class"] in CLASSES
    assert bug["framework"] in KNOWN["frameworks"]
    assert bug["state"] in STATES
    assert bug["kind"] in {"issue", "pull request", "RFC"}
    assert bug.get("relation") in {None, "near", "trigger"}
    assert bug["what"]
    assert not bug["what"].endswith(".")
    if bug["fixed"]:
        assert bug["affected"].startswith(f"before {bug['fixed']}")
        assert bug["state"] in {"closed", "merged"}


@pytest.mark.parametrize("bug", BUGS, ids=reference)
def test_a_rule_that_guards_a_bug_cites_it(bug: dict[str, Any]) -> None:
    assert set(bug["rules"]) <= set(CLASSES[bug["class"]]["rules"])
    for id in bug["rules"]:
        assert re.search(rf"#{bug['number']}\b", BY_ID[id].page), id


@pytest.mark.parametrize("group", CLASSES.values(), ids=CLASSES)
def test_a_class_names_the_rules_of_its_topics_and_bugs(group: dict[str, Any]) -> None:
    of_bugs = {id for bug in BUGS if bug["class"] == group["id"] for id in bug["rules"]}
    topics = set(group["topics"])
    assert all(any(topic in rule.topics for rule in RULES) for topic in topics)
    for id in set(group["rules"]) - of_bugs:
        assert topics & set(BY_ID[id].topics), id
    assert of_bugs <= set(group["rules"])
    if topics != {"lora"}:  # a topic of many rules that have nothing to do with the weight sync
        assert {rule.id for rule in RULES if topics & set(rule.topics)} <= set(group["rules"])


def test_no_thread_stands_twice_in_a_class() -> None:
    seen = [(bug["class"], reference(bug)) for bug in BUGS]
    assert len(seen) == len(set(seen))


@pytest.mark.parametrize("cell", KNOWN["stated"], ids=lambda cell: f"{cell['class']}-{cell['number']}")
def test_a_stated_cell_is_unmarked_only_where_upstream_agrees(cell: dict[str, Any]) -> None:
    members = {
        (bug["class"], bug["framework"], bug["number"]) for bug in BUGS if bug.get("relation") is None
    }  # the class as stated and the corrected one have to be the same
    renamed = STATED_AS[cell["class"]] != cell["class"]
    agrees = (cell["class"], cell["framework"], cell["number"]) in members and not renamed
    assert agrees == (not cell["upstream"])


# -- the command


def test_the_matrix_for_a_terminal(capsys: Capture) -> None:
    out = printed(capsys)
    assert [line for line in out.split("\n\n")[0].splitlines() if not line.startswith(" ")] == list(CLASSES)
    assert "8061 (fixed 0.19.3), 7965 (fixed 0.19.0)" in out
    assert "8068 (trigger; merged)" in out
    assert "10579 (near; fixed 0.23.0rc1)" in out
    assert max(map(len, out.splitlines())) <= 80
    assert out.endswith("Read on 2026-11-30; states of threads as of 2026-09-23.\n")


def test_the_matrix_as_markdown(capsys: Capture) -> None:
    head, ruler, *rows = printed(capsys, "--format", "markdown").split("\n\n")[0].splitlines()
    assert [cell.strip() for cell in head.strip("|").split("|")] == ["class", *KNOWN["frameworks"].values()]
    assert {row.count("|") for row in (head, ruler, *rows)} == {len(KNOWN["frameworks"]) + 2}
    assert [row.split("|")[1].strip() for row in rows] == list(CLASSES)
    verl = {row.split("|")[1].strip(): row.split("|")[5].strip() for row in rows}
    assert verl["lora_sync_and_routing"] == "6782 (fixed 0.9.0)"
    assert verl["discrete_decision_mismatch"] == "router replay"
    assert verl["muon_clipping"] == ""


def test_the_matrix_as_json(capsys: Capture) -> None:
    document = json.loads(printed(capsys, "--format", "json"))
    assert document["schema"] == 1
    assert document["matrix"]["execution_overlap_oom"] == {"verl": ["6772 (closed)", "6468 (open)"]}


@pytest.mark.parametrize("format", ["text", "markdown"])
def test_as_stated_each_mark_has_its_note(capsys: Capture, format: str) -> None:
    matrix, listed = printed(capsys, "--as-stated", "--format", format).split("\n\n")[:2]
    marks = re.findall(r"\b(\d+ \[\d+\])", matrix)
    notes = re.findall(r"(\[\d+\]) (\d+) \(\w+, ", listed)
    assert marks == [f"{number} {mark}" for mark, number in notes]
    assert [int(number) for _, number in notes] == [c["number"] for c in KNOWN["stated"] if c["upstream"]]
    assert "28499 [1]" in marks


def test_as_stated_as_json(capsys: Capture) -> None:
    cells = json.loads(printed(capsys, "--as-stated", "--format", "json"))["stated"]
    assert [cell["number"] for cell in cells if cell["agrees"]] == [8061, 45552, 5394, 5395, 5384, 5386, 605]


def test_by_class_for_a_terminal(capsys: Capture) -> None:
    out = printed(capsys, "--by-class")
    blocks = {block.split("\n")[0]: " ".join(block.split()) for block in out.split("\n\n")}
    assert list(blocks)[:-1] == list(CLASSES)
    for name, group in CLASSES.items():
        assert all(f"{id} {BY_ID[id].name}" in blocks[name] for id in group["rules"])
        assert all(reference(bug) in blocks[name] for bug in BUGS if bug["class"] == name)
    assert "hits: none that is known" in blocks["moe_fp16_nan"]
    assert "hits: Megatron, vLLM, verl, SGLang, rLLM" in blocks["discrete_decision_mismatch"]
    assert "Affected: before 0.9.0, with lora.merge=true; fixed in 0.9.0" in blocks["lora_sync_and_routing"]
    assert max(map(len, out.splitlines())) <= 80


def test_by_class_as_json(capsys: Capture) -> None:
    classes = json.loads(printed(capsys, "--by-class", "--format", "json"))["classes"]
    assert [group["id"] for group in classes] == list(CLASSES)
    assert sum(len(group["bugs"]) for group in classes) == len(BUGS)
    assert {group["id"]: group["hits"] for group in classes}["stale_cache_corruption"] == ["vllm", "verl", "trl"]


@pytest.mark.parametrize("words", [["--as-stated", "--by-class"], ["--format", "sarif"], ["files"]], ids=" ".join)
def test_a_wrong_command_line(capsys: Capture, words: list[str]) -> None:
    assert main(["matrix", *words]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("words", [[], ["--as-stated"], ["--by-class"]], ids=" ".join)
def test_the_page_shows_what_the_command_prints(capsys: Capture, words: list[str]) -> None:
    assert printed(capsys, *words, "--format", "markdown") in DOCS.read_text(encoding="utf-8")


def test_the_output_is_the_same_in_a_locale_without_utf8() -> None:
    command = [sys.executable, "-m", "grpo_lint", "matrix", "--by-class"]
    results = {subprocess.run(command, env={"LC_ALL": "C", "PYTHONUTF8": mode}, capture_output=True, check=True).stdout
               for mode in "01"}  # fmt: skip
    assert len(results) == 1
