"""From a symptom to its causes: words, a log's known lines, and what the paths' configs have to say to it."""
