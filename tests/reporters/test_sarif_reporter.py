from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import jsonschema
import pytest
import sarif_om
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from report_samples import SCRIPT, TREE, at, evil, finding, output, report, several

from grpo_lint import __version__
from grpo_lint.diagnostics import Diagnostic, Fix, Label, Notice
from grpo_lint.report import Report
from grpo_lint.reporters import sarif
from grpo_lint.source import SourceFile

SCHEMA = Path(__file__).parent / "schemas" / "sarif-schema-2.1.0.json"
"""As OASIS publishes it with the specification (errata 01)."""
LINK = re.compile(r"(?<!\\)\[((?:\\.|[^\\\[\]])*)\]\(([^)]*)\)")


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft4Validator:
    schema = json.loads(SCHEMA.read_text("utf-8"))
    return jsonschema.Draft4Validator(schema, format_checker=jsonschema.FormatChecker())


def document(given: Report) -> dict[str, Any]:
    text = output("sarif", given)
    assert text.isascii()
    assert text.count("\n") == 1
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def ingest_faults(log: dict[str, Any]) -> list[str]:
    """What GitHub code scanning would refuse, drop or misread, from its page "SARIF support for code scanning"."""
    faults = [f"no {name}" for name in ("$schema", "version") if not log.get(name)]
    if len(log["runs"]) != 1:
        return [*faults, "more than one run"]
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    faults += [f"driver has no {name}" for name in ("name", "semanticVersion", "rules") if name not in driver]
    faults += [f"no {name}" for name in ("results", "columnKind") if name not in run]
    if not run["automationDetails"]["id"].endswith("/"):
        faults.append("no category")
    for rule in driver["rules"]:
        faults += rule_faults(rule)
    for result in run["results"]:
        faults += result_faults(result, driver["rules"])
    return faults + [f"empty text in {path}" for path, text in strings(log) if not text]


def rule_faults(rule: dict[str, Any]) -> list[str]:
    faults = [
        f"{rule['id']} has no {name}"
        for name in ("shortDescription", "fullDescription", "help")
        if not rule.get(name, {}).get("text")
    ]
    for name in ("shortDescription", "fullDescription"):
        if len(rule[name]["text"]) > 1024:
            faults.append(f"{name} is too long")
    properties = rule["properties"]
    if len(properties["tags"]) > 10 or len(rule["name"]) > 255:
        faults.append("too much")
    if properties["precision"] not in ("very-high", "high", "medium", "low"):
        faults.append("unknown precision")
    if properties["problem.severity"] not in ("error", "warning", "recommendation"):
        faults.append("unknown problem.severity")
    if rule["defaultConfiguration"]["level"] not in ("error", "warning", "note"):
        faults.append("unknown level")
    return faults


def result_faults(result: dict[str, Any], rules: list[dict[str, Any]]) -> list[str]:
    faults = []
    if result["level"] not in ("error", "warning", "note"):
        faults.append("unknown level")
    if "ruleIndex" in result and rules[result["ruleIndex"]]["id"] != result["ruleId"]:
        faults.append("ruleIndex is another rule's")
    if not re.fullmatch("[0-9a-f]{1,16}:[1-9][0-9]*", result["partialFingerprints"]["primaryLocationLineHash"]):
        faults.append("not a fingerprint")
    if len(result["locations"]) != 1:
        faults.append("not one location")
    related = result.get("relatedLocations", [])
    linked = [target for _, target in LINK.findall(result["message"]["text"])]
    if linked != [str(place["id"]) for place in related]:
        faults.append(f"links {linked}")
    for place in [*result["locations"], *related]:
        faults += place_faults(place["physicalLocation"])
    return faults


