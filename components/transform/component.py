"""TFX's Transform as this pipeline uses it."""

from __future__ import annotations

from tfx import types
from tfx.components import Transform

from yt8m.components.declaration import custom_config
from yt8m.components.transform.config import TransformConfig
from yt8m.schemas.features import FeatureConfig, Level

PREPROCESSING_FN = "yt8m.components.transform.preprocessing.preprocessing_fn"


def create_transform(
    config: TransformConfig,
    features: FeatureConfig,
    level: Level,
    *,
    examples: types.BaseChannel,
    schema: types.BaseChannel,
) -> Transform:
    """The graph alone, unless `config.materialize`; its time does not grow with the data.

    `examples` are a sample, or what is materialised.
    """
    return Transform(
        examples=examples,
        schema=schema,
        preprocessing_fn=PREPROCESSING_FN,
        materialize=config.materialize,
        disable_statistics=True,
        disable_analyzer_cache=True,
        custom_config=custom_config(
            PREPROCESSING_FN, level=level, features=features, config=config
        ),
    )
