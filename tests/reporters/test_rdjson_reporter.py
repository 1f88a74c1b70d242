from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from report_samples import SCRIPT, TREE, at, evil, finding, output, report, several

from grpo_lint.diagnostics import Fix, Notice
from grpo_lint.report import Suppressed
from grpo_lint.source import SourceFile, Span

FIELDS = {
    "DiagnosticResult": {"diagnostics", "source", "severity"},
    "Diagnostic": {"message", "location", "severity", "source", "code", "suggestions", "original_output"}
    | {"related_locations"},
}
"""As in `reviewdog.proto` of reviewdog/reviewdog at 6c307503194f."""


def checked(text: str) -> list[dict[str, Any]]:
    """The diagnostics, after a look at the names and types of fields: reviewdog drops a field that it doesn't know."""
    assert text.isascii()
    result = json.loads(text)
    assert set(result) <= FIELDS["DiagnosticResult"]
    assert result["source"] == {"name": "grpo-lint"}
    for diagnostic in result["diagnostics"]:
        assert set(diagnostic) <= FIELDS["Diagnostic"]
        assert diagnostic["severity"] in ("ERROR", "WARNING", "INFO")
        assert set(diagnostic["code"]) == {"value"}
        diagnostic["message"].encode("utf-8")
        check_location(diagnostic["location"])
        for related in diagnostic.get("related_locations", []):
            assert set(related) == {"message", "location"}
            check_location(related["location"])
        for suggestion in diagnostic.get("suggestions", []):
            assert set(suggestion) == {"range", "text"}
            check_range(suggestion["range"])
    found: list[dict[str, Any]] = result["diagnostics"]
    return found


def check_location(location: dict[str, Any]) -> None:
    assert {"path"} <= set(location) <= {"path", "range"}
    location["path"].encode("utf-8")
    if "range" in location:
        check_range(location["range"])


def check_range(range: dict[str, dict[str, int]]) -> None:
    start, end = ((range[side]["line"], range[side]["column"]) for side in ("start", "end"))
    assert set(range) == {"start", "end"}
    assert (1, 1) <= start <= end


def region(line: int, column: int, end_line: int, end_column: int) -> dict[str, Any]:
    return {"start": {"line": line, "column": column}, "end": {"line": end_line, "column": end_column}}


def applied(file: SourceFile, suggestion: dict[str, Any]) -> str:
    """A file's text after a suggestion, worked out on bytes as reviewdog does."""
    data = file.text.encode("utf-8")
    lines = data.split(b"\n")
    offsets = [
        sum(len(line) + 1 for line in lines[: place["line"] - 1]) + place["column"] - 1
        for place in (suggestion["range"]["start"], suggestion["range"]["end"])
    ]
    text: str = suggestion["text"]
    return (data[: offsets[0]] + text.encode("utf-8") + data[offsets[1] :]).decode("utf-8")


def test_everything_a_report_has() -> None:
    assert checked(output("rdjson", several())) == [
        {
            "message": "actor_rollout_ref.rollout.n is 1: with adv_estimator=grpo each advantage is 0 and nothing is"
            " learnt\nwhen: DEVICE=npu and MODE=fast\nhelp: set actor_rollout_ref.rollout.n to 5 or more, or use an"
            " estimator that has a critic, such as gae",
            "location": {"path": "scripts/run.sh", "range": region(5, 2, 5, 31)},
            "severity": "ERROR",
            "code": {"value": "NOT07"},
            "related_locations": [
                {
                    "message": "compares the responses of a group",
                    "location": {"path": "scripts/run.sh", "range": region(4, 5, 4, 33)},
                },
                {"message": "overridden", "location": {"path": "conf/ppo.yaml", "range": region(6, 5, 6, 9)}},
            ],
        },
        {
            "message": "kl_coef is used twice",
            "location": {"path": "conf/ppo.yaml", "range": region(2, 3, 2, 17)},
            "severity": "INFO",
            "code": {"value": "DO03"},
        },
        {
            "message": "binary file (it contains NUL bytes)",
            "location": {"path": "data/model.bin"},
            "severity": "ERROR",
            "code": {"value": "notice"},
        },
    ]


