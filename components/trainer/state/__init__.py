"""What a training keeps: checkpoints, the curve, averages, the weights that it begins with."""
