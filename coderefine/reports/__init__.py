"""What a person or a program gets to see: progress while it runs, the report at its end. Nothing here prints.

`progress.choose(stream, …)` is the listener; `terminal.checks/outcome` and `json.checks/outcome` give the text.
"""
