"""The model as a text service: requests, budgets, prices, redaction, and replies turned into edits."""
