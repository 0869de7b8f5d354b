"""Plan of a prediction: the model, the records, and the form of the file."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from yt8m.schemas.features import Level, SegmentScoring

TOP_K = 20
MAX_SEGMENTS = 100_000  # of each class in a segment submission, by the rules of 2019


class Format(enum.Enum):
    """File format of predictions."""

    VIDEO = "video"  # the competitions' of 2017 and 2018, VideoId,LabelConfidencePairs
    SEGMENT = "segment"  # the 2019 competition's, Class,Segments
    JSONL = "jsonl"
    TFRECORD = "tfrecord"
    PARQUET = "parquet"


@dataclass(frozen=True, kw_only=True)
class PredictionPlan:
    """Everything that decides what is written; plain values, so that Beam can send it."""

    model: str
    level: Level
    format: Format
    top_k: int | None = TOP_K  # classes of each row; None: all that are allowed
    classes: tuple[int, ...] | None = None  # the allowed ones, in ascending order; None: all
    batch_size: int | None = None
    segments: SegmentScoring | None = None  # how a model of whole videos scores segments
    context: str = ""  # the model that scores the whole videos; empty: the same
    max_segments: int = MAX_SEGMENTS  # of each class, in a segment submission
    precision: float | None = None  # of what is written; None: all of the best are

    @property
    def records_at_once(self) -> int:
        """Records a batch."""
        return self.batch_size or self.level.records_at_once
