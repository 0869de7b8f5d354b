"""A SavedModel from elsewhere: does it offer what the pipeline needs of a baseline?"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from yt8m.components.artifacts.export_info import FILE_NAME, SCORES, SERVING, ExportInfo, load_info
from yt8m.components.artifacts.saved_model import MODEL_FILE
from yt8m.components.console.console import Console
from yt8m.components.storage import files
from yt8m.schemas.errors import UserError
from yt8m.schemas.features import FeatureConfig, Level

_HEAD = "entities"
_RECORDS = "examples"
_NEEDED = {"scores": "[records, classes] numbers", "video_id": "[records] texts"}


@contextlib.contextmanager
def described(
    directory: str, *, level: Level | None, console: Console
) -> Iterator[tuple[str, ExportInfo]]:
    """A directory with the model and what it says of itself, a copy where that was missing."""
    classes = _scored_classes(directory, console)
    if files.exists(files.join(directory, FILE_NAME)):
        info = load_info(directory)
        if level is not None and info.level is not level:
            raise UserError(f"{directory} is of level {info.level.value}, not {level.value}")
        yield directory, info
        return
    if level is None:
        raise UserError(
            f"{directory} has no {FILE_NAME}, so it does not say what records it takes; "
            "say it with --level video, frame or segment"
        )
    info = _info(level, classes)
    with tempfile.TemporaryDirectory(prefix="yt8m-import-") as copy:
        files.copy_tree(directory, copy)
        files.write_text(files.join(copy, FILE_NAME), info.to_json())
        yield copy, info


def _scored_classes(directory: str, console: Console) -> int:
    """How many classes the model scores; UserError says what is missing for that."""
    if not files.exists(files.join(directory, MODEL_FILE)):
        raise UserError(f"{directory} holds no {MODEL_FILE}: it is not a SavedModel")
    try:
        loaded = tf.saved_model.load(directory)
    except Exception as error:  # TensorFlow raises whatever it happens to meet in broken files
        raise UserError(f"{directory} cannot be loaded: {_first_line(error)}") from error
    known = ", ".join(sorted(loaded.signatures)) or "none"
    if SCORES not in loaded.signatures:
        raise UserError(
            f"{directory} lacks the signature `{SCORES}` (`examples`, serialized records, to "
            f"`scores` [records, classes] and `video_id`); it offers: {known}"
        )
    if SERVING not in loaded.signatures:
        console.warn(f"{directory} lacks `{SERVING}`: good for a baseline, not for model servers")
    return _checked(directory, loaded.signatures[SCORES])


def _checked(directory: str, scores: Any) -> int:
    _, inputs = scores.structured_input_signature
    if set(inputs) != {_RECORDS} or inputs[_RECORDS].dtype != tf.string:
        raise UserError(
            f"{directory}: its signature `scores` takes {', '.join(sorted(inputs))}; it must take "
            f"`{_RECORDS}`, serialized records, alone"
        )
    missing = sorted(set(_NEEDED) - set(scores.structured_outputs))
    if missing:
        wanted = ", ".join(f"`{name}` {_NEEDED[name]}" for name in missing)
        raise UserError(f"{directory}: its signature `scores` does not give {wanted}")
    shape = scores.structured_outputs["scores"].shape
    if shape.rank != 2 or shape[1] is None:
        raise UserError(
            f"{directory}: its signature `scores` gives scores of shape {shape}; it must be "
            "[records, classes] with a known number of classes"
        )
    return int(shape[1])


def _info(level: Level, classes: int) -> ExportInfo:
    return ExportInfo(
        level=level,
        features=FeatureConfig(num_classes=classes),
        head=_HEAD,
        heads={_HEAD: classes},
        top_k=min(20, classes),
        has_class_names=False,
        has_transform_graph=False,
    )


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
