"""How TensorFlow Serving may join requests for a version into batches.

`batching_params.pbtxt` beside `saved_model.pb` is the name that the server itself looks for, with
`--enable_batching --enable_per_model_batching_parameters`; it is a `--batching_parameters_file` as
well. Without these flags it is not read.
"""

from __future__ import annotations

from yt8m.schemas.features import Level

FILE_NAME = "batching_params.pbtxt"
# Of one execution: where a processor gains nothing more, the weights having been read once for all.
_LARGEST = {Level.VIDEO: 128, Level.FRAME: 16}
# Of one request: what the server splits and joins again; a larger one is refused.
_LONGEST_REQUEST = 1024
_WAIT_MICROSECONDS = 1000  # for others to join; a request alone waits no longer
_WAITING_BATCHES = 100  # more are answered UNAVAILABLE, which clients try again


def batching_parameters(level: Level) -> str | None:
    """The file's text; None where requests must not be joined.

    The server divides answers among requests by their numbers of records, and a record of segments
    gives several rows: with per-model parameters it joins none for a version that has no file.
    """
    if level is Level.SEGMENT:
        return None
    fields = {
        "max_batch_size": _LONGEST_REQUEST,
        "max_execution_batch_size": _LARGEST[level],
        "batch_timeout_micros": _WAIT_MICROSECONDS,
        "max_enqueued_batches": _WAITING_BATCHES,
    }
    lines = [f"{name} {{ value: {value} }}" for name, value in fields.items()]
    lines.append("enable_large_batch_splitting { value: true }")
    if level is Level.FRAME:  # `features` with videos of unlike lengths; `num_frames` tells them
        lines.append("pad_variable_length_inputs: true")
    return "".join(f"{line}\n" for line in lines)
