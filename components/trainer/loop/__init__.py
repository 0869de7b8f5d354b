"""Steps, checkpoints and what steers them, in one process."""
