"""Runs the project's tests with the project's interpreter, and reads what its pytest reports.

`cold.run_tests` runs them all in a fresh process; `pool.open_pool` judges hundreds of candidates in forked processes.
`agent/` is what runs in the project's interpreter: standard library only, Python 3.9 and later.
"""