def place_faults(place: dict[str, Any]) -> list[str]:
    faults = []
    uri = place["artifactLocation"]["uri"]
    if not re.fullmatch(r"(?:[A-Za-z0-9._~!$&'()*+,;=@/:-]|%[0-9A-F]{2})+", uri):
        faults.append(f"not a URI: {uri}")
    if urlsplit(uri).scheme not in ("", "file") or uri.startswith(("./", "../")) or "\\" in uri:
        faults.append(f"not relative to the repository: {uri}")
    numbers = place["region"]
    start = (numbers["startLine"], numbers["startColumn"])
    end = (numbers["endLine"], numbers["endColumn"])
    if min(*start, *end) < 1 or end < start:
        faults.append(f"region {start} to {end}")
    return faults


def strings(node: Any, path: str = "") -> list[tuple[str, str]]:
    if isinstance(node, dict):
        return [found for name, child in node.items() for found in strings(child, f"{path}/{name}")]
    if isinstance(node, list):
        return [found for index, child in enumerate(node) for found in strings(child, f"{path}/{index}")]
    return [(path, node)] if isinstance(node, str) else []


RULES = [
    {
        "id": "DO03",
        "name": "kl-twice",
        "shortDescription": {"text": "The KL term is in the reward and in the loss."},
        "fullDescription": {"text": "The KL term is in the reward and in the loss."},
        "help": {
            "text": "The KL term is in the reward and in the loss.",
            "markdown": "The KL term is in the reward and in the loss.",
        },
        "defaultConfiguration": {"level": "note"},
        "properties": {
            "precision": "high",
            "problem.severity": "recommendation",
            "tags": [f"topic-{index}" for index in range(10)],
        },
    },
    {
        "id": "NOT07",
        "name": "group-size-1",
        "shortDescription": {"text": "A group of one response has nothing to be compared with."},
        "fullDescription": {
            "text": "A group of one response has nothing to be compared with. Looks for group-relative estimators with"
            " one response a prompt."
        },
        "help": {
            "text": "A group of one response has nothing to be compared with.\n\n## What it does\nLooks for"
            " group-relative estimators\nwith one response a prompt.\n\n## Example\n\n```bash\n"
            "actor_rollout_ref.rollout.n=1\n```",
            "markdown": "A group of one response has nothing to be compared with.\n\n## What it does\nLooks for"
            " group-relative estimators\nwith one response a prompt.\n\n## Example\n\n```bash\n"
            "actor_rollout_ref.rollout.n=1\n```",
        },
        "defaultConfiguration": {"level": "error"},
        "properties": {"precision": "very-high", "problem.severity": "error", "tags": ["grpo", "singleton"]},
    },
    {
        "id": "SEC01",
        "name": "open-server",
        "shortDescription": {"text": "The server listens to everyone."},
        "fullDescription": {"text": "The server listens to everyone."},
        "help": {"text": "The server listens to everyone.", "markdown": "The server listens to everyone."},
        "defaultConfiguration": {"level": "warning"},
        "properties": {
            "precision": "medium",
            "problem.severity": "warning",
            "security-severity": "5.5",
            "tags": ["security", "server"],
        },
    },
]


def log(results: list[object], *notifications: object, successful: bool = True) -> dict[str, object]:
    return {
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "grpo-lint",
                        "version": __version__,
                        "semanticVersion": __version__,
                        "rules": RULES,
                    }
                },
                "automationDetails": {"id": "grpo-lint/"},
                "columnKind": "unicodeCodePoints",
                "newlineSequences": ["\r\n", "\n"],
                "invocations": [{"executionSuccessful": successful, "toolExecutionNotifications": list(notifications)}],
                "results": results,
            }
        ],
    }


def physical(uri: str, line: int, column: int, end_line: int, end_column: int) -> dict[str, object]:
    return {"artifactLocation": {"uri": uri}, "region": region(line, column, end_line, end_column)}


def region(line: int, column: int, end_line: int, end_column: int) -> dict[str, int]:
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}


def test_nothing_found(validator: jsonschema.Draft4Validator) -> None:
    found = document(report())
    assert found == log([])
    assert list(found)[:2] == ["$schema", "version"], "readers decide by them"
    assert ingest_faults(found) == []
    validator.validate(found)


