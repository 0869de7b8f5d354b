"""Steps, checkpoints and hooks in one process."""
