"""Defects in a copy of the code, and whether the tests notice them."""
