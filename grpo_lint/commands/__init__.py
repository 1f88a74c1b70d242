"""The commands other than `check`: a module each, whose `answer(options)` does the work.

It gives the exit code: 0, or 1 for findings, or 2 where not everything could be done.
"""
