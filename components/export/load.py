"""Load a SavedModel to score records with: the one place where signatures are checked."""

from __future__ import annotations

import contextlib
import functools
import itertools
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import saved_model_pb2

from yt8m.components import storage
from yt8m.components.artifacts.export_info import (
    FEATURES,
    FILE_NAME,
    MEAN_FRAMES,
    SCORES,
    SERVING,
    ExportInfo,
    load_info,
)
from yt8m.components.artifacts.saved_model import MODEL_FILE, unfindable
from yt8m.components.inputs.shards import UNREADABLE, tf_reason, why_unreadable
from yt8m.schemas.errors import DataError, UserError
from yt8m.schemas.features import FeatureConfig, Level

_RECORDS, _VIDEO_ID, _START = "examples", "video_id", "segment_start"
_PYTHON_OPS = {"PyFunc", "PyFuncStateless", "EagerPyFunc"}
_FORM = (
    f"yt8m scores a model through its signature `{SCORES}`, which takes `{_RECORDS}` (serialized "
    f"records) alone and returns `{SCORES}` [rows, classes] and `{_VIDEO_ID}` [rows]"
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Scores:
    """A model's scores of a batch of records."""

    scores: tf.Tensor  # [R, C]
    ids: np.ndarray  # [R] bytes
    starts: np.ndarray | None  # [R]; segments


class LoadedModel:
    """A SavedModel with the signature `scores`; `role` ("the baseline") names it in messages."""

    def __init__(self, directory: str, loaded: Any, role: str) -> None:
        self.directory, self.role = directory, role
        self.loaded = loaded  # keeps the variables alive
        self.score: Callable[..., dict[str, tf.Tensor]] = loaded.signatures[SCORES]
        shape = loaded.signatures[SCORES].structured_outputs[SCORES].shape
        self.num_classes: int | None = shape[-1] if shape.rank else None

    @property
    def serve(self) -> Callable[..., dict[str, tf.Tensor]]:
        """The signature that model servers call; UserError where there is none."""
        if SERVING not in self.loaded.signatures:
            raise UserError(
                f"{self.role} {self.directory}: no signature `{SERVING}`, which model servers "
                f"call; {_known(self.loaded)}. Export it with one"
            )
        serve: Callable[..., dict[str, tf.Tensor]] = self.loaded.signatures[SERVING]
        return serve

    @property
    def score_arrays(self) -> Callable[..., dict[str, tf.Tensor]]:
        """Scores of features as arrays; UserError where the model takes records alone."""
        if FEATURES not in self.loaded.signatures:
            raise UserError(
                f"{self.role} {self.directory}: no signature `{FEATURES}`, by which segments of "
                f"videos are scored; {_known(self.loaded)}"
            )
        score: Callable[..., dict[str, tf.Tensor]] = self.loaded.signatures[FEATURES]
        return score

    @functools.cached_property
    def info(self) -> ExportInfo:
        """The export's description of itself; UserError where yt8m did not make it."""
        return load_info(self.directory)

    @property
    def level(self) -> Level | None:
        """The level that the model was made for, where it says so."""
        said = storage.exists(storage.join(self.directory, FILE_NAME))
        return self.info.level if said else None

    def score_records(self, records: tf.Tensor) -> Scores:
        """Scores of serialized `records` [B]; DataError where the model cannot read them."""
        result = self._answer(self.score, records)
        starts = result.get(_START)
        return Scores(
            scores=_wide(result[SCORES]),
            ids=result[_VIDEO_ID].numpy(),
            starts=None if starts is None else starts.numpy(),
        )

    def serve_records(self, records: tf.Tensor) -> dict[str, tf.Tensor]:
        """A server's answer to `records` [B]; DataError where the model cannot read them."""
        return self._answer(self.serve, records)

    def _answer(
        self, signature: Callable[..., dict[str, tf.Tensor]], records: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        try:
            return signature(**{_RECORDS: records})
        except UNREADABLE as error:
            made = f" (it was made for {_kind(self.info)})" if self.level else ""
            raise DataError(
                f"{self.role} {self.directory} cannot read these records{made}: "
                f"{why_unreadable(records, error, self.level)}"
            ) from error

    @property
    def score_means(self) -> Callable[..., dict[str, tf.Tensor]] | None:
        """Scores of videos' mean frames, where the model looks at nothing else and says so."""
        score: Callable[..., dict[str, tf.Tensor]] | None
        score = self.loaded.signatures.get(MEAN_FRAMES)
        return score

    def require(self, *, level: Level, features: FeatureConfig) -> None:
        """UserError unless the model takes records of this kind and gives these classes."""
        wanted = {"level": level.value, "features": features}
        described = {"level": self.info.level.value, "features": self.info.features}
        for name, value in wanted.items():
            if described[name] != value:
                raise UserError(
                    f"{self.directory}: exported for {name} {described[name]}, but the data has "
                    f"{value}"
                )


def _kind(info: ExportInfo) -> str:
    """What records an export takes: sound ones of other features are refused, too."""
    sizes = ", ".join(f"{name} {size}" for name, size in info.features.size_by_name.items())
    return f"{info.level.value}-level records with {sizes}"


def _wide(scores: tf.Tensor) -> tf.Tensor:
    """`scores` in a type of numpy's: models from elsewhere may score in half precision."""
    return scores if scores.dtype == tf.float64 else tf.cast(scores, tf.float32)


def check_self_contained(directory: str) -> None:
    """UserError where the model needs what is not in its directory: Python code, or other files."""
    saved = saved_model_pb2.SavedModel()
    try:
        saved.ParseFromString(storage.read_bytes(storage.join(directory, MODEL_FILE)))
    except DecodeError as error:
        raise DataError(
            f"the model {directory} is damaged, it cannot be loaded: {error}"
        ) from error
    for meta in saved.meta_graphs:
        for asset in meta.asset_file_def:
            path = PurePosixPath(asset.filename)
            if path.is_absolute() or ".." in path.parts:
                raise UserError(
                    f"the model {directory}: its asset {asset.filename} is outside of its "
                    "directory, so a copy would lack it; export the model with its assets"
                )
        graph = meta.graph_def
        nodes = itertools.chain(graph.node, *(f.node_def for f in graph.library.function))
        if called := {node.op for node in nodes} & _PYTHON_OPS:
            raise UserError(
                f"the model {directory} calls Python ({', '.join(sorted(called))}, of "
                "tf.py_function or tf.numpy_function), which a SavedModel cannot contain, so no "
                "model server can run it; use TensorFlow operations and export it again"
            )


def load_export(directory: str) -> LoadedModel:
    """A model that yt8m exported, whole: with what it says of itself, and servable."""
    model = load_model(directory)
    _ = model.info, model.serve
    return model


def load_model(directory: str, *, role: str = "the model") -> LoadedModel:
    """The model in `directory`, whoever made it; UserError says what is missing for scoring."""
    if not storage.exists(storage.join(directory, MODEL_FILE)):
        if not storage.exists(directory):
            raise UserError(f"{role} {directory}: no such file or directory")
        raise UserError(f"{role} {directory}: holds no {MODEL_FILE}, so it is not a SavedModel")
    check_findable(directory, role)
    try:
        with _on_this_machine(directory) as local:
            loaded = tf.saved_model.load(local)
    except Exception as error:  # TensorFlow raises whatever it happens to meet in broken files
        raise DataError(
            f"{role} {directory} is damaged, it cannot be loaded: {tf_reason(error)}"
        ) from error
    _check_signature(loaded, f"{role} {directory}")
    return LoadedModel(directory, loaded, role)


def check_findable(directory: str, role: str) -> None:
    """UserError where TensorFlow would not find the weights."""
    if problem := unfindable(directory):
        raise UserError(f"{role} {directory}: {problem}; move the model to a directory without it")


@contextlib.contextmanager
def _on_this_machine(directory: str) -> Iterator[str]:
    """Its files where TensorFlow finds them, which has no `s3://`."""
    if storage.local_path(directory) is not None:
        yield directory
        return
    with tempfile.TemporaryDirectory(prefix="yt8m-model-") as copy:
        storage.copy_tree(directory, copy)
        yield copy


def _check_signature(loaded: Any, name: str) -> None:
    if SCORES not in getattr(loaded, "signatures", {}):
        raise UserError(f"{name}: no signature `{SCORES}`; {_known(loaded)}. {_capital(_FORM)}")
    signature = loaded.signatures[SCORES]
    takes = signature.structured_input_signature[1]
    gives = signature.structured_outputs
    if set(takes) != {_RECORDS} or {SCORES, _VIDEO_ID} - set(gives):
        raise UserError(
            f"{name}: its signature `{SCORES}` takes {', '.join(sorted(takes))} and gives "
            f"{', '.join(sorted(gives))}; {_FORM}"
        )
    if takes[_RECORDS].dtype != tf.string or gives[SCORES].shape.rank not in (None, 2):
        raise UserError(
            f"{name}: its signature `{SCORES}` takes {takes[_RECORDS].dtype.name} and gives scores "
            f"of shape {gives[SCORES].shape}; {_FORM}"
        )


def _known(loaded: Any) -> str:
    return f"it has: {', '.join(sorted(getattr(loaded, 'signatures', {}))) or 'none'}"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
