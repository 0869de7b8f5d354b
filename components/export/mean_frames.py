"""Frame-level records scored by a model that looks at their mean frame, which numpy makes here.

A video at a time, while its record is in a processor's cache: less than half of what the export's
own graph takes for the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import tensorflow as tf

from yt8m.components.artifacts.export_info import MEAN_FRAMES, SCORES
from yt8m.components.export.load import LoadedModel, Scores
from yt8m.components.inputs.assemble import frames_of
from yt8m.components.preprocessing.arithmetic import mean_of_normalized_frames
from yt8m.components.records.decode import decode_record
from yt8m.schemas.features import ID, FeatureConfig

MEANS_AT_ONCE = 512  # a video is no more than its vector by then


def score_mean_frames(
    model: LoadedModel, records: Iterable[bytes], batch_size: int
) -> Iterator[Scores]:
    """Score in batches, as `score_records` does, with a model that has `score_means`.

    A record that is not read here is given to the model's graph, which reads it or says why not.
    """
    ids: list[bytes] = []
    means: list[np.ndarray] = []
    for record in records:
        try:
            name, mean = _mean(record, model.info.features)
        except ValueError:
            if ids:
                yield _score(model, ids, means)
                ids, means = [], []
            yield model.score_records(tf.constant([record]))
            continue
        ids.append(name)
        means.append(mean)
        if len(ids) == batch_size:
            yield _score(model, ids, means)
            ids, means = [], []
    if ids:
        yield _score(model, ids, means)


def _score(model: LoadedModel, ids: list[bytes], means: list[np.ndarray]) -> Scores:
    assert model.score_means is not None
    scores = model.score_means(**{MEAN_FRAMES: tf.constant(np.stack(means))})[SCORES]
    return Scores(scores=scores, ids=np.array(ids, object), starts=None)


def _mean(record: bytes, features: FeatureConfig) -> tuple[bytes, np.ndarray]:
    decoded = decode_record(record)
    frames = frames_of(decoded, features)
    ids = decoded.features.get(ID, (b"",))
    if len(ids) != 1 or not isinstance(ids[0], bytes):
        raise ValueError("an id that is not one text")
    return ids[0], mean_of_normalized_frames([frames[name] for name in features.names])