def test_everything_a_report_has(validator: jsonschema.Draft4Validator) -> None:
    found = document(several())
    first = {
        "ruleId": "NOT07",
        "ruleIndex": 1,
        "level": "error",
        "message": {
            "text": "actor_rollout_ref.rollout.n is 1: with adv_estimator=grpo each advantage is 0 and nothing is"
            " learnt.\nWhen DEVICE=npu and MODE=fast.\nHelp: set actor_rollout_ref.rollout.n to 5 or more, or use an"
            " estimator that has a critic, such as gae.\nSee: compares the responses of a group [scripts/run.sh:4](1);"
            " overridden [conf/ppo.yaml:6](2)."
        },
        "locations": [
            {"message": {"text": "one response a prompt"}, "physicalLocation": physical("scripts/run.sh", 5, 2, 5, 31)}
        ],
        "relatedLocations": [
            {
                "id": 1,
                "message": {"text": "compares the responses of a group"},
                "physicalLocation": physical("scripts/run.sh", 4, 5, 4, 33),
            },
            {
                "id": 2,
                "message": {"text": "overridden"},
                "physicalLocation": physical("conf/ppo.yaml", 6, 5, 6, 9),
            },
        ],
        "fixes": [
            {
                "description": {"text": "set rollout.n to 5"},
                "artifactChanges": [
                    {
                        "artifactLocation": {"uri": "scripts/run.sh"},
                        "replacements": [{"deletedRegion": region(5, 28, 5, 31), "insertedContent": {"text": "n=5"}}],
                    },
                    {
                        "artifactLocation": {"uri": "conf/ppo.yaml"},
                        "replacements": [{"deletedRegion": region(6, 5, 6, 9)}],
                    },
                ],
            }
        ],
        "partialFingerprints": {
            "grpoLint/v1": "4b63f2892bb22e2e54a70041b6717dac",
            "primaryLocationLineHash": "b0ca960dd354595d:1",
        },
        "properties": {"key": "actor_rollout_ref.rollout.n", "when": ["DEVICE=npu", "MODE=fast"]},
    }
    second = {
        "ruleId": "DO03",
        "ruleIndex": 0,
        "level": "note",
        "message": {"text": "kl_coef is used twice."},
        "locations": [{"physicalLocation": physical("conf/ppo.yaml", 2, 3, 2, 17)}],
        "partialFingerprints": {
            "grpoLint/v1": "ebb93a116b73109cb4d5a2fc2f17b648",
            "primaryLocationLineHash": "b60a92c4fee5aaa3:1",
        },
        "properties": {"key": "kl_coef"},
    }
    notification = {
        "level": "error",
        "message": {"text": "binary file (it contains NUL bytes)."},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": "data/model.bin"}}}],
    }
    assert found == log([first, second], notification, successful=False)
    assert ingest_faults(found) == []
    validator.validate(found)


