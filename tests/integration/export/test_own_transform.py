"""A transform of the user's own: the same vectors in training, in Transform's graph, and served."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from batches import MODELS, create_network
from records import read_all
from sources import FEATURES, batches, make_source
from transform_graphs import make_transform_graph

from yt8m.components.export.save import ExportSpec, export_model
from yt8m.components.inputs.config import FrameChoice, FrameSampling
from yt8m.components.inputs.dataset import dataset_for_scoring
from yt8m.components.models.config import DbofConfig, ModelConfig
from yt8m.components.models.heads import create_heads
from yt8m.schemas.features import Level

OWN = "own_transforms.apart"
DBOF = DbofConfig(clusters=32, hidden=16, frames=4)
CASES: dict[str, tuple[Level, ModelConfig]] = {
    "video": (Level.VIDEO, MODELS["mlp"]),
    "frame": (Level.FRAME, MODELS["netvlad_gated"]),
    "sampled": (Level.FRAME, DBOF),
    "averaged": (Level.FRAME, MODELS["frame_logistic"]),
    "segment": (Level.SEGMENT, MODELS["netvlad"]),
}


@pytest.mark.parametrize("with_graph", [False, True], ids=["arithmetic", "transform graph"])
@pytest.mark.parametrize("case", CASES)
def test_records_and_features_are_scored_as_in_training(
    case: str, with_graph: bool, tmp_path: Path
) -> None:
    level, model = CASES[case]
    source = make_source(tmp_path / "data", level, train=16, shards=2)
    heads = create_heads((), features=FEATURES, level=level)
    network = create_network(
        model, features=FEATURES, level=level, heads=heads, seed=3, transform=OWN
    )
    ours = create_network(model, features=FEATURES, level=level, heads=heads, seed=3)
    graph = None
    if with_graph:
        pattern = str(tmp_path / "data" / "train*")
        graph = str(
            make_transform_graph(pattern, tmp_path, level=level, features=FEATURES, function=OWN)
        )
    export_model(
        network,
        str(tmp_path / "model"),
        ExportSpec(level=level, features=FEATURES, transform_graph=graph),
    )
    sampling = (
        FrameSampling(choice=FrameChoice.RANDOM_FRAMES, frames=model.frames)
        if isinstance(model, DbofConfig)
        else None
    )
    (found,) = batches(dataset_for_scoring(source, batch_size=1000, sampling=sampling), 2)
    batch = {key: tf.constant(value) for key, value in found.items()}
    expected = network(batch)[heads[0].name].numpy()
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    records = tf.constant([r for shard in source.shards for r in read_all(Path(shard.uri))])
    by_records = loaded.signatures["scores"](examples=records)["scores"].numpy()
    names = [*FEATURES.names, *(["num_frames"] if level.is_sequence else [])]
    by_arrays = loaded.signatures["features"](**{n: batch[n] for n in names})["scores"].numpy()
    np.testing.assert_allclose(by_records, expected, atol=2e-6)
    np.testing.assert_allclose(by_arrays, expected, atol=2e-6)
    assert network.count_params() > ours.count_params()  # it takes a vector that is longer by one
