"""The sources of patches, cheapest first: one module per proposer."""
