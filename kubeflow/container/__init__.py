"""What runs in a task's container."""
