"""Layer 0: data, configuration and errors."""
