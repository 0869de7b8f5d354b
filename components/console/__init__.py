"""The command line: its table of commands, what it prints and how it ends."""
