"""Commands that run, repeat and look at pipelines."""
