"""Hydra 1.3 as Hydra reads it: overrides, defaults lists, interpolations. Knows no framework, runs nothing."""
