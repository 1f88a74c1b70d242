"""Credentials in the text, and servers that do what anybody asks."""
