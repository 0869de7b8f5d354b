"""Write a network as a SavedModel: complete or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import tensorflow as tf

from yt8m.components import storage
from yt8m.components.artifacts.export_info import FILE_NAME, ExportInfo
from yt8m.components.artifacts.operating_points import ASSET_FILE, EMPTY_TABLE
from yt8m.components.artifacts.saved_model import BATCHING_FILE, MODEL_FILE, WARM_UP_FILE
from yt8m.components.export.module import ServingModule
from yt8m.components.export.tf_serving import batching_parameters, warm_up_requests
from yt8m.components.export.transform_graph import TransformGraph
from yt8m.components.models.network import Network
from yt8m.components.models.retrieval import Neighbours
from yt8m.components.storage.local import FULL
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.features import FeatureConfig, Level
from yt8m.schemas.vocabulary import Vocabulary


@dataclass(frozen=True, kw_only=True)
class ExportSpec:
    """Parts of an export beside the network."""

    level: Level
    features: FeatureConfig
    top_k: int = 20
    vocabulary: Vocabulary | None = None
    transform_graph: str | None = None  # directory of Transform's output; None: our arithmetic
    neighbours: Neighbours | None = None  # what is blended into the first head's scores
    config: Mapping[str, Any] = field(default_factory=dict)


def export_model(network: Network, directory: str, spec: ExportSpec) -> ExportInfo:
    """Save `network` under `directory`, replacing an export that is there.

    It computes in float32, whatever the network was trained in, and belongs to no strategy. Call
    it outside a strategy's scope, on the chief alone.
    """
    network = network.copy(compute_dtype="float32")
    if network.averages_frames:  # it has no use for frames that a Transform graph would make
        spec = replace(spec, transform_graph=None)
    info = _info(network, spec)
    module = ServingModule(
        network,
        level=spec.level,
        features=spec.features,
        top_k=spec.top_k,
        class_names=spec.vocabulary.names if info.has_class_names and spec.vocabulary else None,
        transform=TransformGraph(spec.transform_graph) if spec.transform_graph else None,
        neighbours=spec.neighbours,
    )
    save_module(module, directory, signatures=module.signatures(), info=info)
    return info


def save_module(
    module: tf.Module,
    directory: str,
    *,
    signatures: Mapping[str, Any],
    info: ExportInfo,
    warm_up: bool = True,
) -> None:
    """Write `module` and what it says of itself, complete or not at all, over what is there.

    `warm_up` adds requests for model servers; a model that cannot read them would not be served.
    """
    with _naming_full_disk(directory), storage.atomic_tree(directory, last=MODEL_FILE) as saved:
        # Nobody trains on from an export's graph, and gradients of loops cannot be saved.
        options = tf.saved_model.SaveOptions(experimental_custom_gradients=False)
        tf.saved_model.save(module, saved, signatures=signatures, options=options)
        # A loaded module brings the operating points of what it was before.
        if storage.exists(storage.join(saved, ASSET_FILE)):
            storage.write_text(storage.join(saved, ASSET_FILE), EMPTY_TABLE)
        storage.make_dirs(storage.join(saved, FILE_NAME.rpartition("/")[0]))
        storage.write_text(storage.join(saved, FILE_NAME), info.to_json())
        if warm_up:
            storage.write_bytes(storage.join(saved, WARM_UP_FILE), warm_up_requests(info))
        batching = batching_parameters(info.level)
        if batching is not None:
            storage.write_text(storage.join(saved, BATCHING_FILE), batching)


@contextlib.contextmanager
def _naming_full_disk(directory: str) -> Iterator[None]:
    """A disk without room as Python has it: TensorFlow's error looks like a fault of ours."""
    try:
        yield
    except tf.errors.OpError as error:
        for number in FULL:
            if os.strerror(number) in error.message:
                raise OSError(number, os.strerror(number), directory) from error
        raise


def _info(network: Network, spec: ExportSpec) -> ExportInfo:
    head = network.heads[0]
    named = spec.vocabulary is not None and head.groups_of_class is None
    if named and spec.vocabulary is not None and len(spec.vocabulary) != head.num_classes:
        raise ConfigError(
            f"features.num_classes = {head.num_classes}: the vocabulary has "
            f"{len(spec.vocabulary)} classes; the two must agree"
        )
    return ExportInfo(
        level=spec.level,
        features=spec.features,
        head=head.name,
        heads={h.name: h.num_classes for h in network.heads},
        top_k=min(spec.top_k, head.num_classes),
        has_class_names=named,
        has_transform_graph=spec.transform_graph is not None,
        config=dict(spec.config),
    )
