"""Code that runs in a task's container."""
