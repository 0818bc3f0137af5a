"""The use cases: what a command does, without its arguments and without printing.

`project` finds what is worked on, `engine` assembles the gates, proposers and limits, `run` is the lifecycle of a run.
"""
