"""Evaluations during training, and the decisions that follow from them."""
