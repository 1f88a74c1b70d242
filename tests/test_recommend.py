"""`grpo-lint recommend`: what it writes passes, in every format, for every topic and profile."""

import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from grpo_lint.cli import main
from grpo_lint.commands import recommend
from grpo_lint.engine import Linter
from grpo_lint.frameworks import tables
from grpo_lint.recipes import choose, write
from grpo_lint.rules import RULES
from grpo_lint.settings import Settings
from grpo_lint.unified import FIELDS

Capture = pytest.CaptureFixture[str]
KNOWN = choose.load()
SETTINGS = KNOWN["settings"]
PROFILES = ("default", "strict", "rtx4090")
TOPICS = ("", *choose.TOPICS)
IDS = {rule.id for rule in RULES}
DOCS = Path(__file__).parent.parent / "docs" / "recommend.md"

CANNOT = {
    # what can't be said, whatever the profile
    ("zero", "verl"), ("zero", "verl-yaml"), ("zero", "megatron"), ("zero", "vllm"), ("zero", "sglang"),
    ("muon", "vllm"), ("muon", "sglang"), ("fsdp", "vllm"), ("fsdp", "sglang"), ("fsdp", "deepspeed"),
    ("fsdp", "megatron"), ("lora", "deepspeed"), ("lora", "megatron"), ("rollout", "deepspeed"),
    ("rollout", "megatron"),
}  # fmt: skip
CANNOT_STRICTLY = CANNOT | {("rollout", "trl"), *((topic, "vllm") for topic in ("", "lora", "rollout", "moe-nan"))}

CASES = [
    (profile, format, topic)
    for profile in PROFILES
    for format in choose.FORMATS
    for topic in TOPICS
    if (topic, format) not in (CANNOT_STRICTLY if profile == "rtx4090" else CANNOT)
]
MACHINES = {
    "one": {"gpus": 1, "nodes": 1, "memory": 24},
    "node": {"gpus": 8, "nodes": 1, "memory": 80},
    "odd": {"gpus": 3, "nodes": 2, "memory": 40},
    "many": {"gpus": 4, "nodes": 16, "memory": 141},
}


def printed(capsys: Capture, *words: str) -> tuple[str, str]:
    assert main(["recommend", *words]) == 0
    captured = capsys.readouterr()
    return captured.out, captured.err


def recommended(profile: str, format: str, topic: str) -> list[str]:
    return [*([topic] if topic else []), "--profile", profile, "--format", format]


# -- what is written passes


