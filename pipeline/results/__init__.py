"""What runs and versions came to, read afterwards: loaded, compared, exported to MLflow."""
