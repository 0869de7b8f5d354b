"""The file of predictions in BulkInferrer's InferenceResult."""

_SUFFIXES = {"video": "csv", "segment": "csv"}


def file_name(form: str) -> str:
    """By what its format is called: predictions.csv, predictions.tfrecord and so on."""
    return f"predictions.{_SUFFIXES.get(form, form)}"
