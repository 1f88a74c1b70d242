"""Rules that compare options with what a framework's releases have."""
