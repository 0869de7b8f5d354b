"""Learn from another model's probabilities: distillation.

The teacher is a SavedModel's signature `features`, which takes a batch as the network does. Its
weights become constants, so that every process and every strategy computes the same from the rows
alone, and a checkpoint holds nothing of it. TensorFlow is imported where a step is built: a run
that has nothing to do asks for the digest alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from yt8m.components import storage
from yt8m.components.artifacts.export_info import FEATURES, SCORES
from yt8m.components.artifacts.saved_model import MODEL_FILE
from yt8m.components.registry.find_model import find_model
from yt8m.schemas.errors import UserError
from yt8m.schemas.features import FeatureConfig, Level

if TYPE_CHECKING:
    from yt8m.components.trainer.config import TeacherConfig

_KEY = "trainer.teacher.saved_model"
_WEIGHTS = "variables/variables.index"

Teacher = Callable[[Mapping[str, Any]], Any]  # from a batch to probabilities [rows, classes]


def teacher_digest(saved_model: str, *, key: str = _KEY) -> str:
    """Changes when the teacher does, for cache keys, which else see a path; "" without one.

    `key` is the setting that names the model: others than the teacher are looked at in this way,
    too. Of the graph and of the weights' index, which holds a checksum of each weight.
    """
    if not saved_model:
        return ""
    directory = _find(saved_model, key)
    digest = hashlib.sha256(storage.read_bytes(storage.join(directory, MODEL_FILE)))
    if storage.exists(index := storage.join(directory, _WEIGHTS)):
        digest.update(storage.read_bytes(index))
    return digest.hexdigest()[:16]


def load_teacher(
    config: TeacherConfig | None, *, features: FeatureConfig, level: Level
) -> Teacher | None:
    """The teacher's function; UserError where it does not take these rows or know these classes."""
    if config is None:
        return None
    import tensorflow as tf

    from yt8m.components.export.freeze import freeze_signature
    from yt8m.components.export.load import load_model
    from yt8m.components.models.network import batch_spec

    directory = _find(config.saved_model, _KEY)
    model = load_model(directory, role="the teacher")
    if FEATURES not in model.loaded.signatures:
        raise UserError(
            f"trainer.teacher: {directory} has no signature `{FEATURES}`, which training calls; "
            "models that yt8m exported have one"
        )
    frozen = freeze_signature(directory, FEATURES, role="the teacher")
    wanted = {name: (s.dtype, s.shape[-1]) for name, s in batch_spec(features, level).items()}
    taken = {name: (t.dtype, t.shape[-1]) for name, t in frozen.inputs.items()}
    if taken != wanted:
        raise UserError(
            f"trainer.teacher: {directory} takes {_shown(taken)}, and the network in training "
            f"{_shown(wanted)}"
        )
    if frozen.outputs[SCORES].shape[-1] != features.num_classes:
        raise UserError(
            f"trainer.teacher: {directory} scores {frozen.outputs[SCORES].shape[-1]} classes, and "
            f"features.num_classes is {features.num_classes}"
        )
    names = sorted(frozen.inputs)
    call = frozen.prune([frozen.inputs[name] for name in names], frozen.outputs[SCORES])

    def probabilities(batch: Mapping[str, Any]) -> Any:
        return tf.stop_gradient(call(*(batch[name] for name in names)))

    return probabilities


def _find(saved_model: str, key: str) -> str:
    directory = find_model(saved_model)
    if not storage.exists(storage.join(directory, MODEL_FILE)):
        raise UserError(
            f"{key} = {saved_model!r}: neither a SavedModel (it holds "
            f"no {MODEL_FILE}) nor a push directory with a version in service"
        )
    return directory


def _shown(ends: Mapping[str, tuple[Any, Any]]) -> str:
    return ", ".join(f"{n} {d.name} [{size or 'rows'}]" for n, (d, size) in sorted(ends.items()))
