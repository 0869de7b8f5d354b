"""Scores of competition files."""
