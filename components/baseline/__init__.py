"""Baseline: the newest blessed model, handed to Trainer and Evaluator."""
