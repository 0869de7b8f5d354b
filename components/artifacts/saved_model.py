"""A SavedModel on disk, as TensorFlow and TFX name its parts."""

MODEL_FILE = "saved_model.pb"  # by which readers know that a model is there; copied last
SERVING_DIR = "Format-Serving"  # the serving model within a TFX Model artifact
