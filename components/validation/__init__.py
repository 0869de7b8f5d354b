"""The curated schema, and the stop that bad data cannot pass."""
