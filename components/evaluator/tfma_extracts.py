"""Single scored examples in TFMA's form, for metrics that TFMA computes itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow_model_analysis as tfma

from yt8m.components.evaluator.config import SliceConfig
from yt8m.components.evaluator.score_table import CANDIDATE, Scored
from yt8m.components.evaluator.scoring import ScoredBatch
from yt8m.components.evaluator.slices import slices_of
from yt8m.schemas.vocabulary import Vocabulary


@dataclass(frozen=True, kw_only=True)
class Extracts:
    """How examples are handed over: which slices they are in."""

    slices: tuple[SliceConfig, ...]
    vocabulary: Vocabulary | None = None

    def of(self, batch: ScoredBatch, part: Scored) -> Iterator[dict[str, Any]]:
        """The examples of `batch`, whose metrics are `part`; labels are multi-hot rows."""
        rows = len(batch.facts)
        keys: list[list[tuple[tuple[str, str], ...]]] = [[()] for _ in range(rows)]
        for found in slices_of(part, self.slices, self.vocabulary):
            for row in np.flatnonzero(found.chosen).tolist():
                keys[row].append(((found.column, found.value),))
        scores = {name: _weighted(values, batch) for name, values in batch.scores.items()}
        hot = np.zeros(scores[CANDIDATE].shape, np.float32)
        videos, columns = np.nonzero(batch.facts.labels >= 0)
        hot[videos, batch.facts.labels[videos, columns]] = 1.0
        for row in range(rows):
            yield {
                tfma.LABELS_KEY: _by_model(dict.fromkeys(scores, hot[row])),
                tfma.PREDICTIONS_KEY: _by_model(
                    {name: values[row] for name, values in scores.items()}
                ),
                tfma.SLICE_KEY_TYPES_KEY: keys[row],
            }


def _weighted(scores: np.ndarray, batch: ScoredBatch) -> np.ndarray:
    return scores if batch.label_weights is None else scores * batch.label_weights


def _by_model(values: dict[str, np.ndarray]) -> Any:
    """TFMA keys by model only where there are several."""
    return values if len(values) > 1 else values[CANDIDATE]
