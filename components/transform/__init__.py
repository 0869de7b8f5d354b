"""TFX Transform's preprocessing_fn."""
