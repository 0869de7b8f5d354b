"""Commands that talk to Kubeflow Pipelines."""
