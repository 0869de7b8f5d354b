"""Layer 2: how the steps are wired, configured and run."""
