"""Runs that come again: on a schedule, with new data, with other values."""
