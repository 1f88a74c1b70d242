"""Lint unpacked repositories and count what is found: a look at false alarms before a release.

    python tools/ecosystem.py FOLDER...              # a table: rule by severity, files, runs, seconds
    python tools/ecosystem.py --show error FOLDER... # and every finding of that severity

Each folder is linted as its own repository, as its users would.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import Counter

from grpo_lint.diagnostics import RANK
from grpo_lint.engine import Linter
from grpo_lint.report import Report
from grpo_lint.settings import Settings


def lint(folder: str) -> tuple[Report, float]:
    """A folder's report and the seconds of processor time that it took."""
    os.chdir(folder)
    start = time.process_time()
    report = Linter(Settings()).check(["."])
    return report, time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--show", choices=tuple(RANK), help="print the findings of this severity and above")
    options = parser.parse_args()
    total: Counter[tuple[str, str]] = Counter()
    for folder in map(os.path.abspath, options.folders):
        report, seconds = lint(folder)
        name = os.path.basename(folder)
        counts = Counter((d.rule, d.severity) for d in report.diagnostics)
        total += counts
        print(f"{name}: {report.files} files, {report.runs} runs, {sum(counts.values())} findings, {seconds:.2f} s")
        for notice in report.notices:
            print(f"  ! {notice.path}: {notice.message}")
        for d in report.diagnostics:
            if options.show and RANK[d.severity] >= RANK[options.show]:
                when = f" (when {' and '.join(d.when)})" if d.when else ""
                span = d.primary.span
                print(f"  {span.file.path}:{span.line}:{span.column}: {d.rule} {d.severity}: {d.message}{when}")
    for (rule, severity), count in sorted(total.items()):
        print(f"{rule:<8} {severity:<8} {count:>6}")


if __name__ == "__main__":
    main()
