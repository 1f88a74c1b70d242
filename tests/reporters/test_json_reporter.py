from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from report_samples import evil, finding, output, report, several

from grpo_lint import __version__
from grpo_lint.source import SourceFile


def test_everything_a_report_has() -> None:
    assert json.loads(output("json", several())) == {
        "schema": 1,
        "tool": {"name": "grpo-lint", "version": __version__},
        "complete": False,
        "counts": {"error": 1, "warning": 0, "note": 1, "files": 14, "runs": 9, "undecided": 2, "suppressed": 0},
        "diagnostics": [
            {
                "rule": "NOT07",
                "name": "group-size-1",
                "severity": "error",
                "message": "actor_rollout_ref.rollout.n is 1: with adv_estimator=grpo each advantage is 0 and nothing"
                " is learnt",
                "help": "set actor_rollout_ref.rollout.n to 5 or more, or use an estimator that has a critic, such as"
                " gae",
                "key": "actor_rollout_ref.rollout.n",
                "when": ["DEVICE=npu", "MODE=fast"],
                "primary": place("scripts/run.sh", 5, 2, 5, 31, text="one response a prompt"),
                "related": [
                    place("scripts/run.sh", 4, 5, 4, 33, text="compares the responses of a group"),
                    place("conf/ppo.yaml", 6, 5, 6, 9, text="overridden"),
                ],
                "fix": {
                    "title": "set rollout.n to 5",
                    "safe": False,
                    "edits": [
                        place("scripts/run.sh", 5, 28, 5, 31, replacement="n=5"),
                        place("conf/ppo.yaml", 6, 5, 6, 9, replacement=""),
                    ],
                },
                "fingerprint": "4b63f2892bb22e2e54a70041b6717dac",
            },
            {
                "rule": "DO03",
                "name": "kl-twice",
                "severity": "note",
                "message": "kl_coef is used twice",
                "help": "",
                "key": "kl_coef",
                "when": [],
                "primary": place("conf/ppo.yaml", 2, 3, 2, 17, text=""),
                "related": [],
                "fix": None,
                "fingerprint": "ebb93a116b73109cb4d5a2fc2f17b648",
            },
        ],
        "suppressed": [],
        "undecided": [
            {"rule": "DO01", "path": "scripts/run.sh", "reason": "$1"},
            {"rule": "DO02", "path": "scripts/run.sh", "reason": "$1"},
        ],
        "notices": [{"path": "data/model.bin", "message": "binary file (it contains NUL bytes)"}],
    }


def place(path: str, line: int, column: int, end_line: int, end_column: int, **more: str) -> dict[str, object]:
    return {
        "path": path,
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
        **more,
    }


def test_nothing_found() -> None:
    assert output("json", report()) == (
        "{\n"
        '  "schema": 1,\n'
        '  "tool": {\n'
        '    "name": "grpo-lint",\n'
        f'    "version": "{__version__}"\n'
        "  },\n"
        '  "complete": true,\n'
        '  "counts": {\n'
        '    "error": 0,\n'
        '    "warning": 0,\n'
        '    "note": 0,\n'
        '    "files": 1,\n'
        '    "runs": 1,\n'
        '    "undecided": 0,\n'
        '    "suppressed": 0\n'
        "  },\n"
        '  "diagnostics": [],\n'
        '  "suppressed": [],\n'
        '  "undecided": [],\n'
        '  "notices": []\n'
        "}\n"
    )


def test_regions_count_code_points_and_leave_the_line_end_out() -> None:
    file = SourceFile("a.yaml", "🚀: |\r\n  a\r\n  b\r\nc: 1\r\n")
    found = json.loads(output("json", report(finding(file.span(3, 16)), finding(file.span(16, 20)))))
    block, scalar = (diagnostic["primary"] for diagnostic in found["diagnostics"])
    assert block == place("a.yaml", 1, 4, 3, 4, text="")
    assert scalar == place("a.yaml", 4, 1, 4, 5, text="")


def test_evil_text_is_kept_but_well_formed() -> None:
    text = output("json", evil())
    assert text.isascii()
    assert "\x1b" not in text
    (diagnostic,) = json.loads(text)["diagnostics"]
    assert diagnostic["primary"]["path"] == "a\n::error::\x1b[31m%0A,b:c\\udcff\u202e[x](1).sh"
    assert diagnostic["message"].endswith("\\udc80")


@given(st.text(st.characters()))
def test_any_text_is_well_formed(text: str) -> None:
    file = SourceFile(text or "a", text)
    document = json.loads(output("json", report(finding(file.span(0, len(text)), text, text, help=text, key=text))))
    (diagnostic,) = document["diagnostics"]
    for value in (diagnostic["message"], diagnostic["help"], diagnostic["key"], diagnostic["primary"]["path"]):
        value.encode("utf-8")
