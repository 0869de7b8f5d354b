"""Backends of a training job: in this process, in local processes, or on a cluster."""
