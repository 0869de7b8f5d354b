"""Arguments of each command: a dataclass whose docstring is the command's `--help`."""
