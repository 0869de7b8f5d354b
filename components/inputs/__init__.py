"""Batches from a manifest: `tf.data` for trainer and evaluator alike."""
