"""Infra check: a new process serves the model before users get it."""
