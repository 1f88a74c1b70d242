"""Readers of the option definitions in a framework's sources. No framework is imported: `ast` and YAML text suffice."""
