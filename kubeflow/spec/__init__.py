"""The compiled pipeline: made, changed for Kubeflow, checked, read."""
