from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from report_samples import SCRIPT, TREE, at, evil, finding, output, report, several

from grpo_lint.diagnostics import Notice
from grpo_lint.report import Suppressed
from grpo_lint.source import SourceFile


def checked(text: str) -> list[dict[str, Any]]:
    """The issues, after a look at what GitLab requires of each."""
    assert text.isascii()
    issues: list[dict[str, Any]] = json.loads(text)
    for issue in issues:
        assert set(issue) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert issue["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert set(issue["location"]) == {"path", "lines"}
        assert 1 <= issue["location"]["lines"]["begin"] <= issue["location"]["lines"]["end"]
        assert issue["location"]["path"]
        for value in (issue["description"], issue["check_name"], issue["fingerprint"], issue["location"]["path"]):
            value.encode("utf-8")
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    return issues


def issue(description: str, check: str, fingerprint: str, severity: str, path: str, line: int) -> dict[str, Any]:
    return {
        "description": description,
        "check_name": check,
        "fingerprint": fingerprint,
        "severity": severity,
        "location": {"path": path, "lines": {"begin": line, "end": line}},
    }


def test_everything_a_report_has() -> None:
    assert checked(output("gitlab", several())) == [
        issue(
            "NOT07: actor_rollout_ref.rollout.n is 1: with adv_estimator=grpo each advantage is 0 and nothing is learnt"
            " (when DEVICE=npu and MODE=fast); help: set actor_rollout_ref.rollout.n to 5 or more, or use an estimator"
            " that has a critic, such as gae",
            "NOT07",
            "4b63f2892bb22e2e54a70041b6717dac",
            "critical",
            "scripts/run.sh",
            5,
        ),
        issue("DO03: kl_coef is used twice", "DO03", "ebb93a116b73109cb4d5a2fc2f17b648", "minor", "conf/ppo.yaml", 2),
        issue(
            "binary file (it contains NUL bytes)",
            "notice",
            "5eafa7af4635f40af060cbc0642f7849",
            "info",
            "data/model.bin",
            1,
        ),
    ]


def test_nothing_found() -> None:
    assert output("gitlab", report()) == "[]\n"


def test_a_warning_is_major_and_a_block_has_its_last_line() -> None:
    block = finding(at(TREE, "data:\n  train_files: a\n"), severity="warning")
    (found,) = checked(output("gitlab", report(block)))
    assert found["severity"] == "major"
    assert found["location"]["lines"] == {"begin": 1, "end": 2}


def test_fingerprints_survive_moves_of_lines_and_suppressions() -> None:
    moved = SourceFile(TREE.path, "# new\n" + TREE.text)
    before = [finding(at(TREE, text), key="n") for text in ("data", "n: 1")]
    after = [finding(at(moved, text), key="n") for text in ("data", "n: 1")]
    all_found = [found["fingerprint"] for found in checked(output("gitlab", report(*before)))]
    assert [found["fingerprint"] for found in checked(output("gitlab", report(*after)))] == all_found
    hidden = report(before[1], suppressed=(Suppressed(before[0], "comment"),))
    assert [found["fingerprint"] for found in checked(output("gitlab", hidden))] == all_found[1:]


def test_the_same_notice_twice_is_told_once() -> None:
    notices = (Notice("a.sh", "bad"), Notice("a.sh", "bad"), Notice("a.sh", "worse"), Notice("", "nowhere"))
    found = checked(output("gitlab", report(finding(at(SCRIPT, "set")), notices=notices)))
    assert [one["description"] for one in found] == ["NOT07: it breaks", "bad", "worse"]


def test_evil_text_is_harmless() -> None:
    text = output("gitlab", evil())
    found, notice = checked(text)
    assert "\x1b" not in text
    assert found["location"]["path"] == "a\n::error::\x1b[31m%0A,b:c\\udcff\u202e[x](1).sh"
    assert found["description"] == (
        "NOT07: x is \\x1b[2J\\r\\n::warning::no % at all, a [link](https://example.org) \\x80 (when A=\\x1b\\nB);"
        " help: remove \\x1b[2J"
    )
    assert notice["description"] == "broken\\r\\n\\x1b[31m"


@given(st.text(st.characters(), min_size=1))
def test_any_text_is_well_formed(text: str) -> None:
    file = SourceFile(text, text)
    found = finding(file.span(0, len(text)), text, text, help=text, key=text)
    assert len(checked(output("gitlab", report(found, notices=(Notice(text, text),))))) == 2
