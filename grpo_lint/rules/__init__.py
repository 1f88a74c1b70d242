"""The rules, and the one list of them."""
