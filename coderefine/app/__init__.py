"""The use cases: what a command does, without parsing arguments and without printing.

`project` finds the project, `engine` assembles the gates, proposers and limits, `run` is the lifecycle of a run.
"""