def test_evil_text(validator: jsonschema.Draft4Validator) -> None:
    found = document(evil())
    validator.validate(found)
    assert ingest_faults(found) == []
    (result,) = found["runs"][0]["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "a%0A%3A%3Aerror%3A%3A%1B%5B31m%250A%2Cb%3Ac%FF%E2%80%AE%5Bx%5D%281%29.sh"
    assert "a [link\\](https://example.org) \\udc80" in result["message"]["text"]
    assert LINK.findall(result["message"]["text"]) == [
        ("a\n::error::\x1b\\[31m%0A,b:c\\\\udcff\u202e\\[x\\](1).sh:1", "1")
    ]


@pytest.mark.parametrize("severity", ["error", "warning", "note"])
def test_a_level_is_written_whatever_the_default(severity: str) -> None:
    """The usual serializer leaves out `level: warning`, and readers then take the rule's own, here `error`."""
    (result,) = document(report(finding(at(TREE, "n: 1"), severity=severity)))["runs"][0]["results"]
    assert result["level"] == severity


def test_every_property_of_the_objects_can_be_written() -> None:
    values = {"text": "a", "markdown": "b", "id": "c", "arguments": ["d"], "properties": {"tags": [1, None]}}
    assert sarif.plain(sarif_om.Message(**values)) == values
    assert sarif.plain(sarif_om.Region(start_line=1, char_offset=0)) == {"startLine": 1, "charOffset": 0}
    assert sarif.plain([sarif_om.Result(message=sarif_om.Message(text="a"))]) == [
        {"message": {"text": "a"}, "level": "warning"}
    ]


def test_a_finding_of_a_rule_that_is_not_listed() -> None:
    file = SourceFile("a.yaml", "")
    found = document(report(Diagnostic("SRC01", "warning", "broken", Label(file.span(0, 0), ""))))
    (result,) = found["runs"][0]["results"]
    assert (result["ruleId"], "ruleIndex" in result) == ("SRC01", False)
    assert result["locations"] == [{"physicalLocation": physical("a.yaml", 1, 1, 1, 1)}]
    assert result["partialFingerprints"]["primaryLocationLineHash"] == "c129715d7a2bc9a3:1"
    assert ingest_faults(found) == []


def test_regions_count_code_points_and_leave_the_line_end_out() -> None:
    file = SourceFile("a.yaml", "🚀: |\r\n  a\r\n  b\r\nc: 1\r\n")
    fix = Fix("drop it", ((file.span(3, 17), "1\r\n"),), safe=True)
    found = document(report(finding(file.span(3, 16), fix=fix), finding(file.span(16, 20))))
    block, scalar = found["runs"][0]["results"]
    assert block["locations"][0]["physicalLocation"]["region"] == region(1, 4, 3, 4)
    assert scalar["locations"][0]["physicalLocation"]["region"] == region(4, 1, 4, 5)
    assert block["fixes"][0]["artifactChanges"][0]["replacements"] == [
        {"deletedRegion": region(1, 4, 4, 2), "insertedContent": {"text": "1\r\n"}}
    ]


def test_a_fix_without_edits_is_left_out() -> None:
    found = document(report(finding(at(TREE, "n: 1"), fix=Fix("nothing to do", (), safe=True))))
    assert "fixes" not in found["runs"][0]["results"][0]


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("run.sh", "run.sh"),
        ("./scripts/../run.sh", "run.sh"),
        ("my dir/rün #1?.sh", "my%20dir/r%C3%BCn%20%231%3F.sh"),
        ("a:b.sh", "a%3Ab.sh"),
        ("100%.sh", "100%25.sh"),
        ("a\\b.sh", "a%5Cb.sh"),
        ("\udcff.sh", "%FF.sh"),
        ("\ud83d.sh", "%ED%A0%BD.sh"),
        ("..x/run.sh", "..x/run.sh"),
        ("/srv/conf/my ppo.yaml", "file:///srv/conf/my%20ppo.yaml"),
        ("<stdin>", "%3Cstdin%3E"),
    ],
)
def test_paths_as_uris(path: str, uri: str) -> None:
    assert sarif.uri(path) == uri


def test_a_path_out_of_the_working_directory_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    uri = sarif.uri("../conf/ppo.yaml")
    assert urlsplit(uri).scheme == "file"
    assert Path(unquote(urlsplit(uri).path)) == tmp_path.parent / "conf" / "ppo.yaml"


def test_the_worst_results_are_kept_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sarif, "MAX_RESULTS", 3)
    severities = ["note", "warning", "error", "note", "warning", "error"]
    found = document(
        report(*(finding(at(TREE, "n: 1"), f"number {n}", severity=level) for n, level in enumerate(severities)))
    )
    (run,) = found["runs"]
    assert [result["message"]["text"] for result in run["results"]] == ["number 1.", "number 2.", "number 5."]
    every = document(report(*(finding(at(TREE, "n: 1")) for _ in range(3))))["runs"][0]["results"]
    names = [result["partialFingerprints"]["grpoLint/v1"] for result in run["results"]]
    assert names[0] == every[1]["partialFingerprints"]["grpoLint/v1"], "what is left out changes no other's name"
    assert run["invocations"][0]["toolExecutionNotifications"] == [
        {"level": "warning", "message": {"text": "3 findings of the least severity left out: GitHub takes 3."}}
    ]


