"""An exported model as the evaluator uses it: through its own `scores` signature, as it serves."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from yt8m.components.storage import files
from yt8m.schemas.errors import DataError, UserError
from yt8m.schemas.features import Level

SIGNATURE = "scores"
_INPUT, _SCORES, _VIDEO_ID, _START = "examples", "scores", "video_id", "segment_start"
_EXPORT_FILE = "assets.extra/yt8m_export.json"


@dataclass(frozen=True, kw_only=True, eq=False)
class Scores:
    """What the model says of a batch of records."""

    scores: tf.Tensor  # [R, C]
    ids: np.ndarray  # [R] bytes
    starts: np.ndarray | None  # [R]; segments


class ExportedModel:
    """A loaded SavedModel. `role` ("the model", "the baseline") stands in messages."""

    def __init__(self, path: str, *, role: str = "the model") -> None:
        self.path, self.role = path, role
        self._loaded = _load(path, role)  # must outlive the signature that is taken from it
        self._signature = _signature(self._loaded, path, role)
        shape = self._signature.structured_outputs[_SCORES].shape
        self.num_classes: int | None = shape[-1] if shape.rank else None

    def score(self, records: tf.Tensor) -> Scores:
        """Scores of serialized `records` [B]."""
        try:
            result = self._signature(**{_INPUT: records})
        except tf.errors.InvalidArgumentError as error:
            level = exported_level(self.path)
            made = f" (it was made for {level.value}-level records)" if level else ""
            raise DataError(
                f"{self.role} {self.path} cannot read these records{made}: {tf_reason(error)}"
            ) from error
        starts = result.get(_START)
        return Scores(
            scores=result[_SCORES],
            ids=result[_VIDEO_ID].numpy(),
            starts=None if starts is None else starts.numpy(),
        )


def exported_level(path: str) -> Level | None:
    """The level that the model was made for, where its export says so."""
    place = files.join(path, _EXPORT_FILE)
    if not files.exists(place):
        return None
    level = json.loads(files.read_text(place)).get("level")
    return Level(level) if level in [known.value for known in Level] else None


def tf_reason(error: Exception) -> str:
    """What TensorFlow says, without where in its graph it says so."""
    text = str(getattr(error, "message", error)).strip()
    return text.rpartition("}} ")[2].partition(" [Op:")[0].partition("\n")[0]


def _load(path: str, role: str) -> Any:  # TensorFlow gives loaded models no type
    if not tf.saved_model.contains_saved_model(path):
        raise UserError(f"{role} {path}: no SavedModel there (it would hold saved_model.pb)")
    try:
        return tf.saved_model.load(path)
    except (OSError, ValueError, tf.errors.OpError) as error:
        raise DataError(f"{role} {path}: damaged, cannot be loaded ({tf_reason(error)})") from error


def _signature(loaded: Any, path: str, role: str) -> Any:
    signatures = getattr(loaded, "signatures", {})
    if SIGNATURE not in signatures:
        known = ", ".join(sorted(signatures)) or "none"
        raise UserError(
            f"{role} {path}: no signature `{SIGNATURE}` (it has: {known}); a model is scored by "
            "the signature that takes `examples`, serialized records, and gives `scores` "
            "[rows, classes] and `video_id`"
        )
    signature = signatures[SIGNATURE]
    missing = {_SCORES, _VIDEO_ID} - set(signature.structured_outputs)
    takes = signature.structured_input_signature[1]
    if missing or set(takes) != {_INPUT}:
        raise UserError(
            f"{role} {path}: its signature `{SIGNATURE}` takes {', '.join(sorted(takes))} and "
            f"gives {', '.join(sorted(signature.structured_outputs))}; expected `{_INPUT}`, and "
            f"`{_SCORES}` with `{_VIDEO_ID}`"
        )
    return signature


def fitted(scores: tf.Tensor, num_classes: int) -> tf.Tensor:
    """`scores` over exactly `num_classes`: classes a model does not know score 0."""
    missing = num_classes - int(scores.shape[1])
    return scores[:, :num_classes] if missing <= 0 else tf.pad(scores, [[0, 0], [0, missing]])
