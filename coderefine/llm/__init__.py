"""Requests to a language model: budgets, prices, redaction of secrets, and the conversion of replies to edits."""
