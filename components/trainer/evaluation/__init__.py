"""Scores of a split while a model is trained, and what follows from them."""
