"""`grpo-lint diagnose`: from symptoms and logs to causes, narrowed by configs, and the data behind it."""

import io
import json
import os
import re
import shlex
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_lint.cli import main
from grpo_lint.commands import diagnose, matrix
from grpo_lint.diagnosis import log as logs
from grpo_lint.diagnosis import logs as diagnosis_logs
from grpo_lint.diagnosis.log import Log, Sieve, Signature, scan
from grpo_lint.diagnosis.symptoms import Vocabulary, load, stems
from grpo_lint.frameworks import registry
from grpo_lint.rules import RULES
from grpo_lint.rules.strict import FORMS
from grpo_lint.unified import FIELDS

Capture = pytest.CaptureFixture[str]
ROOT = Path(__file__).parent.parent
KNOWN = load()
CAUSES: dict[str, dict[str, Any]] = {cause["id"]: cause for cause in KNOWN["causes"]}
BY_ID = {rule.id: rule for rule in RULES}
TEXTS = [row["text"] for cause in CAUSES.values() for row in cause.get("log", ())]
SIGNALS = [text for signal in KNOWN["signals"] for text in signal["texts"]]

FAILURES = [
    "huggingface/trl#2876",
    "huggingface/open-r1#249",
    "modelscope/ms-swift#3980",
    "wyf3/llm_related#13",
    "jsboige/CoursIA#10603",
    "rllm-org/rllm#605",
    "insait-institute/open-proof-corpus#2",
    "PRIME-RL/TTRL#43",
    "verl-project/verl#833",
    "verl-project/verl#1191",
    "THU-KEG/AdaptThink#1",
    "NVIDIA-NeMo/Megatron-Bridge#546",
    "huggingface/trl#2826",
    "ROCm/Megatron-LM#85",
    "hiyouga/EasyR1#1",
    "huggingface/trl#2688",
    "verl-project/verl#3366",
    "verl-project/verl#2464",
    "THUDM/slime#537",
    "OpenRLHF/OpenRLHF#1011",
    "verl-project/verl#995",
    "verl-project/verl#2459",
    "verl-project/verl#673",
    "agentscope-ai/Trinity-RFT#398",
    "hiyouga/EasyR1#3425",
    "verl-project/verl#6782",
    "unslothai/unsloth#2097",
    "deepspeedai/DeepSpeed#8061",
    "NVIDIA/Megatron-LM#5394",
    "EleutherAI/gpt-neox#1433",
    "verl-project/verl#265",
    "THUDM/slime#397",
    "NVIDIA-NeMo/RL#4031",
    "NVIDIA/Megatron-LM#4168",
    "huggingface/trl#5312",
    "NVIDIA-NeMo/RL#988",
    "modelscope/ms-swift#3183",
]
"""Public reports of runs that a config made fail."""


def diagnosed(capsys: Capture, *words: str) -> dict[str, Any]:
    assert main(["diagnose", *words, "--format", "json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


def verdicts(document: dict[str, Any]) -> dict[str, str]:
    return {cause["id"]: cause["verdict"] for cause in document["causes"]}


# -- the data


@pytest.mark.parametrize("cause", CAUSES.values(), ids=CAUSES)
def test_a_cause_is_whole(cause: dict[str, Any]) -> None:
    assert cause["what"]
    assert cause["do"]
    assert cause["source"]
    assert not cause["what"].endswith(".")
    assert set(cause["faults"]) <= set(KNOWN["faults"])
    assert cause["faults"]
    assert set(cause["about"]) <= set(KNOWN["subjects"])
    assert set(cause.get("rules", {})) <= set(BY_ID)
    assert set(cause.get("when", {})) <= set(FIELDS)
    assert all(registry.named(name) is not None for name in cause.get("frameworks", ()))
    assert set(cause.get("frameworks", ())) <= set(KNOWN["titles"])
    if "fixed" in cause:
        assert cause["fixed"]["framework"] in KNOWN["titles"]
        assert re.fullmatch(r"\d+\.\d+\.\d+", cause["fixed"]["release"])


def test_ids_are_used_once() -> None:
    assert len(CAUSES) == len(KNOWN["causes"])


@pytest.mark.parametrize(
    ("id", "text"),
    [(id, text) for cause in CAUSES.values() for id, texts in cause.get("rules", {}).items() for text in texts],
    ids=str,
)
def test_a_rule_says_the_text_by_which_its_finding_is_told(id: str, text: str) -> None:
    said = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "fixtures" / id).glob("bad-*.out"))
    assert text in said


