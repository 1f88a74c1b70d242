"""What the command imports before it has anything to say.

Time is made of imports here, and unlike a timer their list never flakes. tools/bench.py measures the ratios.
"""

import subprocess
import sys
from pathlib import Path

import pytest

import grpo_lint
from grpo_lint.modules import PACKAGES

PROGRAM = """
import sys
from grpo_lint.cli import main
code = main(sys.argv[1:])
sys.stdout.flush()
sys.stderr.write("\\n".join(sorted(sys.modules)))
sys.exit(code)
"""

HEAVY = {
    "ast",
    "asyncio",
    "attr",
    "concurrent",
    "copy",
    "dataclasses",
    "datetime",
    "difflib",
    "email",
    "fnmatch",
    "hashlib",
    "importlib.metadata",
    "importlib.resources",
    "inspect",
    "logging",
    "multiprocessing",
    "pathlib",
    "pathspec",
    "pickle",
    "random",
    "ruamel",
    "sarif_om",
    "shlex",
    "shutil",
    "socket",
    "subprocess",
    "tempfile",
    "textwrap",
    "tomli",
    "tomllib",
    "typing",
    "urllib",
}
"""Modules that a plain linting has no use for, with all that lies below them."""

FILES = {
    "run.sh": (
        "set -x\nN=${N:-8}\npython3 -m verl.trainer.main_ppo \\\n"
        "    algorithm.adv_estimator=grpo actor_rollout_ref.rollout.n=$N\n"
    ),
    "ds.json": '{"zero_optimization": {"stage": 2}, "bf16": {"enabled": true}, "gradient_clipping": 1.0}\n',
    "ppo.yaml": "actor_rollout_ref:\n  rollout:\n    n: 8\nalgorithm:\n  adv_estimator: grpo\n",
}


def imported(*arguments: str, cwd: Path) -> set[str]:
    """All modules that a run of the command has imported; those that the interpreter starts with don't count."""
    # -S leaves out the .pth files of the environment, which import what they like; the path has to be told instead.
    bare = subprocess.run([sys.executable, "-I", "-S", "-c", "import sys; print(*sys.modules)"], capture_output=True)
    result = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path[:] = {sys.path!r}\n{PROGRAM}", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode in (0, 1), result.stderr
    return set(result.stderr.splitlines()) - set(bare.stdout.decode().split())


def heavy(modules: set[str]) -> set[str]:
    return {module for module in modules if any(f"{module}.".startswith(f"{name}.") for name in HEAVY)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_the_version_needs_next_to_nothing(folder: Path) -> None:
    ours = {"grpo_lint", "grpo_lint.cli", "__future__"}
    assert imported("--version", cwd=folder) <= ours


@pytest.mark.parametrize("name", ["run.sh", "ds.json"])
def test_a_script_or_json_file_needs_no_more_than_it_must(folder: Path, name: str) -> None:
    modules = imported(name, cwd=folder)
    assert "grpo_lint.engine" in modules
    assert not heavy(modules)
    assert "argparse" not in modules
    assert not {module for module in modules if module.startswith("grpo_lint.syntax.yaml")}


def test_a_json_file_needs_no_shell(folder: Path) -> None:
    modules = imported("ds.json", cwd=folder)
    assert not {module for module in modules if module.startswith(("grpo_lint.syntax.shell", "grpo_lint.syntax.hydra"))}


def test_a_yaml_file_needs_the_c_reader_and_no_more(folder: Path) -> None:
    modules = imported("ppo.yaml", cwd=folder)
    assert "_ruamel_yaml" in modules
    brought = imported_by_ruamel(folder)
    assert not heavy(modules - brought)


def imported_by_ruamel(folder: Path) -> set[str]:
    """What the YAML library itself brings, which is not ours to choose."""
    script = f"import sys; sys.path[:] = {sys.path!r}\nimport _ruamel_yaml; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-S", "-c", script], cwd=folder, capture_output=True, check=True)
    return set(result.stdout.decode().split())


def test_a_reporter_is_imported_only_when_it_is_asked_for(folder: Path) -> None:
    modules = imported("ds.json", cwd=folder)
    reporters = {m.rsplit(".", 1)[1] for m in modules if m.startswith("grpo_lint.reporters.")}
    assert reporters <= {"characters", "places", "snippet", "text"}


def test_the_packages_that_are_found_without_a_search_are_those_of_the_tree() -> None:
    root = Path(grpo_lint.__file__).parent
    there = {".".join(path.parent.relative_to(root).parts) for path in root.rglob("*/__init__.py")}
    assert there == PACKAGES


def test_modules_that_are_found_without_a_search_are_as_others(folder: Path) -> None:
    """The program's own way in gives the same specs as Python's."""
    script = (
        "import sys; from grpo_lint.modules import find_directly; {}\n"
        "import grpo_lint.rules.avoidance.zero, grpo_lint.syntax.shell\n"
        "for name in ('rules', 'rules.avoidance.zero', 'syntax.shell'):\n"
        "    spec = sys.modules['grpo_lint.' + name].__spec__\n"
        "    print(spec.name, spec.origin, spec.cached, spec.parent, spec.submodule_search_locations)\n"
    )
    told = [
        subprocess.run([sys.executable, "-c", script.format(how)], capture_output=True, text=True, check=True).stdout
        for how in ("", "find_directly()")
    ]
    assert told[0] == told[1]
    assert told[0].count("\n") == 3
