"""The command line: a module a command, over all layers."""
