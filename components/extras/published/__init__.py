"""The published dataset: its files, and their download."""
