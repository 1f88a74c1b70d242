"""`grpo-lint show`: what each run gets."""

from __future__ import annotations

import sys

from grpo_lint.arguments import UsageError
from grpo_lint.engine import Linter, MissingPath
from grpo_lint.hardware import assume
from grpo_lint.outputs import settings_of
from grpo_lint.show import write_json, write_table
from grpo_lint.terminal import discreet, say, use_utf8, width

TYPE_CHECKING = False
if TYPE_CHECKING:
    from grpo_lint.arguments import Options


def answer(options: Options) -> int:
    """Write the settings of the runs to standard output, and give the exit code."""
    linter = Linter(settings_of(options, options.paths))
    try:
        runs = [run for file in linter.read(options.paths) for run in file.reading.runs]
        for run in runs:
            assume(run, linter.settings)
    except MissingPath as error:
        raise UsageError(f"{error}: there is no such file or directory") from None
    use_utf8()
    for notice in linter.notices:
        say(f"{notice.path}: {notice.message}")
    changed = options.only == "changed"
    if options.format == "json":
        write_json(runs, discreet(sys.stdout), changed, options.memory)
    else:
        write_table(runs, discreet(sys.stdout), changed, width(), options.memory)
    return 2 if linter.errors else 0
