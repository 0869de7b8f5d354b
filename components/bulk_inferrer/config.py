"""Which split is predicted, and how it is written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from yt8m.components.predictions.plan import TOP_K, Format
from yt8m.schemas.config_tree import ConfigNode
from yt8m.schemas.limits import PositiveInt, not_empty


@dataclass(frozen=True, kw_only=True)
class BulkInferrerConfig(ConfigNode):
    """Predictions of the blessed model, as an artifact of the run."""

    # Of the examples, labelled or not; `data.splits` names its files.
    split: Annotated[str, not_empty("a split of the data, e.g. test")] = "test"
    format: Format = Format.TFRECORD  # as `yt8m predict` writes them
    top_k: PositiveInt = TOP_K  # classes of each row; format segment: all
