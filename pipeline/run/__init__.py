"""One run of the pipeline here, from the command to its outcome."""
