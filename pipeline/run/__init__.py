"""One local run of the pipeline, from the command to its outcome."""
