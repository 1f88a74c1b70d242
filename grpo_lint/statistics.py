"""How many findings of each rule there are."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    from grpo_lint.report import Report


def write(report: Report, out: TextIO) -> None:
    """A table, the most frequent rule first: findings, those of them that can be fixed, suppressed ones, the rule."""
    counts: dict[str, list[int]] = {}
    for diagnostic in report.diagnostics:
        row = counts.setdefault(diagnostic.rule, [0, 0, 0])
        row[0] += 1
        row[1] += diagnostic.fix is not None
    for one in report.suppressed:
        counts.setdefault(one.diagnostic.rule, [0, 0, 0])[2] += 1
    names = {rule.id: rule.name for rule in report.rules}
    rows = sorted(counts.items(), key=lambda item: (-item[1][0], -item[1][2], item[0]))
    total = [sum(row[column] for _, row in rows) for column in range(3)]
    out.write("findings  fixable  suppressed  rule\n")
    for rule, row in rows:
        out.write(f"{row[0]:>8,}  {row[1]:>7,}  {row[2]:>10,}  {rule:<6} {names.get(rule, '')}".rstrip() + "\n")
    out.write(f"{total[0]:>8,}  {total[1]:>7,}  {total[2]:>10,}  all, in {report.files:,} files\n")
