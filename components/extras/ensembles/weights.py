"""The weights of an ensemble's members, fitted on labelled records.

A mixture of the members' Bernoulli distributions, whose likelihood is maximised by expectation
maximisation: it rises with every turn to the one maximum that there is. Of each row the labels and
the classes count that are among some member's best; of the others all members say no alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from yt8m.components.artifacts.manifest import Shard
from yt8m.components.export.load import LoadedModel, Scores
from yt8m.components.inputs.labels import (
    LabelRequest,
    RecordLabels,
    check_classes,
    parse_labels,
)
from yt8m.components.inputs.shards import read_batches
from yt8m.components.metrics import finite_rows
from yt8m.components.metrics.topk import top_k
from yt8m.schemas.errors import DataError
from yt8m.schemas.features import FeatureConfig, Level

_TOP_K = 20
_RECORDS_AT_ONCE = 256
_MAX_ROWS = 200_000  # what is kept of them takes some 100 MB a member
_TURNS, _TOLERANCE = 1000, 1e-6
_LEAST = 1e-6  # likelihood of what a member says, which may be wrong for certain


def fit_weights(
    models: Sequence[LoadedModel],
    shards: Sequence[Shard],
    *,
    level: Level,
    advance: Callable[[int], None],
) -> tuple[list[float], int]:
    """The weights, which add up to 1, and of how many rows they are."""
    parts: list[np.ndarray] = []
    rows = labelled = 0
    for shard in shards:
        for records in read_batches([shard], _RECORDS_AT_ONCE):
            labels = parse_labels(records, LabelRequest(level=level, features=FeatureConfig()))
            if len(labels) and rows < _MAX_ROWS:
                results = [model.score_records(records) for model in models]
                scores = [
                    _checked_scores(model, result, labels)
                    for model, result in zip(models, results, strict=True)
                ]
                _require_same_classes(models, scores)
                check_classes(labels, scores[0].shape[1])
                parts.append(_likelihoods(scores, labels))
                rows += len(labels)
                labelled += _count_labelled(labels)
        advance(1)
    if not labelled:
        raise DataError("--data: holds no labelled rows, so that no weights can be fitted")
    return maximise(np.concatenate(parts, axis=1)).tolist(), rows


def maximise(likelihoods: np.ndarray) -> np.ndarray:
    """The mixture weights [M] that make `likelihoods` [M, outcomes] together most likely."""
    weights = np.full(len(likelihoods), 1 / len(likelihoods))
    for _ in range(_TURNS):
        joint = weights[:, None] * likelihoods
        new = (joint / joint.sum(axis=0)).mean(axis=1)
        moved = np.abs(new - weights).max()
        weights = new
        if moved < _TOLERANCE:
            break
    return weights / weights.sum()


def _likelihoods(scores: list[np.ndarray], labels: RecordLabels) -> np.ndarray:
    """[M, outcomes]: what each member gave to what came true, of the classes that count."""
    rows, classes = scores[0].shape
    counts = np.zeros((rows, classes), bool)
    truth = _marked(labels.labels, rows, classes)
    if labels.rated is not None:  # of the others nobody knows
        counts = _marked(labels.rated, rows, classes)
    else:
        for part in scores:
            np.put_along_axis(counts, top_k(part, _TOP_K)[1], True, axis=1)
        counts |= truth
    true = truth[counts]
    likelihoods = [np.where(true, part[counts], 1 - part[counts]) for part in scores]
    return np.maximum(np.stack(likelihoods), _LEAST).astype(np.float32)


def _marked(ids: np.ndarray, rows: int, classes: int) -> np.ndarray:
    marks = np.zeros((rows, classes), bool)
    row, column = np.nonzero(ids >= 0)
    marks[row, ids[row, column]] = True
    return marks


def _require_same_classes(models: Sequence[LoadedModel], scores: Sequence[np.ndarray]) -> None:
    """Of members whose signatures do not say it, only their scores tell."""
    first, *others = (part.shape[1] for part in scores)
    for model, classes in zip(models[1:], others, strict=True):
        if classes != first:
            raise DataError(
                f"{model.directory} scores {classes} classes, and {models[0].directory} {first}; "
                "the members of an ensemble score the same"
            )


def _count_labelled(labels: RecordLabels) -> int:
    """Rows that something is known of; of a rated segment it may be what it does not show."""
    known = labels.labels if labels.rated is None else labels.rated
    return int(np.count_nonzero((known >= 0).any(axis=1)))


def _checked_scores(model: LoadedModel, result: Scores, labels: RecordLabels) -> np.ndarray:
    """The member's scores [R, C], finite, of the rows of `labels`."""
    ids, scores = result.ids, result.scores.numpy()
    if len(ids) != len(labels) or (ids != labels.ids).any():
        raise DataError(
            f"{model.directory} gives {len(ids)} rows for records that hold {len(labels)}, or in "
            "another order"
        )
    finite = finite_rows(scores)
    if not finite.all():
        row = int(np.argmin(finite))
        value = scores[row][~np.isfinite(scores[row])][0]
        raise DataError(
            f"video {labels.names[row]}: {model.directory} predicts {value}, no number that "
            "weights can be fitted to; leave this member out, or export it again"
        )
    return scores
