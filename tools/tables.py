"""Writes the packaged option tables from a framework's sources, one release at a time.

    pip download --no-deps -d pkgs verl==0.9.1 && unzip -q pkgs/verl-0.9.1-*.whl -d verl-0.9.1
    python tools/tables.py verl 0.9.1=verl-0.9.1

Prints what the release changes against the one before it, then rewrites the table (`--dry-run` doesn't). Several
RELEASE=DIR may be given. A release that the table has is read anew; what it says of other releases stays as it is.
DIR is an unpacked wheel or sdist, or a repository. A table that loses a tenth of a release's options isn't written
without `--shrink`: a reader that no longer understands the sources looks just like that.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import store

from grpo_lint.frameworks.tables import order

FRAMEWORKS = (
    "accelerate", "areal", "deepspeed", "llama_factory", "megatron", "ms_swift", "nemo_rl", "openrlhf", "rllm", "roll",
    "sglang", "slime", "transformers", "trl", "verl", "vllm",
)  # fmt: skip
"""Each has a reader of its name in extractors/."""
MOST_LOST = 0.1


def main() -> int:
    lines = (__doc__ or "").splitlines()
    parser = argparse.ArgumentParser(description=lines[0], epilog="\n".join(lines[2:]))
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("framework", choices=FRAMEWORKS)
    parser.add_argument("releases", nargs="+", metavar="RELEASE=DIR")
    parser.add_argument("--dry-run", action="store_true", help="only print what would change")
    parser.add_argument("--shrink", action="store_true", help="write a table even if it loses a tenth of its options")
    given = parser.parse_args()
    for spec in given.releases:
        release, _, folder = spec.partition("=")
        if not Path(folder).is_dir():
            parser.error(f"no such directory: {folder}")
        if not update(given.framework, release, Path(folder), not given.dry_run, given.shrink):
            return 1
    return 0


def update(framework: str, release: str, folder: Path, write: bool, shrink: bool = False) -> bool:
    """Reads a release and writes it into the packaged table; False if the table would shrink too much."""
    reader = importlib.import_module(f"extractors.{framework}")
    options = reader.options(folder)
    old = store.read(framework)
    new = store.add(old, release, options)
    if hasattr(reader, "more") and new["releases"][-1] == release:
        new["more"] = reader.more(folder)
    before, after = _before(old, release), store.at(new, release)
    print(f"{framework} {release}: {len(after)} options")
    for line in store.changes(before, after):
        print(f"  {line}")
    lost = sum(name not in after for name in before)
    if before and lost > MOST_LOST * len(before) and not shrink:
        print(f"{lost} of {len(before)} options are gone; pass --shrink if that is so")
        return False
    if write:
        store.write(framework, new)
        if framework == "verl":
            _write_verl(reader, release, folder)
    return True


def _before(table: store.Table, release: str) -> dict[str, Any]:
    """The column that a release is compared with: what the table says of it now, or of the release before it."""
    known = [other for other in table["releases"] if order(other) <= order(release)]
    return store.at(table, known[-1]) if known else {}


def _write_verl(reader: Any, release: str, folder: Path) -> None:
    trees = store.read("verl_trees")
    store.write("verl_trees", store.add_trees(trees, release, reader.trees(folder)))
    store.write(f"verl/{release}", reader.configs(folder))


if __name__ == "__main__":
    sys.exit(main())
