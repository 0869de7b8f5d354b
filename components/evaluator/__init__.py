"""Evaluator: scores, slices, confidence, and the gate."""
