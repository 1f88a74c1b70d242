"""The unified config: what it may hold, and what the 36 rules say of it."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_lint.cli import main
from grpo_lint.judge import of_config
from grpo_lint.rules.strict import FORMS
from grpo_lint.rules.verdict import STATES
from grpo_lint.settings import Settings
from grpo_lint.source import SourceFile
from grpo_lint.unified import FIELDS
from grpo_lint.validate import InvalidConfig, read

SAMPLE = {
    "zero_stage": 2, "optimizer": "cpu_adam", "gradient_clipping": 1.0, "overlap_comm": False, "lora_rank": 32,
    "fsdp_mode": "fsdp1", "group_size": 8, "bypass_mode": True, "enforce_eager": True, "use_critic": False,
    "ref_in_actor": True, "checkpoint_mode": "naive", "sleep_level": 1, "rollout_engine": "sglang",
    "model_dtype": "bf16", "gating_dtype": "fp32",
}  # fmt: skip
"""The config that the rules' source document shows."""
SHORT = {key: SAMPLE[key] for key in list(SAMPLE) if key in (
    "zero_stage", "gradient_clipping", "overlap_comm", "lora_rank", "fsdp_mode", "group_size"
)}  # fmt: skip
SCHEMA = Path(__file__).parent / "reporters" / "schemas" / "sarif-schema-2.1.0.json"

Capture = pytest.CaptureFixture[str]


def label(value: object) -> str:
    """A case's name, the same in every process: a set has no order of its own."""
    return ",".join(sorted(value)) if isinstance(value, set) else str(value)[:60]


def validated(capsys: Capture, config: dict[str, Any], *arguments: str) -> dict[str, Any]:
    """The one run of the JSON output."""
    main(["validate", "--config", json.dumps(config), "--output", "json", "--no-settings", *arguments])
    run: dict[str, Any] = json.loads(capsys.readouterr().out)["runs"][0]
    return run


def states(run: dict[str, Any]) -> dict[str, str]:
    return {v["rule"]: "assumed" if v["assumed"] else v["verdict"] for v in run["verdicts"]}


def strict(capsys: Capture, **config: object) -> dict[str, str]:
    return states(validated(capsys, config, "--profile", "rtx4090"))


@pytest.mark.parametrize("config", [SAMPLE, SHORT], ids=["sample", "short"])
def test_the_sample_under_the_profile(capsys: Capture, config: dict[str, Any]) -> None:
    run = validated(capsys, config, "--profile", "rtx4090")
    counts = run["counts"]
    assert (counts["pass"], counts["fail"], counts["warn"]) == (32, 0, 2)
    assert (counts["not applicable"], counts["undecided"]) == (2, 0)
    found = states(run)
    assert len(found) == 36
    assert {rule for rule, state in found.items() if state == "warn"} == {"NOT11", "NOT12"}
    assert {rule for rule, state in found.items() if state == "not applicable"} == {"DO16", "DO18"}
    assert all(v["reason"] for v in run["verdicts"])
    assert counts["assumed"] == sum(state == "assumed" for state in found.values()) > 0


def test_nothing_told_is_never_a_bare_pass(capsys: Capture) -> None:
    found = strict(capsys)
    assert "pass" not in found.values()
    assert "fail" not in found.values()
    assert "pass" not in states(validated(capsys, {})).values()


