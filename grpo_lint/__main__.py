"""`python -m grpo_lint`."""

from grpo_lint.cli import run

run()