def test_as_many_related_places_as_github_shows() -> None:
    labels = tuple(Label(at(SCRIPT, "set"), f"number {index}") for index in range(150))
    found = document(report(finding(at(TREE, "n: 1"), related=labels)))
    assert len(found["runs"][0]["results"][0]["relatedLocations"]) == 100
    assert ingest_faults(found) == []


@pytest.mark.parametrize(
    ("page", "description"),
    [
        ("One.", "One."),
        ("One.\n\n## What it does\n\nLooks\nclosely.\n\nMore.", "One. Looks closely."),
        ("One.\n\n## What it does\nLooks.\n\n## Example\n```\nx\n```", "One. Looks."),
        ("One.\n\n```\nx\n```\n\nTwo.", "One. Two."),
        ("# Only a heading", "# Only a heading"),
    ],
)
def test_a_description_is_the_start_of_the_page(page: str, description: str) -> None:
    assert sarif._description(page) == description


def test_long_descriptions_are_cut() -> None:
    text = "word " * 400
    cut = sarif._cut(text)
    assert len(cut) <= 1024
    assert cut.endswith("word...")
    assert sarif._cut("word") == "word"


def test_a_notice_without_a_path() -> None:
    found = document(report(notices=(Notice("", "bound reached"),)))
    assert found == log([], {"level": "warning", "message": {"text": "bound reached."}})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50, deadline=None)
@given(st.text(st.characters(), min_size=1), st.text(st.characters()), st.data())
def test_any_text_is_valid(validator: jsonschema.Draft4Validator, path: str, text: str, data: st.DataObject) -> None:
    file = SourceFile(path.replace("\0", ""), text)
    start = data.draw(st.integers(0, len(text)))
    span = file.span(start, data.draw(st.integers(start, len(text))))
    labels = (Label(span, text), Label(file.span(0, 0), path))
    found = document(
        report(
            finding(span, text, text, related=labels, help=text, key=text, when=(path,)), notices=(Notice(path, text),)
        )
    )
    validator.validate(found)
    faults = [fault for fault in ingest_faults(found) if "not relative" not in fault and "not a finger" not in fault]
    assert faults == []
    json.dumps(found, ensure_ascii=False).encode("utf-8")


def test_five_thousand_results_are_all_written() -> None:
    text = "".join(f"    actor_rollout_ref.rollout.n={index} \\\n" for index in range(60))
    files = [SourceFile(f"scripts/run-{index}.sh", text) for index in range(100)]
    found = report(*(finding(at(file, "n=", index), "it breaks", key="n") for file in files for index in range(50)))
    assert output("sarif", found).count('"ruleId":"NOT07"') == 5000


def test_a_file_that_github_would_refuse_is_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """What can't be packed has to be random; the worst are kept, and what is left out is told."""
    from random import Random

    letters = Random(1)
    texts = ["".join(letters.choices("abcdefghijklmnopqrstuvwxyz0123456789", k=900)) for _ in range(60)]
    found = report(
        *(finding(at(TREE, "n: 1"), text, severity="error" if n > 50 else "note") for n, text in enumerate(texts))
    )
    whole = output("sarif", found)
    monkeypatch.setattr(sarif, "MAX_SIZE", 30_000)
    text = output("sarif", found)
    assert sarif._packed(text) <= 30_000 < sarif._packed(whole)
    (run,) = json.loads(text)["runs"]
    assert 9 <= len(run["results"]) < 60
    assert sum(result["level"] == "error" for result in run["results"]) == 9
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert note["message"]["text"].endswith("of the least severity left out: GitHub takes 30,000 bytes.")
