"""From manifest to batches: `tf.data` for trainer and evaluator alike."""
