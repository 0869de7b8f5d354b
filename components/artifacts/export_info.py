"""An export's description of itself: `assets.extra/yt8m_export.json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from yt8m.components import storage
from yt8m.components.artifacts.read import read_file
from yt8m.schemas.errors import UserError
from yt8m.schemas.features import FeatureConfig, Level
from yt8m.schemas.json_file import JsonFile

FILE_NAME = "assets.extra/yt8m_export.json"

SERVING = "serving_default"
SCORES = "scores"
FEATURES = "features"
HEADS = "heads"  # of models that have several heads: the scores of each by its name
MEAN_FRAMES = "mean_frames"  # of models that look at a video's mean frame alone
DECISIONS = "decisions"  # of models of whole videos: which of the best classes to accept

TOP_K = 20  # classes that a model serves, where nobody says how many
ENTITIES = "entities"  # the head of models that have one and do not name it


@dataclass(frozen=True, kw_only=True)
class ExportInfo(JsonFile):
    """Enough to read records for the model, and to build its network again."""

    level: Level
    features: FeatureConfig
    head: str  # whose scores the signatures give
    heads: dict[str, int]  # number of classes of each head
    top_k: int
    has_class_names: bool = False
    has_transform_graph: bool = False
    config: dict[str, Any] = field(default_factory=dict)  # as the trainer had it


def foreign_info(
    level: Level, features: FeatureConfig, config: Mapping[str, Any] | None = None
) -> ExportInfo:
    """The info of a model from elsewhere, of whose one head only the classes are known."""
    classes = features.num_classes
    return ExportInfo(
        level=level,
        features=features,
        head=ENTITIES,
        heads={ENTITIES: classes},
        top_k=min(TOP_K, classes),
        config=dict(config or {}),
    )


def trained_configuration(given: Mapping[str, Any], exported: Mapping[str, Any]) -> dict[str, Any]:
    """The run's, as `given`; after a Tuner the exported model alone knows the trainer's values."""
    return {**given, "trainer": dict(exported)} if given.get("tuner") and exported else dict(given)


def load_info(directory: str) -> ExportInfo:
    """The info of the export in `directory`; UserError where there is none or it is damaged."""
    path = storage.join(directory, FILE_NAME)
    try:
        return read_file(path, ExportInfo.from_json, advice="restore the model, or export it again")
    except FileNotFoundError:
        raise UserError(
            f"{directory}: has no {FILE_NAME}, so it is not a model that yt8m exported"
        ) from None
