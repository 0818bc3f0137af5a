"""Where patches come from, cheapest first: one module per proposer."""
