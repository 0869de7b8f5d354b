"""State of a training: checkpoints, the curve, averages, initial weights."""
