"""Layer 1: what each step of the pipeline does."""
