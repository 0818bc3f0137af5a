"""Progress while a run goes on, and the report at its end. Nothing in this package prints.

`progress.choose(stream, …)` makes a listener; `terminal` and `json` have `checks` and `outcome`, which return text.
"""
