"""`grpo-lint guide` and `grpo-lint compare`: the answers, where their facts come from, and the data behind them."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from grpo_lint.choices.decide import condition_text, decide, holds
from grpo_lint.choices.facts import FACTS
from grpo_lint.choices.known import TOPICS, load
from grpo_lint.cli import main
from grpo_lint.rules import RULES
from grpo_lint.unified import FIELDS

Capture = pytest.CaptureFixture[str]
ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs" / "choices.md"
KNOWN = {topic: load(topic) for topic in TOPICS}
PAIRS = [*TOPICS.values()]


def printed(capsys: Capture, *words: str) -> str:
    assert main(list(words)) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def guided(topic: str, **facts: Any) -> dict[str, Any]:
    return decide(KNOWN[topic], {**dict.fromkeys(KNOWN[topic]["facts"]), **facts})


def fixture(rule: str, name: str) -> list[str]:
    """A fixture, with its arguments."""
    path = ROOT / "fixtures" / rule / name
    more = path.with_suffix(".args")
    return [str(path), *(more.read_text().split() if more.exists() else ())]


# -- the data


@pytest.mark.parametrize("topic", TOPICS)
def test_a_topic_is_whole(topic: str) -> None:
    known = KNOWN[topic]
    assert set(known) == {"read", "about", "titles", "facts", "now", "of", "rows", "reasons", "cautions", "set"}
    assert set(TOPICS[topic]) <= set(known["titles"]) <= {*TOPICS[topic], "undecided"}
    assert set(known["facts"]) <= set(FACTS)
    assert known["now"] in FIELDS
    assert set(known["of"]) <= {"frameworks", *FIELDS}
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", known["read"])
    assert set(known["set"]) == set(TOPICS[topic])


@pytest.mark.parametrize(
    ("topic", "row"),
    [(topic, row) for topic in TOPICS for row in KNOWN[topic]["rows"]],
    ids=lambda value: value if isinstance(value, str) else value["topic"],
)
def test_each_fact_has_its_source(topic: str, row: dict[str, str]) -> None:
    assert set(row) == {"topic", "source", *TOPICS[topic]}
    assert all(row.values())
    assert not any("|" in text for text in row.values())


@pytest.mark.parametrize("topic", TOPICS)
def test_a_comparison_covers_memory_speed_and_known_bugs(topic: str) -> None:
    topics = " ".join(row["topic"] for row in KNOWN[topic]["rows"])
    assert "memory" in topics
    assert "speed" in topics or "communication" in topics
    assert "known bugs" in topics


@pytest.mark.parametrize("topic", TOPICS)
def test_each_reason_has_its_source_and_conditions_that_are_asked_about(topic: str) -> None:
    known = KNOWN[topic]
    for reason in [*known["reasons"], *known["cautions"]]:
        assert reason["text"]
        assert reason["source"]
        assert {condition.partition("_")[0] for condition in reason["when"]} <= set(known["facts"])
        assert reason.get("answer", "undecided") in {*known["titles"], "undecided"}
    assert known["reasons"][0]["when"] == {}
    used = {
        condition.partition("_")[0]
        for reason in [*known["reasons"], *known["cautions"]]
        for condition in reason["when"]
    }
    assert used == set(known["facts"])


@pytest.mark.parametrize("topic", TOPICS)
def test_rules_that_are_named_exist(topic: str) -> None:
    named = set(re.findall(r"\b(?:DO|NOT)\d\d\b", json.dumps(KNOWN[topic])))
    assert named <= {rule.id for rule in RULES}


# -- the decisions


@pytest.mark.parametrize(
    ("topic", "facts", "answer"),
    [
        ("fsdp", {}, "fsdp2"),
        ("fsdp", {"torch": "2.6", "verl": "0.9.1", "nodes": 2, "offload": True}, "fsdp2"),
        ("fsdp", {"torch": "2.6.0+cu124", "verl": "0.4.1"}, "fsdp1"),
        ("fsdp", {"torch": "2.6", "verl": "0.5.0"}, "fsdp2"),
        ("fsdp", {"torch": "2.7.0", "verl": "0.4.1"}, "fsdp2"),
        ("fsdp", {"torch": "2.5.1", "verl": "0.4.1"}, "fsdp2"),
        ("fsdp", {"torch": "2.3.1", "verl": "0.9.1"}, "fsdp1"),
        ("fsdp", {"torch": "2.10.0", "verl": "0.9.1"}, "fsdp2"),
        ("fsdp", {"verl": "0.3.0.post1"}, "fsdp1"),
        ("fsdp", {"verl": "0.4.0", "torch": "2.4"}, "fsdp2"),
        ("zero", {}, "undecided"),
        ("zero", {"gpus": 8}, "undecided"),
        ("zero", {"fits": True}, "zero2"),
        ("zero", {"fits": False, "gpus": 8}, "zero3"),
        ("zero", {"gpus": 1, "offload": False}, "zero2"),
        ("zero", {"gpus": 1, "offload": False, "fits": False}, "zero3"),
        ("zero", {"gpus": 1, "offload": True}, "zero3"),
        ("zero", {"fits": True, "offload": True}, "zero3"),
        ("sync", {}, "undecided"),
        ("sync", {"separate": False}, "naive"),
        ("sync", {"separate": True}, "nccl"),
        ("sleep", {}, "undecided"),
        ("sleep", {"resync": True}, "level2"),
        ("sleep", {"resync": True, "adapters": False}, "level2"),
        ("sleep", {"resync": True, "npu": True}, "level1"),
        ("sleep", {"adapters": True}, "level1"),
        ("sleep", {"resync": False}, "level1"),
        ("engine", {}, "undecided"),
        ("engine", {"adapters": True, "verl": "0.9.0"}, "vllm"),
        ("engine", {"adapters": True, "verl": "0.9.1"}, "undecided"),
        ("engine", {"rslora": True}, "vllm"),
    ],
    ids=str,
)  # fmt: skip
def test_the_answer(topic: str, facts: dict[str, Any], answer: str) -> None:
    found = guided(topic, **facts)
    assert found["answer"] == answer
    assert found["set"] == KNOWN[topic]["set"].get(answer, "")
    assert {reason["answer"] for reason in found["because"]} == {answer}


def test_what_isnt_told_could_change_it() -> None:
    def told(topic: str, **facts: Any) -> list[str]:
        return [condition_text(reason["when"]) for reason in guided(topic, **facts)["would_change"]]

    assert told("fsdp") == ["verl before 0.4.0", "torch before 2.4", "torch from 2.6 and before 2.7, verl before 0.5.0"]
    assert told("fsdp", torch="2.6") == ["verl before 0.4.0", "torch from 2.6 and before 2.7, verl before 0.5.0"]
    assert told("fsdp", torch="2.7", verl="0.9.1") == []
    assert told("zero", fits=False) == ["gpus before 2, --no-offload"]
    assert told("zero", offload=True) == []  # nothing weighs more
    assert told("sync") == ["--no-separate", "--separate"]


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
    assert [caution["source"] for caution in guided("fsdp", **facts)["mind"]] == sources


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


# -- the command


def test_the_guide_for_a_terminal(capsys: Capture) -> None:
    out = printed(capsys, "guide", "fsdp", "--torch", "2.6", "--verl", "0.8.0", "--nodes", "2", "--offload")
    assert out.startswith("FSDP2\n\nbecause\n  - ")
    assert "\nmind\n" in out
    assert "would change" not in out


@pytest.mark.parametrize("topic", TOPICS)
def test_every_guide_fits_a_terminal(capsys: Capture, topic: str) -> None:
    out = printed(capsys, "guide", topic)
    assert out.split("\n")[0] in KNOWN[topic]["titles"].values()
    assert max(map(len, out.splitlines())) <= 80
    assert "what isn't told and would change it" in out


def test_the_guide_as_json(capsys: Capture) -> None:
    document = json.loads(printed(capsys, "guide", "fsdp", "--torch", "2.3", "--no-offload", "--format", "json"))
    assert (document["schema"], document["topic"]) == (1, "fsdp")
    assert document["facts"] == {"torch": "2.3", "verl": None, "nodes": None, "offload": False}
    (answer,) = document["answers"]
    assert answer["answer"] == "fsdp1"
    assert answer["runs"] == []


def test_runs_tell_facts_with_their_places(capsys: Capture) -> None:
    words = fixture("NOT06", "bad-offload-two-nodes.sh")
    (answer,) = json.loads(printed(capsys, "guide", "fsdp", *words, "--format", "json"))["answers"]
    (run,) = answer["runs"]
    assert run["now"] == "fsdp2"
    facts = {name: fact["value"] for name, fact in run["facts"].items()}
    assert facts == {"torch": None, "verl": "0.8.0", "nodes": 2, "offload": True}
    assert run["facts"]["offload"]["from"].endswith("bad-offload-two-nodes.sh:11")
    assert [caution["source"] for caution in answer["mind"]] == ["verl-project/verl#7005, #6772 (rule NOT06)"]


def test_what_is_told_rules_what_a_run_says(capsys: Capture) -> None:
    words = ["--nodes", "1", "--verl", "0.9.1", *fixture("NOT06", "bad-offload-two-nodes.sh")]
    (answer,) = json.loads(printed(capsys, "guide", "fsdp", *words, "--format", "json"))["answers"]
    facts = answer["runs"][0]["facts"]
    assert facts["nodes"] == {"value": 1, "from": "told"}
    assert facts["verl"] == {"value": "0.9.1", "from": "told"}
    assert facts["offload"]["value"] is True


def test_a_targeted_release_is_a_fact(capsys: Capture) -> None:
    words = ["guide", "fsdp", "--target", "verl=0.3.0", "--target", "torch=2.7", "--format", "json"]
    document = json.loads(printed(capsys, *words))
    assert document["facts"] == {"torch": "2.7", "verl": "0.3.0", "nodes": None, "offload": None}
    assert document["answers"][0]["answer"] == "fsdp1"
    told = json.loads(printed(capsys, *words, "--verl", "0.9.1"))
    assert told["facts"]["verl"] == "0.9.1"


def test_runs_with_one_answer_are_told_together(capsys: Capture) -> None:
    paths = [
        str(ROOT / "fixtures" / "NOT01" / name) for name in ("bad-one-rank.json", "good-parameters-offloaded.json")
    ]
    answers = json.loads(printed(capsys, "guide", "zero", *paths, paths[0], "--format", "json"))["answers"]
    assert [answer["answer"] for answer in answers] == ["zero2", "zero3"]
    assert [len(answer["runs"]) for answer in answers] == [1, 1]
    out = printed(capsys, "guide", "zero", *paths)
    assert out.count("Read on") == 1
    assert "gpus 1 (line 2)" in out
    assert max(len(line) for line in out.splitlines() if "/" not in line) <= 80


@pytest.mark.parametrize(
    ("topic", "path", "facts", "now", "answer"),
    [
        ("zero", ("NOT02", "bad-reduce-scatter.json"), {"muon": True}, "zero3", "undecided"),
        ("zero", ("NOT01", "good-parameters-offloaded.json"), {"gpus": 1, "offload": True}, "zero3", "zero3"),
        ("sync", ("DO09", "bad-default.sh"), {"separate": True, "adapters": False}, "naive", "nccl"),
        ("sync", ("DO09", "bad-overwritten.sh"), {"separate": False}, "nccl", "naive"),
        ("sleep", ("NOT05", "bad-stale-merge.sh"), {"adapters": False, "resync": True}, None, "level2"),
        ("sleep", ("NOT05", "good-rank-128.sh"), {"adapters": True, "resync": None}, None, "level1"),
        ("engine", ("DO15", "bad-old.sh"), {"adapters": True}, "sglang", "vllm"),
    ],
    ids=str,
)
def test_what_a_run_tells(
    capsys: Capture, topic: str, path: tuple[str, str], facts: dict[str, Any], now: str, answer: str
) -> None:
    words = fixture(*path)
    (found,) = json.loads(printed(capsys, "guide", topic, *words, "--format", "json"))["answers"]
    (run,) = found["runs"]
    assert {name: run["facts"][name]["value"] for name in facts} == facts
    assert run["now"] == now
    assert found["answer"] == answer


def test_a_device_that_is_written_is_a_fact(capsys: Capture, tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    for device, answer in (("npu", "level1"), ("cuda", "level2")):
        script.write_text(
            f"python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.name=vllm trainer.device={device}\n"
        )
        (found,) = json.loads(printed(capsys, "guide", "sleep", str(script), "--format", "json"))["answers"]
        assert found["runs"][0]["facts"]["npu"]["value"] is (device == "npu")
        assert found["answer"] == answer


def test_a_value_that_isnt_known_tells_nothing(capsys: Capture, tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text(
        "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo trainer.nnodes=$1 "
        "actor_rollout_ref.actor.fsdp_config.param_offload=$OFFLOAD actor_rollout_ref.actor.strategy=$2\n"
    )
    (answer,) = json.loads(printed(capsys, "guide", "fsdp", str(script), "--format", "json"))["answers"]
    (run,) = answer["runs"]
    assert {name: fact["value"] for name, fact in run["facts"].items()} == dict.fromkeys(KNOWN["fsdp"]["facts"])
    assert run["now"] is None


def test_paths_without_a_run_that_it_is_about(capsys: Capture) -> None:
    path = str(ROOT / "fixtures" / "NOT01" / "bad-one-rank.json")
    assert main(["guide", "fsdp", path]) == 0
    captured = capsys.readouterr()
    assert "no run that this is about" in captured.err
    assert captured.out.startswith("FSDP2\n")


# -- the comparison


@pytest.mark.parametrize("pair", PAIRS, ids=" ".join)
def test_the_comparison_for_a_terminal(capsys: Capture, pair: tuple[str, str]) -> None:
    known = next(known for topic, known in KNOWN.items() if TOPICS[topic] == pair)
    out = printed(capsys, "compare", *pair)
    assert [line for line in out.split("\n\n")[0].splitlines() if line[0] != " "] == [r["topic"] for r in known["rows"]]
    assert out.index(f"  {known['titles'][pair[0]]} ") < out.index(f"  {known['titles'][pair[1]]} ")
    assert max(map(len, out.splitlines())) <= 80
    flat = " ".join(out.split())
    assert all(f"source {row['source']}" in flat for row in known["rows"])


def test_the_comparison_keeps_the_order_that_is_asked_for(capsys: Capture) -> None:
    head = printed(capsys, "compare", "fsdp2", "fsdp1", "--format", "markdown").splitlines()[0]
    assert head.split("|")[2:4] == [" FSDP2 ", " FSDP1 "]
    rows = json.loads(printed(capsys, "compare", "zero3", "zero2", "--format", "json"))["rows"]
    assert list(rows[0]) == ["topic", "zero3", "zero2", "source"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("compare fsdp1 fsdp1", "name two that differ"),
        ("compare fsdp1 zero2", "they are no two ways to do one thing; known are fsdp1 fsdp2, zero2 zero3"),
        ("compare fsdp1", "CHOICE"),
        ("compare fsdp1 fsdp3", "fsdp3"),
        ("guide", "TOPIC"),
        ("guide lora", "lora"),
        ("guide fsdp --torch new", "'new' is no release"),
        ("guide fsdp --nodes 0", "'0' is no number from 1 on"),
        ("guide fsdp --nodes ٣", "is no number"),
        ("guide fsdp --gpus 2", "--gpus has nothing to do with it; it takes --torch, --verl, --nodes, --offload"),
        ("guide zero no/such.json", "no/such.json: there is no such file or directory"),
    ],
)
def test_a_wrong_command_line(capsys: Capture, words: str, message: str) -> None:
    assert main(words.split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err


# -- the page


def test_the_page_shows_what_the_commands_print(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = DOCS.read_text(encoding="utf-8")
    for pair in PAIRS:
        assert printed(capsys, "compare", *pair, "--format", "markdown") in page
    (script,) = re.findall(r"^```bash\n(.*?)^```$", page, re.M | re.S)
    monkeypatch.chdir(tmp_path)
    Path("train.sh").write_text(script, encoding="utf-8")
    shown = re.findall(r"^`grpo-lint (guide [^`]+)` says:\n\n```text\n(.*?)```$", page, re.M | re.S)
    assert len(shown) == 3
    for command, output in shown:
        assert printed(capsys, *shlex.split(command)) == output
