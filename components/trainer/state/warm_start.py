"""Start from another model's weights: what fits by name and shape is taken over, and logged.

TensorFlow takes seconds to import, and a run that has nothing to do asks for digests alone.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from yt8m.components import storage
from yt8m.components.artifacts.saved_model import unfindable
from yt8m.components.trainer.config import WeightSource
from yt8m.schemas.errors import UserError

_log = logging.getLogger(__name__)
_INDEX = re.compile(r".*-(?P<step>[0-9]+)\.index")
_GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"


@dataclass(frozen=True, kw_only=True)
class Matches:
    """Outcome for each weight of a warm start."""

    taken: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()  # of the network, not found there
    other_shape: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{len(self.taken)} weights taken over: {', '.join(self.taken) or 'none'}"]
        if self.other_shape:
            lines.append(f"with another shape, newly initialised: {', '.join(self.other_shape)}")
        if self.absent:
            lines.append(f"not there, newly initialised: {', '.join(self.absent)}")
        return "; ".join(lines)


def warm_start(
    network: Any, source: str, rules: Sequence[WeightSource] = (), *, required: bool = True
) -> Matches | None:
    """Copy from `source`, an export or a checkpoint, what matches; None where there is none.

    `rules` say which weights are taken, and what they are called there; without any it is all.

    Not `required` is the baseline, which may be a model of quite another kind: where nothing of it
    fits, training begins with new weights and says so.
    """
    if not source:
        return None
    try:
        return _take_over(network, source, rules)
    except UserError as error:
        if required:
            raise
        _log.warning("%s; training begins with new weights", error)
        return None


def _take_over(network: Any, source: str, rules: Sequence[WeightSource]) -> Matches:
    values = read_weights(source)
    taken, absent, other_shape = [], [], []
    for variable in network.weights:
        name = variable.name.partition(":")[0]
        there = _name_there(name, rules)
        label = name if there in ("", name) else f"{there} as {name}"
        if there not in values:
            absent.append(label)
        elif tuple(values[there].shape) != tuple(variable.shape):
            other_shape.append(f"{label} {tuple(values[there].shape)} -> {tuple(variable.shape)}")
        else:
            variable.assign(values[there])
            taken.append(label)
    matches = Matches(taken=tuple(taken), absent=tuple(absent), other_shape=tuple(other_shape))
    if not taken:
        raise UserError(f"warm start from {source}: it has no weight of this model ({matches})")
    _log.info("warm start from %s: %s", source, matches)
    return matches


def _name_there(name: str, rules: Sequence[WeightSource]) -> str:
    """The name of the weight to take for `name`; empty for none."""
    if not rules:
        return name
    for rule in rules:
        if match := re.fullmatch(rule.weights, name):
            return match.expand(rule.source) if rule.source else ""
    return ""


def read_weights(source: str) -> dict[str, Any]:
    """Weights by the names that they had in the network, from an export or a checkpoint."""
    import tensorflow as tf
    from tensorflow.core.protobuf import trackable_object_graph_pb2

    if problem := unfindable(source):
        raise UserError(f"warm start from {source}: {problem}; move it to a directory without it")
    try:
        reader = tf.train.load_checkpoint(find_checkpoint(source))
    except (tf.errors.OpError, ValueError) as error:
        raise UserError(f"warm start from {source}: cannot be read as a checkpoint") from error
    if not reader.has_tensor(_GRAPH_KEY):
        raise UserError(f"warm start from {source}: not a checkpoint of TensorFlow 2 objects")
    graph = trackable_object_graph_pb2.TrackableObjectGraph.FromString(
        reader.get_tensor(_GRAPH_KEY)
    )
    weights = {}
    for node in graph.nodes:
        for attribute in node.attributes:
            is_slot = attribute.checkpoint_key.startswith("optimizer/")
            if attribute.full_name and not is_slot and reader.has_tensor(attribute.checkpoint_key):
                weights[attribute.full_name] = reader.get_tensor(attribute.checkpoint_key)
    return weights


def list_checkpoints(directory: str) -> list[str]:
    """The checkpoints in `directory` by their own files, the newest last.

    TensorFlow looks at its `checkpoint` file alone, which a copy may lack and a crash may empty.
    """
    if not storage.is_dir(directory):
        return []
    steps = {}
    for name in storage.list_dir(directory):
        if match := _INDEX.fullmatch(name):
            steps[int(match["step"])] = storage.join(directory, name.removesuffix(".index"))
    return [steps[step] for step in sorted(steps)]


def find_checkpoint(source: str) -> str:
    """The checkpoint that `source` (an export, a checkpoint, a directory of them) is or holds."""
    for path in (storage.join(source, "variables", "variables"), source):
        if storage.exists(f"{path}.index"):
            return path
    newest = None
    if storage.exists(storage.join(source, "checkpoint")):
        import tensorflow as tf

        with suppress(ValueError):  # an empty or damaged file
            newest = tf.train.latest_checkpoint(source)
    newest = newest or next(reversed(list_checkpoints(source)), None)
    if newest is None:
        raise UserError(
            f"warm start from {source}: neither an export (variables/variables.index) nor a "
            "checkpoint is there"
        )
    return str(newest)


def weights_digest(source: str) -> str:
    """Changes when the weights do, for cache keys, which else see a path; "" for no source.

    The checkpoint's index is read, which holds a checksum of each weight.
    """
    if not source:
        return ""
    index = storage.read_bytes(f"{find_checkpoint(source)}.index")
    return hashlib.sha256(index).hexdigest()[:16]
