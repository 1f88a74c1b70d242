"""What holds of every fix: the finding is gone, the rest of the config is the same, and so is every other byte."""

from __future__ import annotations

import os
from io import StringIO

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from grpo_lint.configure import configure
from grpo_lint.edits import MARKS, applied, edited, overlap
from grpo_lint.engine import Linter
from grpo_lint.fixing.mappings import added
from grpo_lint.repair import Repair
from grpo_lint.report import Report
from grpo_lint.settings import Layer, Settings
from grpo_lint.source import SourceFile, decode
from grpo_lint.syntax import json, yaml

TEXT = st.lists(st.sampled_from([*"ab \t\n\"'{}#ü🚀", "\r\n"]), max_size=60).map("".join)
ENCODINGS = st.sampled_from([(b"", "utf-8"), *MARKS])


# -- edits of bytes


@st.composite
def texts_and_edits(draw: st.DrawFn) -> tuple[str, list[tuple[int, int, str]]]:
    text = draw(TEXT)
    edits: list[tuple[int, int, str]] = []
    for _ in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(text)))
        edit = (start, draw(st.integers(start, len(text))), draw(st.text("xyé🚀", max_size=4)))
        if not any(overlap(edit, other) for other in edits):
            edits.append(edit)
    return text, edits


@given(texts_and_edits(), ENCODINGS)
@settings(deadline=None)
def test_only_what_is_replaced_changes(case: tuple[str, list[tuple[int, int, str]]], kind: tuple[bytes, str]) -> None:
    (text, edits), (mark, encoding) = case, kind
    data = mark + text.encode(encoding)
    after = applied(data, edits)
    assert after.startswith(mark)
    at = len(mark)
    low = 0
    for start, end, new in sorted(edits):
        for part in (text[low:start], new):
            assert after[at : at + len(part.encode(encoding))] == part.encode(encoding)
            at += len(part.encode(encoding))
        low = end
    assert after[at:] == text[low:].encode(encoding)
    assert decode(after) == edited(text, edits)


@pytest.mark.parametrize(("text", "expected"), [("a\r\nb\r\n", "a\r\nx\r\nb\r\n"), ("a\nb", "a\nx\nb"), ("", "x\n")])
def test_a_new_line_ends_as_its_neighbours_do(text: str, expected: str) -> None:
    at = text.find("b") if text else 0
    assert edited(text, [(at, at, "x\n")]) == expected


# -- whole files


def base() -> Settings:
    return configure(["."], Layer("test", os.path.realpath("."), {}), None, False)


def options(name: str, text: str) -> list[dict[tuple[str, str], object]]:
    """What each run of a file gets."""
    found = []
    for file in Linter(base(), {name: text.encode()}).read([name]):
        for run in file.reading.runs:
            found.append({(framework, key): setting.value for framework, key, setting in run.options.written()})
    return found


def fix(name: str, text: str, *rules: str) -> tuple[str, Report, Report]:
    """(text after all fixes of some rules, report before, report after)."""

    def look(edited: dict[str, bytes]) -> tuple[Report, set[str]]:
        linter = Linter(chosen, {name: text.encode()}, None, edited)
        return linter.check([name]), linter.seen

    chosen = configure(["."], Layer("test", os.path.realpath("."), {"select": rules}), None, False)
    before, _ = look({})
    repair = Repair(look, [name], {name: text.encode()}, True, None)
    after = repair.run()
    return next(iter(repair.after.values()), text.encode()).decode(), before, after


