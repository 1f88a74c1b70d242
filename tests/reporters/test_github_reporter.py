from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from report_samples import TREE, at, evil, finding, output, report, several

from grpo_lint.diagnostics import Diagnostic, Label, Notice
from grpo_lint.reporters.characters import visible
from grpo_lint.source import SourceFile


def parse(line: str) -> tuple[str, dict[str, str], str] | None:
    """A line as the runner reads it (`ActionCommand.TryParseV2`): (command, properties, message), or None for text."""
    line = line.lstrip()
    if not line.startswith("::") or (end := line.find("::", 2)) < 0:
        return None
    name, _, listed = line[2:end].partition(" ")
    properties = dict(item.split("=", 1) for item in listed.split(",") if item)
    escapes = {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ","}
    return name, {key: _decode(value, escapes) for key, value in properties.items()}, _decode(line[end + 2 :], escapes)


def _decode(text: str, escapes: dict[str, str]) -> str:
    for escape, character in escapes.items():
        text = text.replace(escape, character)
    return text.replace("%25", "%")


def parsed(text: str) -> list[tuple[str, dict[str, str], str] | None]:
    return [parse(line) for line in text.splitlines()]


def test_everything_a_finding_has() -> None:
    assert output("github", several()) == (
        "::error file=scripts/run.sh,line=5,endLine=5,col=2,endColumn=31,title=NOT07 group-size-1::"
        "actor_rollout_ref.rollout.n is 1: with adv_estimator=grpo each advantage is 0 and nothing is learnt"
        "%0Awhen: DEVICE=npu and MODE=fast"
        "%0Ahelp: set actor_rollout_ref.rollout.n to 5 or more, or use an estimator that has a critic, such as gae"
        "%0Ascripts/run.sh:4:5: compares the responses of a group"
        "%0Aconf/ppo.yaml:6:5: overridden\n"
        "::notice file=conf/ppo.yaml,line=2,endLine=2,col=3,endColumn=17,title=DO03 kl-twice::kl_coef is used twice\n"
        "::notice file=data/model.bin::binary file (it contains NUL bytes)\n"
    )


def test_nothing_found() -> None:
    assert output("github", report()) == ""


def test_columns_are_left_out_of_a_region_of_several_lines() -> None:
    file = SourceFile("a.yaml", "a:\n  b: 1\n")
    text = output("github", report(finding(file.span(0, len(file.text)))))
    assert text == "::error file=a.yaml,line=1,endLine=2,title=NOT07 group-size-1::it breaks\n"


def test_unknown_rules_and_empty_files() -> None:
    file = SourceFile("a.yaml", "")
    text = output("github", report(Diagnostic("SRC01", "warning", "50% of it is missing", Label(file.span(0, 0), ""))))
    assert text == ("::warning file=a.yaml,line=1,endLine=1,col=1,endColumn=1,title=SRC01::50%25 of it is missing\n")


def test_evil_text_stays_in_its_place() -> None:
    first, second, third = parsed(output("github", evil()))
    path = "a\\n::error::\\x1b[31m%0A,b:c\\xff\\u202e[x](1).sh"
    text = (
        "x is \\x1b[2J\\r\\n::warning::no % at all, a [link](https://example.org) \\x80\n"
        "when: A=\\x1b\\nB\n"
        "help: remove\n\\x1b[2J\n"
        f"{path}:1:3: \\x1b]0;title\\x07 [y](2)"
    )
    numbers = {"line": "1", "endLine": "1", "col": "3", "endColumn": "11"}
    assert first == ("error", {"file": path, **numbers, "title": "NOT07 group-size-1"}, text)
    assert second == ("notice", {"file": "b\\n.bin"}, "broken\\r\\n\\x1b[31m")
    assert third == ("notice", {}, "bound reached")


def numbered(severity: str, number: int) -> list[Diagnostic]:
    return [finding(at(TREE, "n: 1"), f"{severity} {index}", severity=severity) for index in range(number)]


@pytest.mark.parametrize(
    ("errors", "warnings", "notes", "notices"),
    [(10, 10, 9, 0), (11, 0, 0, 0), (3, 12, 10, 2), (0, 0, 40, 40), (0, 0, 4, 7), (25, 25, 0, 0), (1, 0, 0, 9)],
)
def test_the_worst_come_first_and_what_is_left_is_counted(errors: int, warnings: int, notes: int, notices: int) -> None:
    mixed = [*numbered("note", notes), *numbered("warning", warnings), *numbered("error", errors)]
    lines = output("github", report(*mixed, notices=[Notice(f"f{index}", "bad") for index in range(notices)]))
    commands = [command for command in parsed(lines) if command]
    for name in ("error", "warning", "notice"):
        assert sum(command[0] == name for command in commands) <= 10
    order = [command[0] for command in commands]
    assert order == sorted(order, key=["error", "warning", "notice"].index)
    total = errors + warnings + notes + notices
    plain = len(lines.splitlines()) - len(commands)
    assert order.count("error") == min(errors, 10)
    assert order.count("warning") == min(warnings, 10)
    if plain:
        assert commands[-1][2] == f"{plain} more, which GitHub has no room for as annotations: see the log of this step"
        assert len(commands) - 1 + plain == total
    else:
        assert len(commands) == total


def test_findings_without_room_are_plain_lines() -> None:
    lines = output("github", report(*numbered("error", 12))).splitlines()
    assert lines[9:] == [
        "::error file=conf/ppo.yaml,line=6,endLine=6,col=5,endColumn=9,title=NOT07 group-size-1::error 9",
        "conf/ppo.yaml:6:5: NOT07 error: error 10",
        "conf/ppo.yaml:6:5: NOT07 error: error 11",
        "::notice::2 more, which GitHub has no room for as annotations: see the log of this step",
    ]


@given(st.text(min_size=1), st.text(), st.text())
def test_whatever_the_text_each_finding_is_one_command(path: str, message: str, help: str) -> None:
    file = SourceFile(path, "x")
    (command,) = parsed(output("github", report(finding(file.span(0, 1), message, help=help))))
    assert command is not None
    name, properties, text = command
    assert (name, properties["file"], set(properties)) == (
        "error",
        visible(path),
        {"file", "line", "endLine", "col", "endColumn", "title"},
    )
    assert text.split("\n")[0] == visible(message)
