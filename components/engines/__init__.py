"""Beam's engines beyond this process: work is shared there, and cancelled; failures have names."""