FAULTS = [
    # (rule, faulty argument, what it becomes)
    ("OPT02", "+actor_rollout_ref.rollout.n=8", "actor_rollout_ref.rollout.n=8"),
    ("OPT01", "trainer.n_gpu_per_node=8", "trainer.n_gpus_per_node=8"),
    ("OPT12", "algorithm.adv_estimator=GRPO", "algorithm.adv_estimator=grpo"),
    ("OPT12", "trainer.val_before_train=Flase", "trainer.val_before_train=False"),
    ("OPT12", "critic.ppo_micro_batch_size_per_gpu=None", "critic.ppo_micro_batch_size_per_gpu=null"),
    ("NOT16", "actor_rollout_ref.actor.optim.clip_grad=0", "actor_rollout_ref.actor.optim.clip_grad=1.0"),
    ("NOT05", "actor_rollout_ref.model.lora_rank=1024", "actor_rollout_ref.model.lora_rank=512"),
]
OTHERS = [
    "data.train_batch_size=256",
    "actor_rollout_ref.rollout.name=vllm",
    "trainer.project_name='größe 🚀'",
    'data.train_files="[a.parquet,b.parquet]"',
    "trainer.experiment_name=${NAME:-x}_1",
    "actor_rollout_ref.actor.optim.lr=1e-6",
]
QUOTES = ["{}", '"{}"', "'{}'"]


@st.composite
def scripts(draw: st.DrawFn) -> tuple[str, str, str, str]:
    """(a rule, a script with its fault, the argument, what it becomes), in one of the ways that people write it."""
    rule, faulty, right = draw(st.sampled_from(FAULTS))
    quote = draw(st.sampled_from(QUOTES))
    others = draw(st.lists(st.sampled_from(OTHERS), unique=True, max_size=4))
    if rule == "NOT05":
        others = [*(one for one in others if ".name=" not in one), "actor_rollout_ref.rollout.name=vllm"]
    at = draw(st.integers(0, len(others)))
    key, _, value = faulty.partition("=")
    way = draw(st.sampled_from(["line", "array", "variable", "default"]))
    head = draw(st.sampled_from(["#!/bin/bash\n", "", "# größe 🚀\nset -x\n\n"]))
    tail = draw(st.sampled_from(["\n", ' "$@"\n', "  # why\n", ""]))
    word, lines = quote.format(faulty), ""
    if way in ("variable", "default") and "trainer.n_gpu" not in faulty and "+" not in faulty:
        lines = f"VALUE={value}\n" if way == "variable" else f"VALUE=${{VALUE:-{value}}}\n"
        word = f"{key}=$VALUE"
    words = [*others[:at], word, *others[at:]]
    if way == "array":
        text = "ARGS=(\n" + "".join(f"    {one}\n" for one in words) + ")\n"
        text += 'python3 -m verl.trainer.main_ppo "${ARGS[@]}"' + tail
    else:
        text = "python3 -m verl.trainer.main_ppo \\\n    " + " \\\n    ".join(words) + tail
    return rule, head + lines + text, faulty, right


@given(scripts())
@settings(max_examples=150, deadline=None)
def test_a_fixed_script_reads_the_same_but_for_the_fault(case: tuple[str, str, str, str]) -> None:
    rule, text, faulty, right = case
    after, before_report, report = fix("run.sh", text, rule)
    assume(before_report.diagnostics)
    assert not report.diagnostics
    old_key = faulty.lstrip("+").partition("=")[0]
    new_key, _, new = right.partition("=")
    (was,), (now,) = options("run.sh", text), options("run.sh", after)
    was.pop(("verl", old_key), None)
    value = now.pop(("verl", new_key))
    assert str(value).lower() in (new.lower(), str(float(new)) if new[:1].isdigit() else "none")
    assert was == now
    start, end = same(text, after), same(text[::-1], after[::-1])
    changed = text[start : len(text) - end]
    assert "\n" not in changed
    assert len(changed) <= len(faulty)