FAULTS: list[tuple[dict[str, object], set[str]]] = [
    # a config, and the rules whose strict forms it fails
    ({"zero_stage": 3}, {"DO01", "NOT01"}),
    ({"zero_stage": 1}, {"DO01"}),
    ({"zero_stage": 2, "optimizer": "adamw"}, {"DO01"}),
    ({"zero_stage": 2, "optimizer": "adamw", "offload_optimizer": "cpu"}, set()),
    ({"optimizer": "muon", "gradient_clipping": 0.0}, {"DO01", "NOT02"}),
    ({"optimizer": "muon", "gradient_clipping": 1.0, "fsdp_mode": "megatron"}, {"DO01", "DO06", "NOT02", "NOT13"}),
    ({"gradient_clipping": 0.0}, {"DO02", "NOT16"}),
    ({"gradient_clipping": 0.5}, {"DO02"}),
    ({"bypass_mode": False}, {"DO03"}),
    ({"group_by_prompt": False}, {"DO04"}),
    ({"algorithm": "gae", "gpu_memory": 80}, {"DO04"}),
    ({"algorithm": "gae"}, {"DO04", "NOT08"}),
    ({"enforce_eager": False}, {"DO05"}),
    ({"fsdp_mode": "fsdp2"}, {"DO06", "NOT06"}),
    ({"fsdp_mode": "veomni"}, {"DO06"}),
    ({"group_size": 1, "reward_kind": "shaped"}, {"DO07", "NOT07"}),
    ({"group_size": 3, "reward_kind": "shaped"}, {"DO07"}),
    ({"lora_rank": 16}, {"DO08"}),
    ({"lora_rank": 64, "rollout_engine": "sglang"}, {"DO08"}),
    ({"lora_rank": 64, "rollout_engine": "vllm"}, {"DO08", "DO15", "NOT05"}),
    ({"lora_rank": 32, "lora_merge": True}, {"DO08", "DO19", "NOT09"}),
    ({"checkpoint_mode": "nccl"}, {"DO09", "NOT10"}),
    ({"checkpoint_mode": "mooncake"}, {"DO09"}),
    ({"checkpoint_mode": "nccl", "dp_size": 2}, set()),
    ({"record_stream": False}, {"DO10"}),
    ({"ulimit": 1024}, {"DO11"}),
    ({"reward_kind": "outcome"}, {"DO12"}),
    ({"reward_kind": "sparse", "group_size": 4}, {"DO12", "DO13"}),
    ({"moe": True, "group_size": 4, "gating_dtype": "fp32", "reward_kind": "shaped"}, {"DO13"}),
    ({"sleep_level": 0}, {"DO14"}),
    ({"sleep_level": 2}, {"DO14", "NOT04"}),
    ({"rollout_engine": "vllm"}, {"DO15"}),
    ({"dsa": True}, {"DO16"}),
    ({"dsa": True, "router_replay": "R3"}, set()),
    ({"model_path": "deepseek-ai/DeepSeek-V3.2"}, {"DO16"}),
    ({"moe": True, "gating_dtype": "bf16"}, {"DO17"}),
    ({"moe": True, "gating_dtype": "fp16"}, {"DO17", "NOT14"}),
    ({"moe": False, "gating_dtype": "fp16"}, set()),
    ({"moe": True, "model_dtype": "fp16", "fsdp_mode": "megatron"}, {"DO06", "DO17", "NOT14"}),
    ({"moe": True, "model_dtype": "bf16", "fsdp_mode": "megatron"}, {"DO06", "DO17"}),
    ({"moe": True, "model_dtype": "fp32", "fsdp_mode": "megatron"}, {"DO06"}),
    ({"moe": True, "model_dtype": "fp16"}, set()),
    ({"moe": True, "model_dtype": "fp16", "gating_dtype": "fp32"}, set()),
    ({"multi_turn": True}, {"DO18"}),
    ({"multi_turn": True, "env_loss_coef": 0.05}, set()),
    ({"overlap_comm": True}, {"NOT03"}),
    ({"overlap_comm": True, "dp_size": 8}, set()),
    ({"overlap_comm": True, "torch_compile": True}, {"NOT03", "NOT15"}),
    ({"use_critic": True}, {"NOT08"}),
    ({"use_critic": True, "gpu_memory": 80}, set()),
    ({"bf16": True, "fp16": True}, {"NOT17"}),
    ({"bf16": True, "fp16": False}, set()),
]


@pytest.mark.parametrize(("config", "failed"), FAULTS, ids=label)
def test_what_fails(capsys: Capture, config: dict[str, object], failed: set[str]) -> None:
    found = strict(capsys, **config)
    assert {rule for rule, state in found.items() if state == "fail"} == failed
    code = main(["validate", "--config", json.dumps(config), "--profile", "rtx4090", "--no-settings"])
    assert code == (1 if failed else 0)


def test_every_strict_form_that_can_fail_does() -> None:
    assert {rule for _, failed in FAULTS for rule in failed} == {rule for rule, form in FORMS.items() if not form.warns}


