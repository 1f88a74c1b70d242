"""grpo-lint: static checking of RL post-training configs."""

__version__ = "0.1.0"
