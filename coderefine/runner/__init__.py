"""Run the project's tests with the project's interpreter, and read what its pytest reports.

`cold.run_tests` runs all tests in a fresh process; `pool.open_pool` judges hundreds of candidates in forked processes.
`agent/` is the part that runs in the project's interpreter: standard library only, Python 3.10 and later.
"""