UNDECIDED = [
    ({"lora_rank": 64}, "NOT05"),
    ({"moe": True}, "DO17"),
    ({"moe": True}, "NOT14"),
    ({"gating_dtype": "fp16"}, "DO17"),
    ({"lora_merge": True}, "DO19"),
    ({"torch_compile": True}, "NOT15"),
    ({"optimizer": "muon", "fsdp_mode": "megatron"}, "NOT13"),
    ({"optimizer": "muon", "gradient_clipping": 1.0}, "NOT13"),
    ({"algorithm": "my_own"}, "DO04"),
]


@pytest.mark.parametrize(("config", "rule"), UNDECIDED, ids=label)
def test_half_a_fault_is_undecided(capsys: Capture, config: dict[str, object], rule: str) -> None:
    assert strict(capsys, **config)[rule] == "undecided"


INAPPLICABLE = [
    ({"optimizer": "muon"}, {"DO02", "NOT16"}),
    ({"algorithm": "gae", "group_size": 1}, {"DO07", "NOT07", "DO13", "NOT11"}),
    ({"lora_rank": 0, "lora_merge": True}, {"DO19", "NOT09"}),
    ({"moe": False}, {"DO17", "NOT14"}),
    ({"dsa": False}, {"DO16"}),
    ({"multi_turn": False}, {"DO18"}),
    ({"overlap_comm": True, "dp_size": 4}, {"NOT03"}),
]


@pytest.mark.parametrize(("config", "rules"), INAPPLICABLE, ids=label)
def test_what_does_not_apply(capsys: Capture, config: dict[str, object], rules: set[str]) -> None:
    found = strict(capsys, **config)
    assert {found[rule] for rule in rules} == {"not applicable"}


def test_one_fault_has_one_speaker(capsys: Capture) -> None:
    for config, failed in FAULTS:
        run = validated(capsys, config, "--profile", "rtx4090")
        speakers = {v["reported_as"] or v["rule"] for v in run["verdicts"] if v["verdict"] == "fail"}
        assert speakers <= failed
        assert bool(speakers) == bool(failed)
        for verdict in run["verdicts"]:
            if verdict["reported_as"] and verdict["verdict"] == "fail":
                (speaker,) = (v for v in run["verdicts"] if v["rule"] == verdict["reported_as"])
                assert speaker["verdict"] == "fail"
                assert verdict["rule"] in speaker["reason"]
                assert verdict["reported_as"] in verdict["reason"]


def test_a_twin_speaks_for_itself_when_the_other_is_not_asked(capsys: Capture) -> None:
    run = validated(capsys, {"zero_stage": 3}, "--profile", "rtx4090", "--select", "DO01")
    assert [(v["rule"], v["verdict"], v["reported_as"]) for v in run["verdicts"]] == [("DO01", "fail", "")]


def test_advice_about_muon_and_clipping_never_contradicts_itself(capsys: Capture) -> None:
    for clip in (0.0, 1.0):
        found = strict(capsys, optimizer="muon", gradient_clipping=clip, zero_stage=2)
        assert found["NOT02"] == "fail"
        assert {found["DO02"], found["NOT16"]} == {"not applicable"}


def test_the_default_profile_judges_by_what_is_certain(capsys: Capture) -> None:
    config = {"group_size": 1, "algorithm": "grpo", "bf16": True, "fp16": True, "zero_stage": 3}
    found = states(validated(capsys, config))
    assert {rule for rule, state in found.items() if state == "fail"} == {"DO07", "NOT07", "NOT17"}
    assert found["DO12"] == "not applicable"
    assert found["NOT01"] == "pass"  # nothing tells that there is one rank


def test_a_targeted_release_of_verl_lets_its_rules_judge(capsys: Capture) -> None:
    config = {"lora_rank": 64, "lora_merge": True, "fsdp_mode": "fsdp1", "rollout_engine": "vllm"}
    for release, state in (("0.8.0", "warn"), ("0.9.0", "pass")):
        assert states(validated(capsys, config, "--target", f"verl={release}"))["NOT05"] == state
    assert states(validated(capsys, config))["NOT05"] == "not applicable"
    zero = {"gradient_clipping": 0, "fsdp_mode": "fsdp2"}
    assert states(validated(capsys, zero, "--target", "verl=0.9.1"))["NOT16"] == "fail"
    alone = {"group_size": 1, "algorithm": "rloo_vectorized"}
    assert states(validated(capsys, alone, "--target", "verl=0.9.1"))["NOT07"] == "fail"