def same(one: str, other: str) -> int:
    """How many characters two texts have in common at their start."""
    return next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(one))


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@given(
    st.dictionaries(st.sampled_from(["train_batch_size", "steps_per_print", "größe"]), st.integers(0, 9), max_size=3),
    st.sampled_from([None, 1, 2, 4]),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_a_key_is_added_to_json_as_the_file_is_written(
    ends: str, more: dict[str, int], indent: int | None, comment: bool, last: bool
) -> None:
    from json import dumps

    config: dict[str, object] = {"zero_optimization": {"stage": 2}, "optimizer": {"type": "AdamW"}}
    config = {**config, **more} if last else {**more, **config}
    text = dumps(config, indent=indent, ensure_ascii=False)
    if comment and indent is not None:
        text = text.replace("\n}", "  // the end\n}")
    text = text.replace("\n", ends) + ends
    after, before_report, report = fix("ds.json", text, "DO02")
    assert [one.rule for one in before_report.diagnostics] == ["DO02"]
    assert not report.diagnostics
    root = json.read(SourceFile("ds.json", after)).root
    assert root is not None
    assert root.plain() == {**config, "gradient_clipping": 1.0}
    assert list(root.plain())[-1] == "gradient_clipping"
    assert inserted_only(text, after)
    if indent is not None:
        assert f'{ends}{" " * indent}"gradient_clipping": 1.0{ends}' in after


def inserted_only(before: str, after: str) -> bool:
    """Whether a text has all characters of another, in order."""
    rest = iter(after)
    return all(character in rest for character in before)


KEYS = st.text("abcdefgh", min_size=1, max_size=4)
SCALARS = st.one_of(st.integers(-9, 9), st.booleans(), st.none(), st.sampled_from(["x", "größe", "a: b", "", "yes"]))
TREES = st.recursive(
    st.dictionaries(KEYS, SCALARS, min_size=1, max_size=3),
    lambda inner: st.dictionaries(
        KEYS, st.one_of(inner, SCALARS, st.lists(SCALARS, max_size=2)), min_size=1, max_size=3
    ),
    max_leaves=8,
)


@given(TREES, st.booleans(), st.sampled_from(["\n", "\r\n"]), st.data())
@example({"a": {"b": 1}, "c": None}, False, "\n", None)
@settings(max_examples=150, deadline=None)
def test_a_key_is_added_to_yaml_anywhere(
    tree: dict[str, object], flow: bool, ends: str, data: st.DataObject | None
) -> None:
    from ruamel.yaml import YAML

    writer = YAML()
    writer.default_flow_style = flow
    out = StringIO()
    writer.dump(tree, out)
    text = "# a comment\n" + out.getvalue() + "# the end\n"
    file = SourceFile("c.yaml", text.replace("\n", ends))
    (document,) = yaml.read(file, "pyyaml")
    assert document.root is not None
    leaves = [(key, leaf) for key, leaf in document.root.leaves() if not leaf.is_mapping and not leaf.is_list]
    assume(leaves)
    key, leaf = leaves[0] if data is None else data.draw(st.sampled_from(leaves))
    section = key.rpartition(".")[0]
    path = f"{section}.new_key" if section else "new_key"
    found = added(leaf.span, key, path, "false", False, "add it", False)
    assert found is not None
    after = edited(file.text, [(span.start, span.end, new) for span, new in found.edits])
    assert inserted_only(file.text, after)
    assert after.count("\r\n") == after.count("\n") * (ends == "\r\n")
    (now,) = yaml.read(SourceFile("c.yaml", after), "pyyaml")
    assert now.root is not None
    wanted = document.root.plain()
    node = wanted
    for name in section.split(".") if section else ():
        node = node[name]
    node["new_key"] = False
    assert now.root.plain() == wanted


def test_a_key_is_added_to_an_empty_section_by_a_round_trip() -> None:
    text = "# top\nzero_optimization:\n  stage: 3   # all of it\n  offload:\n\nlist:\n  - 1\n  - {a: 'b'}\n"
    file = SourceFile("c.yaml", text)
    place = file.span(text.index("3"), text.index("3") + 1)
    key = "zero_optimization.stage"
    found = added(place, key, "zero_optimization.offload.device", '"cpu"', "cpu", "offload", False)
    assert found is not None
    after = edited(text, [(span.start, span.end, new) for span, new in found.edits])
    assert after == text.replace("  offload:\n", "  offload:\n    device: cpu\n")


def test_nothing_is_added_where_a_round_trip_would_change_more() -> None:
    text = "zero_optimization:\n   stage: 3\n   offload:\nlist:\n    -   1\n"
    file = SourceFile("c.yaml", text)
    place = file.span(text.index("3"), text.index("3") + 1)
    found = added(
        place, "zero_optimization.stage", "zero_optimization.offload.device", '"cpu"', "cpu", "offload", False
    )
    assert found is None
