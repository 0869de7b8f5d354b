"""The command line: one module per command, above all layers."""
