"""Output of commands: results, progress, notices and signals."""