def test_every_bug_of_the_matrix_is_a_cause() -> None:
    listed = {bug for cause in CAUSES.values() for bug in cause.get("bugs", ())}
    assert listed == {matrix.reference(bug) for bug in matrix.load()["bugs"]}


def test_every_avoidance_rule_is_the_trigger_of_a_cause() -> None:
    assert set(FORMS) <= {id for cause in CAUSES.values() for id in cause.get("rules", {})}


@pytest.mark.parametrize("thread", FAILURES)
def test_every_public_failure_is_a_source(thread: str) -> None:
    repository, number = thread.split("#")
    assert any(re.search(rf"{repository}#(?:\d+, #)*{number}\b", cause["source"]) for cause in CAUSES.values()), thread


def test_no_word_means_two_faults_or_two_subjects() -> None:
    for table in (KNOWN["faults"], KNOWN["subjects"]):
        words = [" ".join(stems(word)) for listed in table.values() for word in listed]
        assert all(words)
        assert len(words) == len(set(words))


@pytest.mark.parametrize("text", [*TEXTS, *SIGNALS])
def test_a_text_can_be_looked_for(text: str) -> None:
    signature = Signature(text)
    assert text.isascii()
    assert text.isprintable()
    assert not text.startswith("{}")
    assert len(signature.anchor) >= 8
    hit = scan(io.BytesIO(f"x {text.replace('{}', '64')}\n".encode()).read, [signature]).hits[signature]
    assert hit.text == text.replace("{}", "64")


def test_texts_are_distinct_and_each_has_a_source() -> None:
    assert len(set(TEXTS + SIGNALS)) == len(TEXTS + SIGNALS)
    assert all(row["source"] for cause in CAUSES.values() for row in cause.get("log", ()))


def test_bash_says_what_is_looked_for_where_arguments_are_lost() -> None:
    words = [
        "actor_rollout_ref.rollout.n=8",
        "algorithm.adv_estimator=grpo",
        "data.train_batch_size=2",
        "trainer.nnodes=1",
    ]
    command = ["bash", "-c", "\n".join([*words, "\r\n"])]
    said = subprocess.run(command, capture_output=True, check=False, env={**os.environ, "LC_ALL": "C"}).stderr
    signatures = [Signature(row["text"]) for row in CAUSES["arguments-lost"]["log"]]
    assert set(scan(io.BytesIO(said).read, signatures).hits) == set(signatures)


# -- logs

RANK = Signature("LoRA rank {} is greater than max_lora_rank {}.")
NAN = Signature("'loss': nan")


def found(data: bytes, *signatures: Signature, size: int = 0) -> Log:
    stream = io.BytesIO(data)
    return scan((lambda wanted: stream.read(size)) if size else stream.read, signatures)


