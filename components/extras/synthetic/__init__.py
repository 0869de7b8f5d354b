"""Learnable YT8M-like records, reproducible from a seed."""
