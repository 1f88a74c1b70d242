"""One module a framework: recognise it, read its settings, map them onto the unified config."""
