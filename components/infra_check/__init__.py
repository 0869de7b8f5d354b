"""Infra check: a fresh process serves the model before anybody is served by it."""