def test_the_lines_of_a_text_are_told() -> None:
    log = found(
        b"a\n{'loss': nan}\nb\n{'loss': nan, 'x': 1} {'loss': nan}\n{'loss': nano}\n" + b"'loss': nan\n" * 5, NAN
    )
    assert log.hits[NAN].lines == [2, 4, 6]
    assert log.hits[NAN].count == 7
    assert log.lines == 10


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (
            b"ValueError: LoRA rank 64 is greater than max_lora_rank 16.",
            "LoRA rank 64 is greater than max_lora_rank 16.",
        ),
        (b"\x1b[36m(W pid=1)\x1b[0m LoRA rank \x1b[1m64\x1b[0m is greater than max_lora_rank 16.", "LoRA rank 64 "),
        ("LoRA rank 64 is greater than max_lora_rank 16.".encode("utf-16"), "LoRA rank 64 "),
        (b"50%|##\rLoRA rank 64 is greater than max_lora_rank 16.\r\n", "LoRA rank 64 "),
        (b"LoRA rank sk-secret is greater than max_lora_rank 16.", "LoRA rank ... is greater than max_lora_rank 16."),
        (b"\xff\xfe\x80 LoRA rank \xff is greater than max_lora_rank 16.", "LoRA rank ... "),
    ],
)
def test_a_text_is_found_whatever_is_around_it(data: bytes, text: str) -> None:
    assert found(data, RANK).hits[RANK].text.startswith(text)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"LoRA rank 64\n is greater than max_lora_rank 16.",
        b"LoRA rank " + b"6" * 300 + b" is greater than max_lora_rank 16.",
        b"LoRA rank 64 is greater than max_lora_rank 16",
        b" is greater than max_lora_rank " * 1000,
    ],
)
def test_what_only_looks_like_a_text_is_none(data: bytes) -> None:
    assert not found(data, RANK).hits


PARTS = (b"'loss': nan", b"'loss': na", b"LoRA rank 8 ", b"is greater than max_lora_rank 4.")
STEERING = (b"\x1b[0m", b"\x00", b"\r", b"\x1b")


@given(st.lists(st.sampled_from((*PARTS, *STEERING, b"\n", b"x" * 50)), max_size=60), st.integers(1, 40))
def test_the_size_of_the_chunks_makes_no_difference(parts: list[bytes], size: int) -> None:
    data = b"".join(parts)
    whole, pieces = found(data, NAN, RANK), found(data, NAN, RANK, size=size)
    assert {s: (h.lines, h.count, h.text) for s, h in whole.hits.items()} == {
        s: (h.lines, h.count, h.text) for s, h in pieces.hits.items()
    }
    assert whole.lines == pieces.lines
    if not set(STEERING).intersection(parts):
        assert whole.lines == len(data.splitlines())


class Endless:
    """A stream of a unit repeated up to a size, and a text at its end."""

    def __init__(self, unit: bytes, size: int, end: bytes = b"") -> None:
        self.block = unit * (logs.CHUNK // len(unit))
        self.left = size // len(self.block)
        self.end = end

    def read(self, size: int) -> bytes:
        self.left -= 1
        if self.left >= 0:
            return self.block
        end, self.end = self.end, b""
        return end


@pytest.mark.parametrize(
    "unit", [b"x", b"\x00", b"\x1b[", b"'loss': na", b"step:1 - actor/pg_loss:0.1\n", bytes(range(256))]
)
def test_a_large_log_is_read_in_bounded_memory(unit: bytes) -> None:
    stream = Endless(unit, 48 << 20, b"\n'loss': nan\n")
    tracemalloc.start()
    try:
        log = scan(stream.read, [NAN, RANK])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert log.hits[NAN].count == 1
    assert peak < 12 << 20
    assert log.size > 47 << 20


def test_a_text_that_too_much_looks_like_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "TRIES", 100)
    log = found(b" is greater than max_lora_rank " * 200, RANK, NAN)
    assert log.given_up == [RANK]


def test_lines_that_differ_in_numbers_alone_are_passed_over() -> None:
    sieve = Sieve([RANK, NAN])
    assert sieve.held(b"step:1 loss:0.1\nstep:2 loss:0.2\n") == []
    assert len(sieve._seen) == 2  # the line, and what is after the last
    assert sieve.held(b"step:3 loss:0.3\nLoRA rank 8 is greater than max_lora_rank 4.\n") == [RANK]
    assert sieve.held(b"step:4 loss:0.4\n") == [RANK]


