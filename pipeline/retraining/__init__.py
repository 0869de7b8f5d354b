"""Repeated runs: on a schedule, with new data, with other values."""
