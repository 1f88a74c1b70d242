"""Nothing of a linted tree is run, imported or sent anywhere, and nothing is written but the outputs that are named."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

FIXTURES = Path(__file__).parents[1] / "fixtures"

WATCHED = """
import os, sys
events = []
STARTS = ("subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "pty.", "socket.", "urllib.",
          "ftplib.", "http.", "smtplib.", "webbrowser.", "os.putenv", "os.remove", "os.rename",
          "os.rmdir", "os.mkdir", "os.chmod", "os.chown", "os.link", "os.symlink", "os.truncate", "shutil.")
def watch(event, arguments):
    if event == "open":
        path, mode, flags = arguments
        if (isinstance(mode, str) and set(mode) & set("wax+")) or (flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            events.append(["open", str(path)])
    elif event.startswith(STARTS):
        events.append([event, repr(arguments)[:200]])
from grpo_lint.cli import main
import json
before = set(sys.modules)
sys.dont_write_bytecode = True
sys.addaudithook(watch)
code = main(sys.argv[1:])
events.append(["end", code])
tree = os.getcwd()
files = {name: getattr(sys.modules[name], "__file__", "") or "" for name in set(sys.modules) - before}
events.append(["imported from the tree", sorted(name for name, file in files.items() if file.startswith(tree))])
sys.stdout.flush()
os.write(2, json.dumps(events).encode())
"""

TRAP = "raise SystemExit('a module of the linted tree was imported')\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with a launch that looks into files and the environment, and modules that must not be imported."""
    files = {
        "run.sh": "#!/bin/bash\nsource env.sh\ntouch made; curl http://localhost/$(cat secret)\nx=$(python3 trap.py)\n"
        "cat > ds.json <<EOF\n{\"zero_optimization\": {\"stage\": 2}}\nEOF\n"
        "python3 -m verl.trainer.main_ppo --config-path=conf --config-name=ppo algorithm.adv_estimator=grpo a=$x\n",
        "env.sh": "export N=1\nrm -rf made\n",
        "conf/ppo.yaml": "actor_rollout_ref:\n  rollout:\n    n: ${oc.env:N}\n    path: !!python/name:os.system\n",
        "ds.yaml": "compute_environment: LOCAL\ndistributed_type: DEEPSPEED\n",
        "pyproject.toml": "[tool.grpo-lint]\nfail-on = 'never'\n",
        "secret": "s",
    }  # fmt: skip
    traps = (
        "json.py",
        "re.py",
        "grpo_lint/__init__.py",
        "sitecustomize.py",
        "ruamel/__init__.py",
        "tomllib.py",
        "verl/__init__.py",
    )
    for name, text in {**files, **dict.fromkeys(traps, TRAP)}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    return tmp_path


def watched(tree: Path, *arguments: str) -> list[list[object]]:
    """What a run of the command in this folder did, besides reading. Its own folder isn't on the path, as installed."""
    program = "import sys; sys.path = [folder for folder in sys.path if folder]" + WATCHED
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=tree, capture_output=True, text=True, check=True
    )
    events: list[list[object]] = json.loads(done.stderr.splitlines()[-1])
    return events


@pytest.mark.parametrize(
    "command", [["check", "."], ["show", "."], ["check", "--verdicts", "."], ["check", "--output", "sarif"]]
)
def test_a_linting_only_reads(tree: Path, command: list[str]) -> None:
    there = sorted(tree.rglob("*"))
    events = watched(tree, *command)
    assert [event[0] for event in events] == ["end", "imported from the tree"], events
    assert events[0][1] in (0, 1)
    assert events[1][1] == []
    assert sorted(tree.rglob("*")) == there


def test_what_is_written_is_the_named_output(tree: Path) -> None:
    events = watched(tree, "check", ".", "--output", "json=report.json")
    written = {str(event[1]) for event in events if event[0] == "open"}
    named = {path for path in written if not path.isdigit()}  # a number is a file that is open already
    assert named
    assert {(tree / path).parent for path in named} == {tree}  # a file beside it takes its place once it is whole
    assert {event[0] for event in events} <= {
        "open",
        "os.rename",
        "os.chmod",
        "os.remove",
        "end",
        "imported from the tree",
    }
    assert json.loads((tree / "report.json").read_text(encoding="utf-8"))["schema"] == 1


def test_every_fixture_is_only_read() -> None:
    events = watched(FIXTURES, "check", "--no-settings", ".")
    assert [event[0] for event in events] == ["end", "imported from the tree"], events[:5]
    assert events[1][1] == []
