"""The 36 avoidance rules, grouped by what they are about."""
