"""Baseline: the newest blessed model, passed to Trainer and Evaluator."""
