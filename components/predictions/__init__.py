"""Predictions of a model, competition files, and their scores."""
