"""Where a training job's processes run: here, beside here, or on a cluster."""
