"""Which question a head asks, and what it shares with the others."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from batches import CLASSES, FEATURES, MODELS, create_network, make_batch

from yt8m.components.models.config import (
    EntitiesHeadConfig,
    HeadConfig,
    SegmentsHeadConfig,
    Sharing,
    VerticalsHeadConfig,
)
from yt8m.components.models.heads import create_heads, targets
from yt8m.schemas.config_tree import from_dict, to_dict
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.features import Level
from yt8m.schemas.vocabulary import Vocabulary

VOCABULARY = Vocabulary(
    names=tuple(f"class {i}" for i in range(CLASSES)),
    # Class i is in vertical i % 3, the even ones in vertical 3 too.
    verticals_of_class=tuple((i % 3, 3) if i % 2 == 0 else (i % 3,) for i in range(CLASSES)),
    verticals=("a", "b", "c", "d"),
)
BOTH: tuple[HeadConfig, ...] = (EntitiesHeadConfig(), VerticalsHeadConfig())


def test_verticals_of_a_video_are_those_of_its_labels_each_once() -> None:
    _, verticals = create_heads(BOTH, features=FEATURES, level=Level.VIDEO, vocabulary=VOCABULARY)
    labels = tf.constant([[0, 3, -1], [5, -1, -1], [-1, -1, -1]], tf.int64)
    ids = targets(verticals, {"labels": labels}).ids.numpy()
    assert [sorted(row[row >= 0].tolist()) for row in ids] == [[0, 3], [2], []]


def test_there_are_as_many_verticals_as_the_vocabulary_has() -> None:
    heads = create_heads(BOTH, features=FEATURES, level=Level.VIDEO, vocabulary=VOCABULARY)
    assert {head.name: head.num_classes for head in heads} == {"entities": CLASSES, "verticals": 4}


def test_at_segment_level_the_segments_head_counts_rated_classes_and_entities_the_videos() -> None:
    heads = create_heads(
        (SegmentsHeadConfig(), EntitiesHeadConfig()), features=FEATURES, level=Level.SEGMENT
    )
    batch = make_batch(Level.SEGMENT)
    segments, entities = (targets(head, batch) for head in heads)
    assert segments.ids is batch["labels"]
    assert segments.counted is batch["rated"]
    assert entities.ids is batch["video_labels"]
    assert entities.counted is None


@pytest.mark.parametrize(
    ("configs", "level", "message"),
    [
        (BOTH, Level.VIDEO, "needs a vocabulary"),
        ((SegmentsHeadConfig(),), Level.FRAME, "needs rated segments"),
        ((EntitiesHeadConfig(), EntitiesHeadConfig()), Level.VIDEO, "distinct"),
    ],
)
def test_heads_that_cannot_be_asked_are_refused(
    configs: tuple[HeadConfig, ...], level: Level, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        create_heads(configs, features=FEATURES, level=level)


def test_a_vocabulary_of_another_size_is_refused() -> None:
    small = Vocabulary(names=("x",), verticals_of_class=((0,),), verticals=("a",))
    with pytest.raises(ConfigError, match=rf"num_classes = {CLASSES}.* 1 classes"):
        create_heads((), features=FEATURES, level=Level.VIDEO, vocabulary=small)


@pytest.mark.parametrize("sharing", list(Sharing))
def test_heads_share_what_the_configuration_says(sharing: Sharing) -> None:
    heads = create_heads(BOTH, features=FEATURES, level=Level.VIDEO, vocabulary=VOCABULARY)
    network = create_network(
        MODELS["mlp"], features=FEATURES, level=Level.VIDEO, heads=heads, sharing=sharing
    )
    outputs = network(make_batch(Level.VIDEO))
    assert {name: out.shape[1] for name, out in outputs.items()} == {
        "entities": CLASSES,
        "verticals": 4,
    }
    kernels = [w.name for w in network.weights if "kernel" in w.name]
    trunks = [name for name in kernels if "trunk" in name]
    ends = [name for name in kernels if "classifier" in name]
    per_trunk = 3  # the first layer and two blocks
    assert (len(trunks) // per_trunk, len(ends)) == {
        Sharing.ALL: (1, 1),
        Sharing.TRUNK: (1, 2),
        Sharing.NOTHING: (2, 2),
    }[sharing]


def test_with_one_output_a_vertical_is_there_when_any_of_its_classes_is() -> None:
    heads = create_heads(BOTH, features=FEATURES, level=Level.VIDEO, vocabulary=VOCABULARY)
    network = create_network(
        MODELS["logistic"], features=FEATURES, level=Level.VIDEO, heads=heads, sharing=Sharing.ALL
    )
    outputs = {name: out.numpy() for name, out in network(make_batch(Level.VIDEO)).items()}
    for vertical in range(4):
        members = [i for i, v in enumerate(VOCABULARY.verticals_of_class) if vertical in v]
        expected = 1 - np.prod(1 - outputs["entities"][:, members], axis=1)
        np.testing.assert_allclose(outputs["verticals"][:, vertical], expected, rtol=1e-4)


def test_head_configurations_survive_json() -> None:
    from yt8m.components.trainer.config import TrainerConfig

    config = TrainerConfig(heads=(*BOTH, SegmentsHeadConfig()), model=MODELS["netvlad_gated"])
    assert from_dict(TrainerConfig, to_dict(config)) == config
