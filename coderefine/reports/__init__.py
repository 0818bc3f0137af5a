"""Progress during a run, and the report at its end. Nothing in this package prints.

`progress.choose(stream, …)` yields a listener; `terminal` and `json` have `checks` and `outcome`, which return text.
"""