def test_nothing_found() -> None:
    text = output("rdjson", report())
    assert text == '{\n  "source": {\n    "name": "grpo-lint"\n  },\n  "diagnostics": []\n}\n'


def suggestions(file: SourceFile, *edits: tuple[Span, str]) -> list[dict[str, Any]]:
    fix = Fix("fix it", edits, safe=True)
    (found,) = checked(output("rdjson", report(finding(file.span(0, 1), fix=fix))))
    return list(found.get("suggestions", []))


def test_a_fix_is_one_suggestion_from_its_first_edit_to_its_last() -> None:
    (suggestion,) = suggestions(SCRIPT, (at(SCRIPT, "n=1"), "n=5"), (at(SCRIPT, "grpo"), "gae"))
    assert suggestion["range"] == region(4, 29, 5, 31)
    assert suggestion["text"] == "gae \\\n\tactor_rollout_ref.rollout.n=5"
    assert applied(SCRIPT, suggestion) == SCRIPT.text.replace("n=1", "n=5").replace("grpo", "gae")


def test_insertions_and_deletions() -> None:
    (inserted,) = suggestions(TREE, (TREE.span(5, 5), " # here"))
    assert inserted == {"range": region(1, 6, 1, 6), "text": " # here"}
    (deleted,) = suggestions(TREE, (at(TREE, "  train_files: a\n"), ""))
    assert deleted == {"range": region(2, 1, 3, 1), "text": ""}


def test_a_fix_of_other_files_or_of_nothing_is_no_suggestion() -> None:
    assert suggestions(SCRIPT, (at(TREE, "n: 1"), "n: 5")) == []
    assert suggestions(SCRIPT, (at(SCRIPT, "n=1"), "n=5"), (at(TREE, "n: 1"), "n: 5")) == []
    assert suggestions(SCRIPT) == []


def test_columns_count_bytes() -> None:
    file = SourceFile("a.yaml", "x: 1\r\né訓🚀: |\r\n  b\r\n")
    (found,) = checked(output("rdjson", report(finding(file.span(file.text.index("🚀"), len(file.text))))))
    assert found["location"]["range"] == region(2, 6, 3, 4)


@given(st.text(st.characters(exclude_categories=["Cs"])), st.data())
def test_suggestions_give_what_the_edits_give(text: str, data: st.DataObject) -> None:
    file = SourceFile("a", text)
    start, middle, other, end = sorted(data.draw(st.lists(st.integers(0, len(text)), min_size=4, max_size=4)))
    (suggestion,) = suggestions(file, (file.span(start, middle), "é"), (file.span(other, end), "\n"))
    assert applied(file, suggestion) == f"{text[:start]}é{text[middle:other]}\n{text[end:]}"


def test_suppressed_findings_and_notices_of_no_file_are_left_out() -> None:
    hidden = Suppressed(finding(at(SCRIPT, "set")), "comment")
    found = checked(output("rdjson", report(suppressed=(hidden,), notices=(Notice("", "a"), Notice("b", "c")))))
    assert [(one["message"], one["severity"]) for one in found] == [("c", "WARNING")]


def test_evil_text_is_harmless() -> None:
    text = output("rdjson", evil())
    found, _ = checked(text)
    assert "\x1b" not in text
    assert found["location"]["path"] == "a\n::error::\x1b[31m%0A,b:c\\udcff\u202e[x](1).sh"
    assert found["message"] == (
        "x is \\x1b[2J\\r\\n::warning::no % at all, a [link](https://example.org) \\x80\nwhen: A=\\x1b\\nB\n"
        "help: remove\n\\x1b[2J"
    )


@given(st.text(st.characters(), min_size=1))
def test_any_text_is_well_formed(text: str) -> None:
    file = SourceFile(text, text)
    span = file.span(0, len(text))
    found = finding(span, text, text, help=text, fix=Fix(text, ((span, text),), safe=False))
    assert len(checked(output("rdjson", report(found, notices=(Notice(text, text),))))) == 2
