"""TFX's Transform as this pipeline uses it."""

from __future__ import annotations

from tfx import types
from tfx.components import Transform

from yt8m.components.transform.config import TransformConfig
from yt8m.schemas.code_digest import code_digest
from yt8m.schemas.config_tree import to_dict
from yt8m.schemas.features import FeatureConfig, Level

PREPROCESSING_FN = "yt8m.components.transform.preprocessing.preprocessing_fn"


def create_transform(
    config: TransformConfig,
    features: FeatureConfig,
    level: Level,
    *,
    sample: types.BaseChannel,
    schema: types.BaseChannel,
) -> Transform:
    """The graph alone, unless `config.materialize`; its time does not grow with the data."""
    return Transform(
        examples=sample,
        schema=schema,
        preprocessing_fn=PREPROCESSING_FN,
        materialize=config.materialize,
        disable_statistics=True,
        disable_analyzer_cache=True,
        custom_config={
            "level": level.value,
            "features": to_dict(features),
            "function": config.function,
            # A dotted path is hashed as text: this is what makes TFX's cache see the code.
            "code_version": code_digest(PREPROCESSING_FN, config.function),
        },
    )
