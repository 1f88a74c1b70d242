"""Settings files, profiles and what the command line says over them, as a user types it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from grpo_lint.cli import main
from grpo_lint.settings import Layer, Settings, merge
from grpo_lint.settings_values import HARDWARE, OPTIONS, PROFILE_OPTIONS

SCRIPT = """#!/bin/bash
python3 -m verl.trainer.main_ppo \\
    algorithm.adv_estimator=grpo \\
    actor_rollout_ref.rollout.n=1
"""
FAULT = "NOT07 error: "

Lint = Callable[..., tuple[int, str, str]]


@pytest.fixture
def lint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Lint:
    """A repository with a launch script that has one fault, and the command: (exit code, output, errors)."""
    (tmp_path / ".git").mkdir()
    put(tmp_path, "scripts/run.sh", SCRIPT)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def put(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def shown(lint: Lint, *arguments: str) -> dict[str, str]:
    """What --show-settings says: {setting: value and origin}."""
    code, out, err = lint("--show-settings", *arguments)
    assert (code, err) == (0, "")
    return dict(line.split(" = ", 1) for line in out.splitlines() if " = " in line)


# -- where settings come from


def test_without_a_file_the_defaults_hold(lint: Lint) -> None:
    settings = shown(lint)
    assert settings["fail-on"] == '"warning"  # default'
    assert settings["profile"] == '"default"  # default'
    assert lint("--output", "concise")[0] == 1


@pytest.mark.parametrize(
    ("name", "head"),
    [("grpo-lint.toml", ""), (".grpo-lint.toml", ""), ("pyproject.toml", "[tool.grpo-lint]\n")],
)
def test_each_kind_of_settings_file_is_found(lint: Lint, tmp_path: Path, name: str, head: str) -> None:
    put(tmp_path, name, head + 'ignore = ["NOT07"]\n')
    code, out, _ = lint("--output", "concise")
    assert (code, out) == (0, "")
    assert shown(lint)["ignore"] == f'["NOT07"]  # {name}'


def test_a_file_of_its_own_wins_over_pyproject(lint: Lint, tmp_path: Path) -> None:
    put(tmp_path, "pyproject.toml", '[tool.grpo-lint]\nfail-on = "note"\n')
    put(tmp_path, "grpo-lint.toml", 'fail-on = "error"\n')
    assert shown(lint)["fail-on"] == '"error"  # grpo-lint.toml'


def test_the_nearest_file_above_all_paths_wins(lint: Lint, tmp_path: Path) -> None:
    put(tmp_path, "grpo-lint.toml", 'fail-on = "note"\n')
    put(tmp_path, "scripts/grpo-lint.toml", 'fail-on = "error"\n')
    put(tmp_path, "other/run.sh", SCRIPT)
    assert shown(lint, "scripts/run.sh")["fail-on"] == '"error"  # scripts/grpo-lint.toml'
    assert shown(lint, "scripts")["fail-on"] == '"error"  # scripts/grpo-lint.toml'
    assert shown(lint, "scripts/run.sh", "other/run.sh")["fail-on"] == '"note"  # grpo-lint.toml'


def test_a_pyproject_without_our_table_is_passed_over(lint: Lint, tmp_path: Path) -> None:
    put(tmp_path, "grpo-lint.toml", 'fail-on = "note"\n')
    put(tmp_path, "scripts/pyproject.toml", '[project]\ndependencies = ["grpo-lint"]\n')
    put(tmp_path, "scripts/sub/pyproject.toml", "this is = no [toml\n")
    put(tmp_path, "scripts/sub/run.sh", SCRIPT)
    assert shown(lint, "scripts/sub")["fail-on"] == '"note"  # grpo-lint.toml'


def test_no_file_above_the_repository_counts(lint: Lint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "grpo-lint.toml", 'fail-on = "note"\n')
    put(tmp_path, "inner/.git/HEAD", "ref: refs/heads/main\n")
    put(tmp_path, "inner/run.sh", SCRIPT)
    assert shown(lint, "inner/run.sh")["fail-on"] == '"warning"  # default'


def test_a_named_file_or_none(lint: Lint, tmp_path: Path) -> None:
    put(tmp_path, "grpo-lint.toml", 'fail-on = "note"\n')
    put(tmp_path, "ci/lint.toml", 'fail-on = "error"\n')
    assert shown(lint, "--settings", "ci/lint.toml")["fail-on"] == '"error"  # ci/lint.toml'
    assert shown(lint, "--no-settings")["fail-on"] == '"warning"  # default'
    assert lint("--no-settings", "--settings", "ci/lint.toml")[0] == 2
    code, _, err = lint("--settings", "ci/none.toml")
    assert (code, err) == (2, "grpo-lint: --settings ci/none.toml: there is no such file\n")
    put(tmp_path, "pyproject.toml", "[project]\n")
    code, _, err = lint("--settings", "pyproject.toml")
    assert (code, err) == (2, "grpo-lint: --settings pyproject.toml: it has no table [tool.grpo-lint]\n")


def test_show_reads_the_settings_too(lint: Lint, tmp_path: Path) -> None:
    put(tmp_path, "grpo-lint.toml", '[targets]\nverl = "0.9.1"\n')

    def version(*arguments: str) -> object:
        run = json.loads(lint("show", "scripts/run.sh", "--format", "json", *arguments)[1])["runs"][0]
        return run["versions"]["verl"]

    assert version() == {"version": "0.9.1", "from": "grpo-lint.toml"}
    assert version("--target", "verl=0.8.0") == {"version": "0.8.0", "from": "the command line"}


# -- layers


def test_the_command_line_wins_over_the_file(lint: Lint, tmp_path: Path) -> None:
    put(tmp_path, "grpo-lint.toml", 'fail-on = "never"\n[levels]\nNOT07 = "note"\n')
    assert lint("--output", "concise")[0] == 0
    code, out, _ = lint("--output", "concise", "--fail-on", "warning", "--level", "NOT07=warning")
    assert code == 1
    assert "NOT07 warning: " in out


def test_a_selection_starts_anew_and_what_is_left_out_adds_up(lint: Lint, tmp_path: Path) -> None:
    put(tmp_path, "grpo-lint.toml", 'ignore = ["NOT07"]\n[levels]\nDO02 = "off"\n')
    assert lint("--output", "concise")[1] == ""
    assert FAULT in lint("--output", "concise", "--select", "group-size-1")[1]
    assert shown(lint, "--ignore", "DO03")["ignore"] == '["NOT07", "DO03"]  # grpo-lint.toml, the command line'


def test_extending_files(lint: Lint, tmp_path: Path) -> None:
    put(tmp_path, "base/all.toml", 'fail-on = "note"\nignore = ["DO03"]\n[levels]\nNOT = "warning"\nNOT07 = "off"\n')
    put(
        tmp_path,
        "pyproject.toml",
        '[tool.grpo-lint]\nextend = "base/all.toml"\n[tool.grpo-lint.levels]\nNOT07="note"\n',
    )
    settings = shown(lint)
    assert settings["fail-on"] == '"note"  # base/all.toml'
    assert settings["ignore"] == '["DO03"]  # base/all.toml'
    assert settings['"NOT"'] == '"warning"  # base/all.toml'
    assert settings['"NOT07"'] == '"note"  # pyproject.toml'


def test_extending_without_end(lint: Lint, tmp_path: Path) -> None:
    put(tmp_path, "grpo-lint.toml", 'extend = "b.toml"\n')
    put(tmp_path, "b.toml", 'extend = "grpo-lint.toml"\n')
    code, _, err = lint()
    assert code == 2
    assert "extend one another without end: grpo-lint.toml -> b.toml -> grpo-lint.toml" in err


def test_the_closest_name_of_a_level_decides() -> None:
    from grpo_lint.selection import level_of, meant

    (rule,) = meant("NOT07")
    settings = merge([Layer("a", "", {"levels": {"NOT07": "note", "NOT": "error", "ALL": "off"}})])
    assert level_of(rule, settings) == "note"
    settings = merge([Layer("a", "", {"levels": {"ALL": "off", "NOT": "error"}})])
    assert level_of(rule, settings) == "error"
    assert level_of(rule, Settings()) == ""


def test_a_level_changes_severity_and_exit_code(lint: Lint, tmp_path: Path) -> None:
    put(tmp_path, "grpo-lint.toml", '[levels]\ngroup-size-1 = "note"\n')
    code, out, _ = lint("--output", "concise")
    assert code == 0
    assert "NOT07 note: " in out
    put(tmp_path, "grpo-lint.toml", '[levels]\nNOT = "off"\n')
    assert "NOT07" not in lint("--output", "concise")[1]


# -- profiles


def test_the_strict_profile_counts_notes(lint: Lint, tmp_path: Path) -> None:
    put(tmp_path, "grpo-lint.toml", 'profile = "strict"\n[levels]\nNOT07 = "note"\n')
    assert lint("--output", "concise")[0] == 1
    assert shown(lint)["fail-on"] == '"note"  # profile strict'
    assert lint("--output", "concise", "--profile", "default")[0] == 0


def test_a_profile_of_your_own(lint: Lint, tmp_path: Path) -> None:
    put(
        tmp_path,
        "grpo-lint.toml",
        'profile = "smoke"\n'
        '[profiles.smoke]\nextend = "strict"\ndescription = "short runs"\nignore = ["NOT07"]\n'
        "[profiles.smoke.hardware]\ngpu-memory = 24\n",
    )
    assert lint("--output", "concise", "--select", "NOT07")[0] == 1
    settings = shown(lint)
    assert settings["ignore"] == '["NOT07"]  # profile smoke'
    assert settings["fail-on"] == '"note"  # profile strict'
    assert settings['"gpu-memory"'] == "24  # profile smoke"


def test_profiles_that_are_not_there_or_extend_themselves(lint: Lint, tmp_path: Path) -> None:
    code, _, err = lint("--profile", "strickt")
    assert (code, err) == (2, "grpo-lint: no profile is called 'strickt'; did you mean strict?\n")
    for name in ("../settings", "strict/../strict", ""):
        assert lint("--profile", name)[0] == 2 if name else True
    put(tmp_path, "grpo-lint.toml", 'profile = "a"\n[profiles.a]\nextend = "b"\n[profiles.b]\nextend = "a"\n')
    code, _, err = lint()
    assert (code, err) == (2, "grpo-lint: profile 'a' extends itself\n")


def test_every_profile_that_comes_with_the_linter_is_valid(lint: Lint) -> None:
    from grpo_lint.settings_file import profile_names

    names = profile_names()
    assert {"default", "strict"} <= set(names)
    for name in names:
        assert lint("--profile", name, "--show-settings")[0] == 0


# -- files


def test_exclude_and_include(lint: Lint, tmp_path: Path) -> None:
    put(tmp_path, "third_party/run.sh", SCRIPT)
    put(tmp_path, "third_party/kept/run.sh", SCRIPT)
    put(tmp_path, "grpo-lint.toml", 'exclude = ["third_party/"]\n')
    assert paths(lint("--output", "concise")[1]) == {"scripts/run.sh"}
    put(tmp_path, "grpo-lint.toml", 'include = ["third_party/**/kept"]\n')
    assert paths(lint("--output", "concise")[1]) == {"third_party/kept/run.sh"}
    assert paths(lint("--output", "concise", "--include", "*.sh", "--exclude", "kept")[1]) == {
        "scripts/run.sh",
        "third_party/run.sh",
    }


def paths(out: str) -> set[str]:
    return {line.split(":", 1)[0] for line in out.splitlines()}


def test_an_excluded_file_that_was_named_is_told(lint: Lint, tmp_path: Path) -> None:
    put(tmp_path, "grpo-lint.toml", 'exclude = ["scripts"]\n')
    code, out, _ = lint("scripts/run.sh", "--output", "concise")
    assert code == 0
    assert out == "scripts/run.sh: notice: not linted: grpo-lint.toml excludes it\n"


def test_patterns_count_from_their_own_file(lint: Lint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "base/all.toml", 'exclude = ["/scripts"]\n')
    put(tmp_path, "grpo-lint.toml", 'extend = "base/all.toml"\n')
    assert paths(lint("--output", "concise")[1]) == {"scripts/run.sh"}
    put(tmp_path, "grpo-lint.toml", 'exclude = ["/scripts"]\n')
    monkeypatch.chdir(tmp_path / "scripts")
    assert lint("--output", "concise")[1] == ""


def test_per_file_ignores(lint: Lint, tmp_path: Path) -> None:
    put(tmp_path, "scripts/smoke/run.sh", SCRIPT)
    put(tmp_path, "grpo-lint.toml", '[per-file-ignores]\n"smoke/" = ["group-size-1"]\n')
    code, out, _ = lint("--output", "json")
    report = json.loads(out)
    assert code == 1
    assert [finding["primary"]["path"] for finding in report["diagnostics"]] == ["scripts/run.sh"]
    (suppressed,) = report["suppressed"]
    assert suppressed["primary"]["path"] == "scripts/smoke/run.sh"
    assert suppressed["suppression"] == {
        "kind": "per-file-ignores",
        "reason": "grpo-lint.toml ignores it in smoke/",
        "place": None,
    }
    assert lint("--output", "concise", "--per-file-ignore", "*.sh=NOT07,DO03") == (0, "", "")


# -- what is wrong


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'fail-on = "warn"\n',
            "grpo-lint.toml:1: fail-on is 'warn': write note, warning, error or never; did you mean",
        ),
        ("# first\nselct = []\n", "grpo-lint.toml:2: selct: no such setting; did you mean select?"),
        (
            "per_file_ignores = {}\n",
            "grpo-lint.toml:1: per_file_ignores: no such setting; did you mean per-file-ignores?",
        ),
        ("zzz = 1\n", "grpo-lint.toml:1: zzz: no such setting; known are extend, profile, select, "),
        ('select = "NOT07"\n', "grpo-lint.toml:1: select is 'NOT07': write a list of texts, such as "),
        (
            'select = [\n  "DO03",\n  "NOT7",\n]\n',
            "grpo-lint.toml:3: select: no rule, prefix or topic is called 'NOT7'",
        ),
        ('[levels]\nNOT07 = "of"\n', "grpo-lint.toml:2: levels.NOT07 is 'of': write note, warning, error or off"),
        ('levels = { NOT99 = "off" }\n', "grpo-lint.toml:1: levels.NOT99: no rule, prefix or topic is called 'NOT99'"),
        ("[levels]\nNOT07 = 1\n", "grpo-lint.toml:2: levels.NOT07 is 1: write note"),
        ('levels = ["NOT07"]\n', "grpo-lint.toml:1: levels is ['NOT07']: write a table"),
        ('[per-file-ignores]\n"a.sh" = ["kl-twise"]\n', "grpo-lint.toml:2: per-file-ignores.a.sh: no rule, prefix or"),
        ("require-reason = 1\n", "grpo-lint.toml:1: require-reason is 1: write true or false"),
        ("[hardware]\ngpu-memory = 0\n", "grpo-lint.toml:2: hardware.gpu-memory is 0: write a number above 0"),
        ("[hardware]\ngpu-memory = inf\n", "grpo-lint.toml:2: hardware.gpu-memory is inf: write a number above 0"),
        ("[hardware]\ngpus = 1.5\n", "grpo-lint.toml:2: hardware.gpus is 1.5: write a whole number above 0"),
        ("hardware.gpus = true\n", "grpo-lint.toml:1: hardware.gpus is True: write a whole number above 0"),
        ("[hardware]\ngpu = 8\n", "grpo-lint.toml:2: hardware.gpu: no such setting; did you mean gpus?"),
        ('[targets]\nverll = "0.9"\n', "grpo-lint.toml:2: targets.verll: no framework is called 'verll'"),
        ("[targets]\nverl = 0.9\n", "grpo-lint.toml:2: targets.verl is 0.9: write a text"),
        ('[targets]\nverl = "new"\n', "grpo-lint.toml:2: targets.verl: 'new' is no release"),
        ('[profiles.x]\nexclude = ["a"]\n', "grpo-lint.toml:2: profiles.x.exclude: no such setting"),
        ('exclude = [""]\n', "grpo-lint.toml:1: exclude is ['']: write a list of texts"),
        ("fail-on = \n", "grpo-lint.toml:1:11: not valid TOML: invalid value"),
        ("a = 1\na = 2\n", "grpo-lint.toml:2:6: not valid TOML: cannot overwrite a value"),
        ("a = " + "[" * 5000 + "\n", "grpo-lint.toml: nested too deeply"),
        ("a = " + "9" * 5000 + "\n", "grpo-lint.toml: not valid TOML: exceeds the limit"),
        (f"{'.'.join('a' * 100_000)} = 1\n", "grpo-lint.toml:1: more than 100 dots outside of quotes"),
        ("[" + '"a".' * 50_000 + "a]\n", "grpo-lint.toml:1: more than 100 dots outside of quotes"),
        ("select = [" + '"NOT07", ' * 20_000 + "]\n", "grpo-lint.toml:1: select has 20,000 entries, more than 1,000"),
        ("fail-on = 1\nx = '''\n" + " " * 200_000 + "\n'''\n", "grpo-lint.toml:1: fail-on is 1: write note"),
        ("select.a.b = 1\n", "grpo-lint.toml:1: select is {'a': {'b': 1}}: write a list of texts"),
        ("a = \0\n", "grpo-lint.toml: binary file (it contains NUL bytes)"),
    ],
)
def test_a_broken_settings_file(lint: Lint, tmp_path: Path, text: str, message: str) -> None:
    put(tmp_path, "grpo-lint.toml", text)
    code, out, err = lint()
    assert (code, out) == (2, "")
    assert err.startswith(f"grpo-lint: {message}")
    assert err.count("\n") == 1


def test_a_line_in_pyproject(lint: Lint, tmp_path: Path) -> None:
    put(tmp_path, "pyproject.toml", '[project]\nselect = 1\n\n["tool"."grpo-lint"]\n"select" = 1\n')
    assert lint()[2].startswith("grpo-lint: pyproject.toml:5: select is 1: ")
    put(tmp_path, "pyproject.toml", "[tool]\ngrpo-lint = 3\n")
    assert lint()[2] == "grpo-lint: pyproject.toml: tool.grpo-lint is no table\n"


def test_dots_within_quotes_are_no_key(lint: Lint, tmp_path: Path) -> None:
    needed = ", ".join(['"a==1.2.3"'] * 80)
    put(tmp_path, "pyproject.toml", f"[project]\ndependencies = [{needed}]\n[tool.grpo-lint]\n")
    assert lint("--settings", "pyproject.toml")[0] == 1


def test_settings_that_are_too_large_or_not_text(lint: Lint, tmp_path: Path) -> None:
    put(tmp_path, "grpo-lint.toml", "#" * 1_100_000)
    assert lint()[2].startswith("grpo-lint: grpo-lint.toml: too large")
    (tmp_path / "grpo-lint.toml").write_bytes(b"# \xff\n")
    assert lint()[2].startswith("grpo-lint: grpo-lint.toml: not valid UTF-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--select", "NOT7"), "--select: no rule, prefix or topic is called 'NOT7'; did you mean NOT"),
        (("--ignore", "DO03,group-size1"), "--ignore: no rule, prefix or topic is called 'group-size1'; did you mean "),
        (("--level", "NOT07=fatal"), "--level NOT07=fatal: write RULE=error, RULE=warning, RULE=note or RULE=off"),
        (("--level", "NOT77=note"), "--level NOT77=note: no rule, prefix or topic is called 'NOT77'"),
        (("--per-file-ignore", "NOT07"), "--per-file-ignore NOT07: write PATTERN=RULES"),
        (("--target", "verl"), "--target verl: write FRAMEWORK=RELEASE"),
        (("--target", "vrl=1"), "--target vrl=1: no framework is called 'vrl'"),
        (("--target", "verl=new"), "--target verl=new: 'new' is no release"),
    ],
)
def test_wrong_words_on_the_command_line(lint: Lint, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = lint(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"grpo-lint: {message}")


# -- files of people we don't know


@pytest.mark.parametrize("target", ["../outside.toml", "/etc/passwd", "link.toml", "sub/../../outside.toml"])
def test_no_settings_file_leads_out_of_its_repository(
    lint: Lint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str
) -> None:
    put(tmp_path, "outside.toml", 'fail-on = "error"\n')
    put(tmp_path, "repo/.git/HEAD", "")
    put(tmp_path, "repo/run.sh", SCRIPT)
    put(tmp_path, "repo/sub/x.sh", "")
    put(tmp_path, "repo/grpo-lint.toml", f'extend = "{target}"\n')
    os.symlink("../outside.toml", tmp_path / "repo" / "link.toml")
    monkeypatch.chdir(tmp_path / "repo")
    code, _, err = lint()
    assert code == 2
    assert f"extend = {target!r} leads out of the repository" in err


def test_a_settings_file_that_is_a_link_out_of_the_repository(lint: Lint, tmp_path: Path) -> None:
    outside = put(tmp_path.parent, f"{tmp_path.name}-outside.toml", 'fail-on = "error"\n')
    os.symlink(outside, tmp_path / "grpo-lint.toml")
    code, _, err = lint()
    assert code == 2
    assert err.startswith("grpo-lint: grpo-lint.toml: it leads out of the repository")


def test_settings_can_write_nothing(lint: Lint, tmp_path: Path) -> None:
    for name in ("output", "write-baseline", "baseline", "fix", "settings", "plugins"):
        put(tmp_path, "grpo-lint.toml", f'{name} = "sarif=x"\n')
        code, _, err = lint()
        assert code == 2
        assert f": {name}: no such setting" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == [".git", "grpo-lint.toml", "scripts"]


def test_control_characters_of_a_settings_file_reach_no_terminal(lint: Lint, tmp_path: Path) -> None:
    put(tmp_path, "grpo-lint.toml", '"a\\u001b[2J" = 1\n')
    code, _, err = lint()
    assert code == 2
    assert "\x1b" not in err
    put(tmp_path, "grpo-lint.toml", 'exclude = ["\\u001b[2J"]\n')
    assert "\x1b" not in lint("--show-settings")[1]


def test_patterns_that_would_take_an_expression_years(lint: Lint, tmp_path: Path) -> None:
    put(tmp_path, f"{'a' * 200}.sh", SCRIPT)
    put(tmp_path, "grpo-lint.toml", f'exclude = ["{"a*" * 40}b", "{"**/a" * 30}"]\n')
    assert lint("--output", "concise")[0] == 1


# -- what is published


def tool(name: str) -> ModuleType:
    """A module of tools/, which is no package."""
    path = Path(__file__).parent.parent / "tools" / f"{name}.py"
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_shown_settings_are_a_settings_file(lint: Lint, tmp_path: Path) -> None:
    put(
        tmp_path,
        "grpo-lint.toml",
        'profile = "strict"\nselect = ["NOT"]\nignore = ["DO03"]\nenforce = ["SRC"]\nexclude = ["a \\"b\\" \\\\ c"]\n'
        'require-reason = true\n[levels]\nNOT07 = "note"\n[per-file-ignores]\n"x/" = ["NOT01"]\n'
        '[targets]\nverl = "0.9.1"\n[hardware]\ngpus = 8\ngpu-memory = 80.5\nnodes = 2\n',
    )
    first = lint("--show-settings")[1]
    put(tmp_path, "grpo-lint.toml", first)
    again = lint("--show-settings")[1]
    assert [line.split("  #")[0] for line in again.splitlines()] == [
        line.split("  #")[0] for line in first.splitlines()
    ]


def test_the_schema_is_what_the_table_says() -> None:
    schema = tool("settings_schema")
    assert json.loads(schema.SCHEMA.read_text(encoding="utf-8")) == schema.schema(), "run tools/settings_schema.py"
    assert schema.DOCS.read_text(encoding="utf-8") == schema.documented(), "run tools/settings_schema.py"


def test_the_schema_takes_what_the_linter_takes(lint: Lint, tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = tool("settings_schema").schema()
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    good = {
        "extend": "base.toml",
        "profile": "strict",
        "select": ["NOT07", "group-size-1", "kl"],
        "levels": {"NOT": "off"},
        "per-file-ignores": {"a/": ["ALL"]},
        "fail-on": "never",
        "targets": {"verl": "0.9.1"},
        "hardware": {"gpus": 8, "gpu-memory": 23.5},
        "profiles": {"own": {"extend": "strict", "description": "mine", "min-severity": "error"}},
    }
    assert not list(validator.iter_errors(good))
    for bad in (
        {"selct": []},
        {"fail-on": "warn"},
        {"select": "NOT07"},
        {"levels": {"NOT07": "fatal"}},
        {"hardware": {"gpus": 1.5}},
        {"hardware": {"gpu-memory": 0}},
        {"targets": {"vrl": "1"}},
        {"targets": {"verl": "new"}},
        {"require-reason": 1},
        {"profiles": {"own": {"exclude": []}}},
        {"exclude": [""]},
    ):
        assert list(validator.iter_errors(bad)), bad


def test_every_setting_has_a_help_text() -> None:
    for options in (OPTIONS, PROFILE_OPTIONS, HARDWARE):
        for name, option in options.items():
            assert option.help.endswith("."), name
