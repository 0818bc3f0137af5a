"""The proposers, from which patches come: one module or package for each."""
