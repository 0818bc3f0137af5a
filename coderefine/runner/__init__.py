"""Runs the project's tests with the project's interpreter and reads what its pytest has to say."""
