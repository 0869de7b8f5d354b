"""The curated schema, and the gate for bad data."""
