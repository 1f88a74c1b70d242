"""Two ways to do one thing: the facts of each, and which to take."""
