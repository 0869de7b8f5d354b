"""Results of runs and versions: loaded, compared, exported to MLflow."""