def test_a_profile_of_ones_own(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = '[profiles.pair]\nextend = "rtx4090"\n[profiles.pair.hardware]\ngpus = 2\ngpu-memory = 48\n'
    (tmp_path / "grpo-lint.toml").write_text(settings, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    config = json.dumps({"overlap_comm": True, "use_critic": True, "zero_stage": 3})
    main(["validate", "--config", config, "--output", "json", "--profile", "pair"])
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    found = states(run)
    assert (found["NOT03"], found["NOT08"], found["NOT01"]) == ("undecided", "pass", "fail")
    assert "the profile pair forbids ZeRO-3" in next(v["reason"] for v in run["verdicts"] if v["rule"] == "NOT01")


# -- what a unified config may hold

WRONG = [
    ('{"group_sise": 3}', "1:2: no unified field is called 'group_sise'; did you mean group_size?"),
    ('{"zero_stage": 7}', "1:16: zero_stage is 7: write a number from 0 to 3"),
    ('{"bf16": "yes"}', '1:10: bf16 is "yes": write true'),
    ('{"bf16": 0}', "1:10: bf16 is 0: write false"),
    ('{"lora_rank": "32"}', '1:15: lora_rank is "32": write 32, without quotes'),
    ('{"lora_rank": true}', "1:15: lora_rank is true: write a whole number"),
    ('{"gradient_clipping": "auto"}', '1:23: gradient_clipping is "auto": write a number'),
    ('{"offload_param": "gpu"}', "1:19: offload_param is 'gpu'; did you mean cpu?"),
    ('{"moe": null}', "1:9: moe is null, which tells nothing: leave it out"),
    ('{"gradient_clipping": -1}', "1:23: gradient_clipping is -1: write 0 or more"),
    ('{"nnodes": [1]}', "1:12: nnodes is a list: write a whole number"),
    ('{"optimizer": {"type": "adam"}}', "1:15: optimizer is an object: write a text"),
    ('{"group_size": 8', "1:17: the end of the text, where } is missing"),
    ('{"group_size": 1, "group_size": 2}', "1:19: key group_size is set twice"),
    ("[]", '1:1: not a JSON object; write one such as {"group_size": 8}'),
    ("", "1:1: "),
]


@pytest.mark.parametrize(("text", "fault"), WRONG, ids=[text for text, _ in WRONG])
def test_what_is_no_unified_config(capsys: Capture, text: str, fault: str) -> None:
    assert main(["validate", "--config", text]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"grpo-lint: <config>:{fault}")


def test_every_fault_is_named(capsys: Capture) -> None:
    assert main(["validate", "--config", '{"a": 1, "zero_stage": 9, "moe": "no"}']) == 2
    assert len(capsys.readouterr().err.splitlines()) == 3


@pytest.mark.parametrize("name", FIELDS)
def test_each_field_takes_its_type_and_no_other(name: str) -> None:
    field = FIELDS[name]
    word = field.unit.split(" | ")[0] if " | " in field.unit else "x"
    good = {"int": 2, "float": 0.5, "str": word, "bool": True}
    for kind, value in good.items():
        taken = kind == field.type or (kind == "int" and field.type == "float")
        try:
            run = read(SourceFile("c.json", json.dumps({name: value})), Settings())
        except InvalidConfig:
            assert not taken
        else:
            assert taken
            assert getattr(run, name).value == value


@given(st.text(max_size=60) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(list(FIELDS)), inner, max_size=5),
    max_leaves=8,
).map(json.dumps))  # fmt: skip
def test_any_text_is_a_config_or_is_refused(text: str) -> None:
    faults = None
    try:
        read(SourceFile("c.json", text), Settings())
    except InvalidConfig as error:
        faults = error.faults
    assert faults is None or all(fault.startswith("c.json:") for fault in faults)


VALUES = {
    "int": st.integers(0, 3) | st.integers(0, 100_000),
    "float": st.floats(0, 100) | st.integers(0, 100),
    "bool": st.booleans(),
}
WORDS = st.sampled_from(
    (
        "grpo", "gae", "muon", "cpu_adam", "adamw", "fsdp1", "fsdp2", "megatron", "naive", "nccl", "vllm", "sglang",
        "fp32", "Qwen/Qwen2.5-7B", "deepseek-ai/DeepSeek-V3.2", "x",
    )
)  # fmt: skip


