"""Layer 0: what the data is, what a configuration is, what an error is."""
