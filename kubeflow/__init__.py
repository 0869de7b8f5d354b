"""Layer 3: where the pipeline runs when one machine is not enough."""
