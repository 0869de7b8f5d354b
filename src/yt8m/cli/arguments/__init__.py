"""What each command takes: a dataclass a command, whose docstring is the command's `--help`."""
