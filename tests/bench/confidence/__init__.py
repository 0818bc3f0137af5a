"""When is green right? Plausible repairs of faults with few tests, what is known of each, and whether it is right."""
