"""The optional step that searches the trainer's configuration for better values."""
