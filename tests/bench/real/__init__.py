"""`fix` on real projects: see __main__ for how to run it."""
