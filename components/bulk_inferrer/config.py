"""Settings of BulkInferrer: the split to predict, and the form of the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from yt8m.components.predictions.plan import MAX_SEGMENTS, TOP_K, Format
from yt8m.schemas.config_tree import ConfigNode, require
from yt8m.schemas.features import SegmentScoring
from yt8m.schemas.limits import PositiveInt, not_empty
from yt8m.schemas.roles import Content, SourcePath


@dataclass(frozen=True, kw_only=True)
class BulkInferrerConfig(ConfigNode):
    """Predictions of the blessed model, as an artifact of the run."""

    # Split of the data to predict, labelled or not; `data.splits` names its files.
    split: Annotated[str, not_empty("a split of the data, e.g. test")] = "test"
    format: Format = Format.TFRECORD  # Format of the predictions, as in `yt8m predict`
    top_k: PositiveInt = TOP_K  # Number of predicted classes per row; format `segment` predicts all
    # Method by which a frame-level model scores segments; null: rows are whole videos, or plain
    # windows with format `segment`.
    segments: SegmentScoring | None = None
    # Model that scores the whole videos for `segments`; empty: the same model.
    context: Annotated[str, SourcePath(Content.MODEL)] = ""
    # Classes that may be predicted: `published`, `all`, or a CSV file; empty: with format `segment`
    # the 1,000 published ones if the model scores the 3,862 classes.
    segment_classes: str = ""
    max_segments: PositiveInt = MAX_SEGMENTS  # Number of segments per class in a file of segments

    def __post_init__(self) -> None:
        super().__post_init__()
        needed = not self.context or self.segments in (SegmentScoring.PRODUCT, SegmentScoring.MEAN)
        require(needed, "context", self.context, "omitted unless segments is product or mean")