@pytest.mark.parametrize(("profile", "format", "topic"), CASES)
def test_what_is_written_passes(
    profile: str, format: str, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    text, told = printed(capsys, *recommended(profile, format, topic))
    target = re.findall(r"--target (\S+)$", told)
    assert bool(told) == bool(target) == ((profile, format) in {("rtx4090", "verl"), ("rtx4090", "verl-yaml")})
    arguments = ["--profile", profile, *(("--target", *target) if target else ())]
    name = KNOWN["formats"][format]["file"]
    Path(name).write_text(text, encoding="utf-8")
    if format == "unified":
        assert main(["validate", *arguments, "--config-file", name, "--output", "json"]) == 0
        (run,) = json.loads(capsys.readouterr().out)["runs"]
        states = {verdict["rule"]: verdict["verdict"] for verdict in run["verdicts"]}
        assert not {"fail", "warn"} & set(states.values())
        return
    assert main([*arguments, "--fail-on", "note", "--output", "json", name]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["diagnostics"] == []
    assert report["counts"]["runs"] == 1


@pytest.mark.parametrize("format", ["verl", "verl-yaml"])
def test_what_needs_no_release_passes_without_one_up_to_a_note(
    format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """Adapters on SGLang, which the profile asks for, work from verl 0.9.1 on: DO15 says so of an unknown release."""
    monkeypatch.chdir(tmp_path)
    name = KNOWN["formats"][format]["file"]
    Path(name).write_text(printed(capsys, "lora", "--profile", "rtx4090", "--format", format)[0], encoding="utf-8")
    assert main(["--profile", "rtx4090", "--output", "json", name]) == 0
    assert [found["rule"] for found in json.loads(capsys.readouterr().out)["diagnostics"]] == ["DO15"]


def test_a_pinned_release_is_written_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    (tmp_path / "requirements.txt").write_text("verl==0.7.1\n", encoding="utf-8")
    text, told = printed(capsys, "rollout", "--format", "verl")
    assert told == ""
    assert "actor.grad_clip=1.0" in text  # what the FSDP workers read before 0.8.0
    (tmp_path / "requirements.txt").write_text("verl==0.9.1\n", encoding="utf-8")
    text, told = printed(capsys, "lora", "--format", "verl", "--profile", "rtx4090")
    assert told == ""
    assert "actor.optim.clip_grad=1.0" in text


TARGETS = [
    ("deepspeed", "zero", "deepspeed=0.19.2"),
    ("deepspeed", "zero", "deepspeed=0.19.8"),
    ("deepspeed", "muon", "deepspeed=0.18.9"),
    ("verl", "rollout", "verl=0.5.0"),
    ("verl", "lora", "verl=0.6.1"),
    ("verl", "fsdp", "verl=0.7.1"),
    ("verl-yaml", "moe-nan", "verl=0.8.0"),
    ("verl", "muon", "verl=0.9.0"),
    ("megatron", "moe-nan", "megatron-core=0.15.0"),
    ("vllm", "rollout", "vllm=0.8.5"),
    ("vllm", "lora", "vllm=0.11.2"),
    ("sglang", "rollout", "sglang=0.5.13"),
    ("trl", "rollout", "trl=0.19.1"),
    ("trl", "fsdp", "trl=0.24.0"),
]


@pytest.mark.parametrize(("format", "topic", "target"), TARGETS)
def test_older_releases(
    format: str, topic: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    text, told = printed(capsys, topic, "--format", format, "--target", target)
    assert told == ""
    name = KNOWN["formats"][format]["file"]
    Path(name).write_text(text, encoding="utf-8")
    assert main(["--target", target, "--fail-on", "note", name]) == 0
    assert f"--target {target} {name}`" in text or format == "deepspeed"


def test_overlap_is_recommended_where_it_is_safe(capsys: Capture) -> None:
    def overlaps(*words: str) -> bool:
        config = json.loads(printed(capsys, "zero", "--format", "deepspeed", *words)[0])
        return bool(config["zero_optimization"]["overlap_comm"])

    assert not overlaps()
    assert not overlaps("--target", "deepspeed=0.19.2")
    assert overlaps("--target", "deepspeed=0.19.3")
    assert not overlaps("--target", "deepspeed=0.19.3", "--profile", "rtx4090")


@pytest.mark.parametrize("extend", ["rtx4090", "default"])
@pytest.mark.parametrize("machine", MACHINES.values(), ids=list(MACHINES))
def test_any_machine_of_a_profile_of_ones_own(
    machine: dict[str, Any], extend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    names = {"gpus": "gpus", "nodes": "nodes", "memory": "gpu-memory"}
    hardware = "".join(f"{name} = {machine[key]}\n" for key, name in names.items())
    base = "" if extend == "default" else f'[profiles.mine]\nextend = "{extend}"\n'
    table = "[hardware]\n" if extend == "default" else 'profile = "mine"\n' + base + "[profiles.mine.hardware]\n"
    (tmp_path / "grpo-lint.toml").write_text(table + hardware, encoding="utf-8")
    for format in choose.FORMATS:
        for topic in TOPICS:
            if (topic, format) not in (CANNOT if extend == "default" else CANNOT_STRICTLY):
                words = [topic] * bool(topic)
                text, _ = printed(capsys, *words, "--format", format, "--target", "verl=0.9.1")
                if format == "verl":
                    assert f"trainer.n_gpus_per_node={machine['gpus']}\n" in text
                    assert f"data.train_batch_size={32 * machine['gpus'] * machine['nodes']}\n" in text


# -- what it says is what the linter reads


@pytest.mark.parametrize(
    ("machine", "format"),
    [
        (machine, format)
        for machine in ("one", "node")
        for format in choose.FORMATS
        if format != "unified" and (machine, format) != ("one", "vllm")
    ],
)
def test_each_field_is_read_as_it_was_meant(machine: str, format: str) -> None:
    seen = set()
    for topic in TOPICS:
        if (topic, format) in (CANNOT_STRICTLY if machine == "one" else CANNOT):
            continue
        case = choose.Case(format, topic, strict=machine == "one", **MACHINES[machine], releases={"verl": "0.9.1"})
        chosen = choose.lines(KNOWN, case)
        text = write.text(KNOWN["formats"][format], case, chosen, ["x"])
        name = KNOWN["formats"][format]["file"]
        linter = Linter(Settings({"verl": "0.9.1"}), {name: text.encode()})
        (run,) = (run for file in linter.read([name]) for run in file.reading.runs)
        for line in chosen:
            if line.field:
                seen.add(line.field)
                assert getattr(run, line.field).value == line.meant, (topic, line)
    assert seen


def test_numbers_are_numbers_to_every_reader_of_yaml() -> None:
    """PyYAML reads 1e-06 as a text."""
    for format in ("trl", "verl-yaml"):
        case = choose.Case(format, "lora", releases={"verl": "0.9.1"})
        chosen = choose.lines(KNOWN, case)
        document = yaml.safe_load(write.text(KNOWN["formats"][format], case, chosen, ["x"]))
        for line in chosen:
            node = document
            for key in line.key.split("."):
                node = node[key]
            assert node == line.value
            assert type(node) is type(line.value)


@pytest.mark.parametrize("format", ["verl", "megatron", "vllm", "sglang"])
def test_comments_take_no_part_in_a_script(format: str) -> None:
    case = choose.Case(format, "moe-nan")
    text = write.text(KNOWN["formats"][format], case, choose.lines(KNOWN, case), ["it's a head"])
    array = text[text.index("=(") + 2 : text.index("\n)\n")]
    words = shlex.split(array, comments=True)
    assert words
    assert all("=" in word for word in words) if format == "verl" else any(word[:2] == "--" for word in words)
    assert max(len(line) for line in text.splitlines()) <= write.WIDTH + 4


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
@pytest.mark.parametrize("format", ["verl", "megatron", "vllm", "sglang"])
def test_bash_passes_every_setting(format: str, tmp_path: Path) -> None:
    """The script is run with programs in the place of the frameworks' that print their arguments."""
    case = choose.Case(format, "moe-nan", releases={"verl": "0.9.1"})
    chosen = choose.lines(KNOWN, case)
    script = tmp_path / "run.sh"
    script.write_text(write.text(KNOWN["formats"][format], case, chosen, ["x"]), encoding="utf-8")
    for name in ("python3", "torchrun", "vllm"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n", encoding="utf-8")
        program.chmod(0o755)
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    command = ["bash", str(script), "of the caller"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "PATH": path})
    assert ran.stderr == ""
    passed = ran.stdout.splitlines()
    assert passed[-1] == "of the caller"
    for line in chosen:
        key = str(line.value) if line.key == "--model" else line.key
        assert any(word.lstrip("+").partition("=")[0] == key for word in passed), line


def test_what_a_shell_would_expand_is_quoted() -> None:
    assert write.quoted("a=[q,k]") == "'a=[q,k]'"
    assert write.quoted("it's") == "'it'\\''s'"
    assert write.quoted("a.b=1e-06") == "a.b=1e-06"


# -- what can't be written


@pytest.mark.parametrize(("topic", "format"), sorted(CANNOT))
def test_what_a_format_cannot_say(topic: str, format: str, capsys: Capture) -> None:
    assert main(["recommend", topic, "--format", format]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    message = captured.err.rstrip("\n")
    assert "\n" not in message
    able = message.rpartition("formats that can: ")[2].split(", ")
    assert set(able) == {name for name in choose.FORMATS if (topic, name) not in CANNOT}


@pytest.mark.parametrize(("topic", "format"), sorted(CANNOT_STRICTLY - CANNOT))
def test_what_a_strict_profile_rules_out(topic: str, format: str, capsys: Capture) -> None:
    assert main(["recommend", *([topic] if topic else []), "--format", format, "--profile", "rtx4090"]) == 2
    message = capsys.readouterr().err
    assert "DO15" in message
    assert message.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("lora", "--format", "verl", "--profile", "rtx4090", "--target", "verl=0.9.0"), "DO15: rollout.name=sglang"),
        (("lora", "--format", "verl", "--target", "verl=0.3.0"), "from 0.4.0 on"),
        (("muon", "--format", "megatron", "--target", "megatron-core=0.15.0"), "from core 0.16.0 on"),
        (("muon", "--profile", "nobody"), "nobody"),
        (("fsdp", "--target", "nothing=1"), "no framework is called 'nothing'"),
    ],
)
def test_what_can_not_be_done_is_said_in_a_line(words: tuple[str, ...], part: str, capsys: Capture) -> None:
    assert main(["recommend", *words]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert part in captured.err
    assert captured.err.count("\n") == 1


def test_nothing_leaves_that_has_a_finding(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """A fault in the data is found before it is written: here a group of one."""
    data = json.loads(Path(choose.DATA).read_text(encoding="utf-8"))
    for entry in data["settings"]:
        if entry.get("field") == "group_size":
            entry["value"] = 1
    monkeypatch.setattr(recommend, "load", lambda: data)
    assert main(["recommend", "fsdp", "--format", "verl"]) == 2
    assert "NOT07" in capsys.readouterr().err
    assert main(["recommend", "--profile", "rtx4090"]) == 2
    assert "NOT07" in capsys.readouterr().err


# -- the data


@pytest.mark.parametrize("entry", SETTINGS, ids=lambda entry: entry.get("field") or "-".join(entry["keys"]))
def test_each_setting_has_its_reason_rules_and_source(entry: dict[str, Any]) -> None:
    assert set(entry) <= {"topics", "formats", "when", "field", "value", "keys", "reason", "rules", "source"}
    assert entry["reason"]
    assert entry["source"]
    assert entry["reason"][0].islower() or re.match(r"[A-Z0-9]", entry["reason"])
    assert not entry["reason"].endswith(".")
    assert set(entry["rules"]) <= IDS
    assert set(entry.get("formats", choose.FORMATS)) <= set(choose.FORMATS)
    wholes = {topic for form in KNOWN["formats"].values() for topic in form["whole"]}
    assert set(entry.get("topics", ())) <= {*choose.TOPICS, *wholes}
    assert "field" in entry or "keys" in entry
    if "field" in entry:
        assert entry["field"] in FIELDS
        assert "value" in entry


def test_each_setting_is_recommended_somewhere() -> None:
    """An entry that no case reaches would be dead."""
    reached = set()
    for strict in (False, True):
        for machine in MACHINES.values():
            for fsdp in ("fsdp1", "fsdp2"):
                for releases in ({}, {"deepspeed": "0.19.8"}, {"sglang": "0.5.10", "trl": "0.24.0"}):
                    for format in choose.FORMATS:
                        for topic in TOPICS:
                            case = choose.Case(format, topic, strict=strict, fsdp=fsdp, releases=releases, **machine)
                            try:
                                chosen = choose.lines(KNOWN, case)
                            except choose.Inexpressible:
                                continue
                            reached |= {(line.reason, line.source, line.field) for line in chosen}
    assert [e for e in SETTINGS if (e["reason"], e["source"], e.get("field", "")) not in reached] == []


def option_keys() -> list[tuple[str, str]]:
    """(framework, key) of everything that the data spells."""
    keys = {(framework, name) for framework, fields in KNOWN["spellings"].items() for name in fields.values()}
    for entry in SETTINGS:
        for framework, spelled in entry.get("keys", {}).items():
            if framework != choose.SCRIPT:
                keys |= {(framework, key) for key in spelled if not key.startswith(choose.SHELL)}
    return sorted(keys)


@pytest.mark.parametrize(("framework", "key"), option_keys())
def test_each_key_is_an_option_of_its_framework(framework: str, key: str) -> None:
    if framework == "verl":
        trees = [tables.verl_tree(choose.newest("verl"), engine) for engine in ("dp", "megatron")]
        assert any(tree.has(key) for tree in trees) or ".override_" in key
        return
    section, _, rest = key.partition(".")
    if framework == "trl" and section == "deepspeed":
        framework, key = "deepspeed", rest
    elif framework == "trl":
        assert f"--{section}" in {**tables.table("trl").options, **tables.table("transformers").options}
        return
    names = tables.table(framework).options
    assert key in names or key.startswith("optimizer.params."), key


def test_rules_that_a_strict_config_keeps_are_those_of_the_profile() -> None:
    """Each avoidance rule that a config can keep or break is served by a setting of the whole unified config."""
    case = choose.Case("unified", "", strict=True, **MACHINES["one"])
    served = {rule for line in choose.lines(KNOWN, case) for rule in line.rules}
    rest = {rule for rule in IDS if re.match(r"(DO|NOT)\d", rule)} - served
    assert rest == {"DO16", "DO18", "NOT12"} - served


# -- reasons, help, documents


def test_reasons_are_told_with_sources(capsys: Capture) -> None:
    text, _ = printed(capsys, "zero", "--format", "deepspeed", "--reasons", "--profile", "rtx4090")
    assert text.startswith("zero_optimization.stage = 2\n    one rank has nothing to partition")
    assert "(DO01, NOT01)" in text
    assert text.count("    source: ") >= 5
    assert text.endswith(f"Read on {KNOWN['read']}.\n")
    assert max(map(len, text.splitlines())) <= 80


def test_the_document_shows_what_is_written(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    document = DOCS.read_text(encoding="utf-8")
    shown = re.findall(r"`grpo-lint recommend ([^`]*)` writes:\n\n```\w+\n(.*?)```", document, re.S)
    assert len(shown) == 2
    for command, text in shown:
        assert printed(capsys, *shlex.split(command))[0] == text
    for format in choose.FORMATS:
        assert f"`{format}`" in document
    for topic in TOPICS[1:]:
        row = re.search(rf"^\| `{topic}` \|(.*)\|$", document, re.M)
        assert row is not None
        cells = dict(zip(choose.FORMATS, (cell.strip() for cell in row[1].split("|")), strict=True))
        for format, cell in cells.items():
            said = "" if (topic, format) in CANNOT else "not strict" if (topic, format) in CANNOT_STRICTLY else "yes"
            assert cell == said, (topic, format)