def values(name: str) -> st.SearchStrategy[object]:
    """Values that a field may have."""
    field = FIELDS[name]
    if field.unit == "0-3" or field.unit == "0-2":
        return st.integers(0, int(field.unit[2]))
    if field.type == "str":
        return st.sampled_from(field.unit.split(" | ")) if " | " in field.unit and "..." not in field.unit else WORDS
    return VALUES[field.type]


@given(st.dictionaries(st.sampled_from(list(FIELDS)), st.none(), max_size=12).flatmap(
    lambda keys: st.fixed_dictionaries({key: values(key) for key in keys})
), st.booleans())  # fmt: skip
def test_any_config_gets_36_verdicts_with_reasons(config: dict[str, object], strict: bool) -> None:
    settings = Settings()
    settings.strict_forms, settings.profile = strict, "mine"
    settings.hardware = {"gpus": 1, "nodes": 1, "gpu-memory": 24} if strict else {}
    judged = of_config(SourceFile("c.json", json.dumps(config)), settings)
    assert len(judged.rulings) == 36
    by_id = {ruling.rule.id: ruling.verdict for ruling in judged.rulings}
    for ruling in judged.rulings:
        verdict = ruling.verdict
        assert verdict.state in STATES
        assert ruling.reason.strip()
        assert "None" not in ruling.reason
        if verdict.state == "assumed":
            assert strict
        if verdict.speaker:
            assert by_id[verdict.speaker].state in ("fail", "warn")


# -- where it comes from and goes to


def test_from_a_file_and_from_input(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.json"
    path.write_text('{\n  "zero_stage": 3\n}\n', encoding="utf-8")
    arguments = ["--profile", "rtx4090", "--select", "NOT01", "--output", "json"]
    assert main(["validate", "--config-file", str(path), *arguments]) == 1
    (verdict,) = json.loads(capsys.readouterr().out)["runs"][0]["verdicts"]
    assert (verdict["place"]["path"], verdict["place"]["line"], verdict["place"]["column"]) == (str(path), 2, 17)
    for name in ("--config", "--config-file"):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
        assert main(["validate", name, "-", *arguments]) == 1
        assert json.loads(capsys.readouterr().out)["runs"][0]["file"] == "<stdin>"


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--config", "{}", "--config-file", "x"],
        ["--config-file", "missing.json"],
        ["--config", "{}", "--output", "yaml"],
        ["--config", "{}", "--profile", "rtx4091"],
        ["--config", "{}", "--select", "NOT99"],
    ],
    ids=" ".join,
)
def test_wrong_arguments(capsys: Capture, arguments: list[str]) -> None:
    assert main(["validate", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err


def test_the_table(capsys: Capture) -> None:
    main(["validate", "--config", json.dumps(SAMPLE), "--profile", "rtx4090", "--color", "never"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "<config>:1: unified, profile rtx4090"
    assert lines[-1] == "36 rules: 32 pass (8 assumed), 0 fail, 2 warn, 2 not applicable, 0 undecided"
    rules = [line.split()[0] for line in lines if line.startswith("  ") and not line.startswith("   ")]
    assert rules == sorted(FORMS, key=lambda rule: (rule[0] != "D", rule))
    assert all(len(line) <= 80 for line in lines)


def test_sarif(capsys: Capture, tmp_path: Path) -> None:
    target = tmp_path / "verdicts.sarif"
    config = json.dumps({**SAMPLE, "zero_stage": 3})
    assert main(["validate", "--config", config, "--profile", "rtx4090", "--output", f"sarif={target}"]) == 1
    assert capsys.readouterr().out == ""
    log = json.loads(target.read_text(encoding="utf-8"))
    jsonschema.Draft4Validator(json.loads(SCHEMA.read_text("utf-8"))).validate(log)
    results = log["runs"][0]["results"]
    kinds = {result["ruleId"]: (result["kind"], result["level"]) for result in results}
    assert len(results) == len(kinds) == 36
    assert kinds["NOT01"] == kinds["DO01"] == ("fail", "error")
    assert kinds["NOT11"] == ("fail", "warning")
    assert kinds["NOT02"] == ("pass", "none")
    assert kinds["DO16"] == ("notApplicable", "none")
    assert {log["runs"][0]["tool"]["driver"]["rules"][r["ruleIndex"]]["id"] == r["ruleId"] for r in results} == {True}