def test_the_memory_of_lines_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sieve, "MOST", 10)
    sieve = Sieve([NAN])
    for number in range(100):
        text = "abcdefghij"[number // 10] + "abcdefghij"[number % 10]
        assert sieve.held(text.encode() + b"\n" + b"x" * 600) == []
    assert len(sieve._seen) < 14
    assert sieve.held(b"{'loss': nan}") == [NAN]


def test_no_more_lines_are_counted_than_say_something(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "ENOUGH", 10)
    assert found(b"'loss': nan\n" * 50, NAN).hits[NAN].count == 10


# -- words


@pytest.mark.parametrize(
    ("text", "faults", "about"),
    [
        ("loss nan step 3", ("nan",), {"loss", "first steps"}),
        ("CUDA out of memory at weight sync, FSDP2", ("out of memory",), {"GPU", "weights", "FSDP2"}),
        ("Reward doesn't go up.", ("nothing learned",), {"reward"}),
        ("the rewards aren't improving", ("nothing learned",), {"reward"}),
        ("reward stopped improving", ("nothing learned",), {"reward"}),
        ("responses never stop", ("endless responses",), {"response"}),
        ("'grad_norm': exploding", ("collapse",), {"gradient"}),
        ("actor/grad_norm is NaN", ("nan",), {"gradient"}),
        ("never emits EOS with LoRA rank 64", ("endless responses",), {"adapter"}),
        ("Muon loss plateaus, reward drops", ("nothing learned", "collapse"), {"muon", "loss", "reward"}),
        ("zero 3 is slow", ("slow",), {"ZeRO"}),
        ("too many open files", ("open files",), set()),
        ("", (), set()),
        ("nanometre banana", (), set()),
    ],
)
def test_words_are_understood(text: str, faults: tuple[str, ...], about: set[str]) -> None:
    symptom = Vocabulary(KNOWN).read(text)
    assert symptom.faults == faults
    assert set(symptom.about) == about


# -- the command


def fixture(rule: str, name: str) -> list[str]:
    """A fixture, with its arguments."""
    path = ROOT / "fixtures" / rule / name
    more = path.with_suffix(".args")
    return [str(path), *(more.read_text().split() if more.exists() else ())]


def test_causes_of_nan_without_a_config(capsys: Capture) -> None:
    document = diagnosed(capsys, "--symptom", "loss nan step 3")
    assert document["symptoms"] == [{"text": "loss nan step 3", "faults": ["nan"], "about": ["loss", "first steps"]}]
    assert [cause["id"] for cause in document["causes"]][:2] == ["overlap-with-compile", "overlap-buffers-reused"]
    assert set(verdicts(document).values()) == {"not judged"}
    assert all("nan" in CAUSES[cause["id"]]["faults"] for cause in document["causes"])


def test_a_cause_that_the_config_shows_comes_first(capsys: Capture) -> None:
    document = diagnosed(capsys, "--symptom", "loss nan step 3", *fixture("DO10", "bad-old-release.json"))
    first = document["causes"][0]
    assert (first["id"], first["verdict"], first["rule"]) == ("overlap-buffers-reused", "confirmed", "DO10")
    assert first["place"]["path"].endswith("bad-old-release.json")
    assert first["because"].startswith("zero_optimization.overlap_comm=true")
    assert verdicts(document)["stage-3-bf16-on-new-torch"] == "excluded"


def test_a_release_with_the_fix_excludes_and_an_unknown_one_does_not(capsys: Capture) -> None:
    told = diagnosed(capsys, "--symptom", "nan", *fixture("DO10", "good-new-release.json"))
    cause = next(cause for cause in told["causes"] if cause["id"] == "overlap-buffers-reused")
    assert cause["verdict"] == "excluded"
    assert "has the fix of 0.19.0" in cause["because"]
    untold = diagnosed(capsys, "--symptom", "nan", *fixture("DO10", "good-unknown-release.json"))
    cause = next(cause for cause in untold["causes"] if cause["id"] == "overlap-buffers-reused")
    assert cause["verdict"] == "possible"
    assert "the release of DeepSpeed isn't known" in cause["because"]


def test_a_setting_that_contradicts_excludes(capsys: Capture, tmp_path: Path) -> None:
    config = tmp_path / "ds.json"
    config.write_text('{"zero_optimization": {"stage": 2, "overlap_comm": false}, "bf16": {"enabled": true}}\n')
    document = diagnosed(capsys, "--symptom", "loss is nan", str(config))
    causes = {cause["id"]: cause for cause in document["causes"]}
    assert causes["overlap-buffers-reused"]["verdict"] == "excluded"
    assert causes["overlap-buffers-reused"]["because"] == "zero_optimization.overlap_comm is false"
    assert causes["overlap-buffers-reused"]["place"]["line"] == 1


@pytest.mark.parametrize(
    ("symptom", "cause", "rule", "name"),
    [
        ("reward flat", "group-of-one", "NOT07", "bad-default.sh"),
        ("no eos", "merged-adapter-lost", "NOT05", "bad-stale-merge.sh"),
        ("gradients are all zero", "clip-to-zero", "NOT16", "bad-verl-fsdp.sh"),
        ("oom", "fsdp2-on-torch-2.6", "NOT06", "bad-torch-2.6.sh"),
        ("oom", "whole-shard-at-sync", "NOT06", "bad-offload-two-nodes.sh"),
        ("nan", "stage-3-bf16-on-new-torch", "NOT01", "bad-nan-on-new-torch.json"),
        ("training is slow", "sharding-over-one-rank", "NOT01", "bad-one-rank.json"),
        ("assertion error at start", "naive-sync-between-gpus", "DO09", "bad-default.sh"),
        ("my lora has no effect", "adapter-that-nothing-makes", "DO19", "bad-flat-rank-on-megatron.sh"),
        ("AssertionError batch size", "deepspeed-batch-chain", "INV202", "bad-example.json"),
        ("crash at start", "override-that-fits-nothing", "OPT01", "bad-*.sh"),
    ],
)
def test_a_finding_confirms_its_cause(capsys: Capture, symptom: str, cause: str, rule: str, name: str) -> None:
    names = sorted(path.name for path in (ROOT / "fixtures" / rule).glob(name)) or pytest.fail(f"{rule}/{name}")
    document = diagnosed(capsys, "--symptom", symptom, *fixture(rule, names[0]))
    assert verdicts(document)[cause] == "confirmed"
    confirmed = [one for one in document["causes"] if one["verdict"] == "confirmed"]
    assert document["causes"][: len(confirmed)] == confirmed


def test_a_trainer_excludes_what_is_of_other_frameworks_and_a_part_of_a_run_does_not(capsys: Capture) -> None:
    trainer = diagnosed(capsys, "--symptom", "nan", *fixture("NOT07", "bad-default.sh"))
    assert verdicts(trainer)["overlap-with-compile"] == "excluded"
    part = diagnosed(capsys, "--symptom", "no eos", *fixture("DO10", "bad-old-release.json"))
    assert verdicts(part)["merged-adapter-lost"] == "possible"


def test_a_rule_that_doesnt_judge_a_framework_excludes_nothing(capsys: Capture, tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text("trl grpo --model_name_or_path Qwen/Qwen2.5-7B --use_vllm true --num_generations 8\n")
    document = diagnosed(capsys, "--symptom", "error: prompt too long", str(script))
    assert verdicts(document)["prompt-beyond-context"] == "possible"  # INV136 is about verl
    assert verdicts(document)["tokens-per-gpu"] == "excluded"  # the cause itself is verl's


LAUNCHES = ("openrlhf.cli.train_ppo_ray --ds.zero_stage 2 --ds.overlap_comm", "rllm.trainer.cli")


@pytest.mark.parametrize("launch", LAUNCHES)
def test_a_framework_that_is_built_on_others_excludes_none_of_theirs(
    capsys: Capture, tmp_path: Path, launch: str
) -> None:
    script = tmp_path / "run.sh"
    script.write_text(f"python3 -m {launch} --rollout.n_samples_per_prompt 8\n")
    document = diagnosed(capsys, "--symptom", "loss nan", str(script))
    assert verdicts(document)["overlap-buffers-reused"] in ("possible", "not judged")


def test_one_rule_that_judges_is_enough_to_exclude(capsys: Capture) -> None:
    document = diagnosed(capsys, "--symptom", "nan", *fixture("DO17", "good-fp32.sh"))
    cause = next(cause for cause in document["causes"] if cause["id"] == "router-in-half-precision")
    assert (cause["verdict"], cause["rule"]) == ("excluded", "DO17")  # NOT14 is reported as DO17


def test_a_condition_that_isnt_known_excludes_nothing(capsys: Capture, tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    line = (
        "python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=8 "
        "actor_rollout_ref.model.lora_rank=32 actor_rollout_ref.rollout.name=vllm trainer.v1.trainer_mode="
    )
    for mode, verdict in (("$1", "possible"), ("sync", "excluded"), ("separate_async", "confirmed")):
        script.write_text(f"{line}{mode}\n")
        document = diagnosed(capsys, "--symptom", "reward flat, lora weights", "--target", "verl=0.9.1", str(script))
        assert verdicts(document)["adapter-not-sent"] == verdict, mode


def test_a_relation_that_has_nothing_to_judge_excludes_nothing(capsys: Capture, tmp_path: Path) -> None:
    config = tmp_path / "ds.json"
    config.write_text('{"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 1}\n')
    document = diagnosed(capsys, "--symptom", "batch size assertion", str(config))
    assert verdicts(document)["deepspeed-batch-chain"] == "possible"
    config.write_text(
        '{"zero_optimization": {"stage": 2}, "train_batch_size": 8, "train_micro_batch_size_per_gpu": 1,'
        ' "gradient_accumulation_steps": 8}\n'
    )
    document = diagnosed(capsys, "--symptom", "batch size assertion", str(config))
    cause = next(cause for cause in document["causes"] if cause["id"] == "deepspeed-batch-chain")
    assert "INV203" in cause["because"]  # the number of GPUs isn't known


LOG = b"""\x1b[36m(TaskRunner pid=12)\x1b[0m step:1 - actor/pg_loss:nan - actor/grad_norm:np.float64(nan)
export HF_TOKEN=hf_verysecret
ValueError: LoRA rank 64 is greater than max_lora_rank 16.
PASSWORD=hunter2 OSError: [Errno 24] Too many open files: 'hunter2'
"""


@pytest.fixture
def train_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.log").write_bytes(LOG)
    return "train.log"


def test_a_log_shows_symptoms_and_names_causes(capsys: Capture, train_log: str) -> None:
    document = diagnosed(capsys, "--log", train_log)
    (log,) = document["logs"]
    assert (log["name"], log["lines"], log["bytes"]) == ("train.log", 4, len(LOG))
    lines = {row["text"]: (row["lines"], row["cause"]) for row in log["found"]}
    assert lines["LoRA rank 64 is greater than max_lora_rank 16"] == ([3], "adapter-rank-limit")
    assert lines["actor/pg_loss:nan"] == ([1], None)
    assert [cause["id"] for cause in document["causes"]][:2] == ["adapter-rank-limit", "open-file-limit"]
    assert "overlap-with-compile" in verdicts(document)


@pytest.mark.parametrize("format", ["text", "markdown", "json"])
def test_no_text_of_a_log_is_shown_beyond_what_is_known(capsys: Capture, train_log: str, format: str) -> None:
    assert main(["diagnose", "--log", train_log, "--format", format]) == 0
    out = capsys.readouterr().out
    assert "hf_verysecret" not in out
    assert "hunter2" not in out
    assert "pid" not in out
    assert "\x1b" not in out
    assert "64 is greater" in out


def test_what_a_log_names_stays_possible_where_the_config_speaks_against_it(capsys: Capture, train_log: str) -> None:
    document = diagnosed(capsys, "--log", train_log, *fixture("NOT05", "bad-stale-merge.sh"))
    cause = next(cause for cause in document["causes"] if cause["id"] == "adapter-rank-limit")
    assert cause["verdict"] == "possible"
    assert "the log names it, though the config as it is now" in cause["because"]


def test_a_line_of_a_log_can_be_told_as_a_symptom(capsys: Capture) -> None:
    document = diagnosed(capsys, "--symptom", "ValueError: LoRA rank 64 is greater than max_lora_rank 16.")
    assert document["causes"][0]["id"] == "adapter-rank-limit"
    assert document["causes"][0]["lines"][0]["log"] == "the symptom"


def test_a_log_from_standard_input(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LOG)))
    document = diagnosed(capsys, "--log", "-")
    assert document["logs"][0]["name"] == "standard input"
    assert document["logs"][0]["found"]


def test_a_pipe_is_a_log(tmp_path: Path) -> None:
    command = f"{sys.executable} -m grpo_lint diagnose --log <(printf \"a\\n'loss': nan\\n\")"
    said = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert "line 2: 'loss': nan" in said


def test_paths_without_a_run_are_told(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "notes.sh").write_text("echo hello\n")
    assert main(["diagnose", "--symptom", "nan", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "paths: no run was found, so no config was looked at" in out
    assert "\npossible (no config was looked at)\n" in out


def test_a_limit_of_a_log_is_told(capsys: Capture, train_log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (diagnosis_logs, diagnose):
        monkeypatch.setattr(module, "MAX_BYTES", 100)
    assert main(["diagnose", "--log", train_log]) == 0
    out = capsys.readouterr().out
    assert "the first 100 bytes were read" in out
    assert "LoRA rank" not in out


def test_a_fault_of_the_linter_costs_one_file(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a rule\nbroke")

    monkeypatch.setattr("grpo_lint.diagnosis.triggers._of_run", fail)
    assert main(["diagnose", "--symptom", "nan", *fixture("NOT07", "bad-default.sh")]) == 2
    captured = capsys.readouterr()
    assert "internal error, please report it: RuntimeError: a rule" in captured.err
    assert "overlap-with-compile" in captured.out


@pytest.mark.parametrize("format", ["text", "markdown", "json"])
def test_no_match_is_said_plainly(capsys: Capture, format: str) -> None:
    assert main(["diagnose", "--symptom", "the office is cold", "--format", format]) == 0
    out = capsys.readouterr().out
    if format == "json":
        assert json.loads(out)["causes"] == []
    else:
        assert "no match: nothing that is known causes this" in out.replace("\\", "")
        assert "no word of it is known" in out


def test_a_log_in_which_nothing_is_known(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("step 1\nstep 2\n")
    assert main(["diagnose", "--log", str(tmp_path / "a.log")]) == 0
    assert "2 lines, and no text in it is known" in " ".join(capsys.readouterr().out.split())


def test_what_most_lines_show_weighs_more(capsys: Capture, tmp_path: Path) -> None:
    few, many = "{'completions/clipped_ratio': 1.0}\n", "{'frac_reward_zero_std': 1.0}\n"
    (tmp_path / "a.log").write_text(few + many * 50)
    document = diagnosed(capsys, "--log", str(tmp_path / "a.log"))
    assert "equal-rewards" in [cause["id"] for cause in document["causes"]][:3]
    assert document["causes"][0]["id"] != "merged-adapter-lost"
    (tmp_path / "a.log").write_text(few * 50 + many)
    document = diagnosed(capsys, "--log", str(tmp_path / "a.log"))
    assert document["causes"][0]["id"] == "merged-adapter-lost"


def test_each_of_several_faults_keeps_its_causes(capsys: Capture) -> None:
    alone = verdicts(diagnosed(capsys, "--symptom", "oom"))
    assert set(alone) <= set(verdicts(diagnosed(capsys, "--symptom", "oom, nan and an error")))


@pytest.mark.parametrize("format", ["text", "markdown"])
def test_a_symptom_that_says_little_is_not_answered_at_length(capsys: Capture, format: str) -> None:
    assert main(["diagnose", "--symptom", "error", "--format", format]) == 0
    out = capsys.readouterr().out.replace("\\", "")
    assert len(re.findall(r"^\d+\. ", out, re.M)) == 10
    listed = len(diagnosed(capsys, "--symptom", "error")["causes"])
    assert f"and {listed - 10} more, which fit less well" in " ".join(out.split())


def test_the_text_fits_a_terminal(capsys: Capture, train_log: str) -> None:
    words = [
        "--log",
        train_log,
        "--symptom",
        "reward flat",
        "--symptom",
        "oom",
        *fixture("NOT05", "bad-stale-merge.sh"),
    ]
    assert main(["diagnose", *words]) == 0
    lines = capsys.readouterr().out.splitlines()
    wide = [line for line in lines if len(line) > 80]
    assert all(" " not in line.strip() for line in wide), wide  # an option stays in one piece
    heads = [line for line in lines if line.startswith(("confirmed", "possible", "excluded"))]
    assert heads == ["confirmed: the config shows the trigger", "possible", "excluded by the config"]


def test_a_symptom_cannot_steer_a_terminal_or_a_page(capsys: Capture) -> None:
    assert main(["diagnose", "--symptom", "\x1b[31mnan\n<img src=x> @all", "--format", "markdown"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\\<img" in out
    assert "\\@all" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "tell what goes wrong"),
        (["train.sh"], "tell what goes wrong"),
        (["--symptom", " "], "it is empty"),
        (["--log", "no.log"], "--log no.log: No such file or directory"),
        (["--log", "."], "neither a file nor a pipe"),
        (["--log", "/dev/zero"], "neither a file nor a pipe"),
        (["--log", "-", "--log", "-"], "can be read once"),
        (["--symptom", "nan", "no.sh"], "no.sh: there is no such file or directory"),
        (["--symptom", "nan", "--format", "sarif"], "sarif"),
        (["--symptom", "nan", "--target", "verl"], "FRAMEWORK=RELEASE"),
    ],
)
def test_a_wrong_command_line(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["diagnose", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert "Traceback" not in captured.err


@pytest.mark.parametrize(("magic", "program"), [(b"\x1f\x8b\x08", "zcat"), (b"\x28\xb5\x2f\xfd", "zstdcat")])
def test_a_compressed_log_is_not_searched_in_vain(capsys: Capture, tmp_path: Path, magic: bytes, program: str) -> None:
    (tmp_path / "a.gz").write_bytes(magic + b"abc")
    assert main(["diagnose", "--log", str(tmp_path / "a.gz")]) == 2
    assert f"{program} {tmp_path / 'a.gz'} | grpo-lint diagnose --log -" in capsys.readouterr().err


# -- the page


def test_the_page_shows_what_the_command_prints(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs" / "diagnose.md").read_text(encoding="utf-8")
    scripts = re.findall(r"^```bash\n(.*?)^```$", page, re.M | re.S)
    shown = re.findall(r"^`grpo-lint ([^`]+)` says:\n\n```text\n(.*?)```$", page, re.M | re.S)
    assert len(scripts) == len(shown) == 1
    monkeypatch.chdir(tmp_path)
    Path("train.sh").write_text(scripts[0], encoding="utf-8")
    for command, output in shown:
        assert main(shlex.split(command)) == 0
        assert capsys.readouterr().out == output
