"""Progress during a run, and the report at its end. Nothing in this package prints.

`progress.choose(stream, …)` yields a listener that writes to `stream`. The modules `terminal`, `json` and others have
the functions `checks` and `outcome`, which return a report as text.
"""
