"""A SavedModel on disk, as TensorFlow, its model server and TFX name its parts."""

from yt8m.components import storage

MODEL_FILE = "saved_model.pb"  # by which readers know that a model is there; copied last
FINGERPRINT_FILE = "fingerprint.pb"
VARIABLES_DIR, ASSETS_DIR = "variables", "assets"
BATCHING_FILE = "batching_params.pbtxt"  # the model server's parameters of batching
WARM_UP_FILE = "assets.extra/tf_serving_warmup_requests"  # the model server's first requests
SERVING_DIR = "Format-Serving"  # the serving model within a TFX Model artifact


def unfindable(directory: str) -> str:
    """Why TensorFlow would not find weights in the directory, "" where it does.

    Models in an object store are copied before they are loaded.
    """
    wild = storage.wildcards(directory)
    if not wild or storage.local_path(directory) is None:
        return ""
    return f"TensorFlow searches weights by a pattern, in which {wild} has another meaning"
