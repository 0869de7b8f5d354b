"""An ensemble as a SavedModel of its own, with the signatures of every export."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from yt8m.components.artifacts.export_info import ENTITIES, FEATURES, SCORES, TOP_K, ExportInfo
from yt8m.components.export.load import LoadedModel
from yt8m.components.export.module import RecordsModule, concrete
from yt8m.components.export.save import save_module
from yt8m.components.models.network import batch_spec
from yt8m.schemas.errors import UserError
from yt8m.schemas.features import FeatureConfig, Level
from yt8m.schemas.vocabulary import Vocabulary

_OF_A_ROW = ("video_id", "segment_start")


class EnsembleModule(RecordsModule):
    """Each member's own graph and weights, and the weighted mean of what they give."""

    def __init__(
        self,
        models: Sequence[LoadedModel],
        weights: Sequence[float],
        *,
        top_k: int,
        class_names: Sequence[str] | None,
    ) -> None:
        super().__init__("yt8m_ensemble", top_k=top_k, class_names=class_names)
        self.members = [model.loaded for model in models]  # so that their variables are saved
        self._scores = [model.score for model in models]
        self._mixture = tuple(weights)

    def score(self, examples: tf.Tensor) -> dict[str, tf.Tensor]:
        results = [score(examples=examples) for score in self._scores]
        rows = {name: results[0][name] for name in _OF_A_ROW if name in results[0]}
        return {SCORES: self._mean([result[SCORES] for result in results]), **rows}

    def score_arrays(self, specs: dict[str, tf.TensorSpec]) -> Any:
        """The signature `features`, of what every member's takes."""
        return concrete(lambda **batch: self._score_arrays(batch), **specs)

    def _score_arrays(self, batch: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        results = [member.signatures[FEATURES](**batch)[SCORES] for member in self.members]
        return {SCORES: self._mean(results)}

    def _mean(self, scores: list[tf.Tensor]) -> tf.Tensor:
        pairs = zip(self._mixture, scores, strict=True)
        # Members from elsewhere may score in half precision, each in its own.
        return tf.add_n([weight * tf.cast(part, tf.float32) for weight, part in pairs])


def check_members(models: Sequence[LoadedModel]) -> int:
    """The number of classes; UserError unless all members score the same rows and classes."""
    if len(models) < 2:
        raise UserError("--models: an ensemble has two members or more")
    first = models[0]
    if first.num_classes is None:
        raise UserError(f"{first.directory}: its signature does not say how many classes it scores")
    for model in models[1:]:
        for what, one, other in (
            ("is of level", _level(first), _level(model)),
            ("scores classes:", first.num_classes, model.num_classes),
            ("reads the features", _features(first), _features(model)),
        ):
            if one != other and None not in (one, other):
                raise UserError(
                    f"{model.directory} {what} {other}, and {first.directory} {one}; the members "
                    "of an ensemble score the same rows and classes"
                )
    return first.num_classes


def export_ensemble(
    models: Sequence[LoadedModel],
    names: Sequence[str],
    weights: Sequence[float],
    directory: str,
    *,
    level: Level,
    vocabulary: Vocabulary | None = None,
) -> ExportInfo:
    """Write the ensemble to `directory`, complete or not at all; what is there is replaced.

    `names` are recorded: the directory of a member may be a copy that goes with this process.
    """
    classes = check_members(models)
    if vocabulary is not None and len(vocabulary) != classes:
        raise UserError(
            f"--vocabulary: has {len(vocabulary)} classes, and the models score {classes}"
        )
    described = next((model.info for model in models if model.level is not None), None)
    features = described.features if described else FeatureConfig(num_classes=classes)
    head = described.head if described else ENTITIES
    info = ExportInfo(
        level=level,
        features=features,
        head=head,
        heads={head: classes},
        top_k=min(TOP_K, classes),
        has_class_names=vocabulary is not None,
        has_transform_graph=any(m.level is not None and m.info.has_transform_graph for m in models),
        config={
            "ensemble": [
                {"model": name, "weight": weight}
                for name, weight in zip(names, weights, strict=True)
            ]
        },
    )
    module = EnsembleModule(
        models,
        weights,
        top_k=info.top_k,
        class_names=vocabulary.names if vocabulary else None,
    )
    signatures = module.signatures()
    if described and all(FEATURES in model.loaded.signatures for model in models):
        signatures[FEATURES] = module.score_arrays(batch_spec(features, level))
    # What other makers' models can read is not known for certain.
    all_described = all(model.level is not None for model in models)
    save_module(
        module,
        directory,
        signatures=signatures,
        info=info,
        warm_up=all_described,
    )
    return info


def _level(model: LoadedModel) -> str | None:
    return model.level.value if model.level else None


def _features(model: LoadedModel) -> str | None:
    return str(model.info.features.size_by_name) if model.level else None
