"""What rules make their fixes of: edits of a value, of an argument, of a mapping, each where it is sure to be right."""
