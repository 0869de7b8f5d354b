"""The declaration of ExampleGen: our own, so that data are linked and not rewritten."""

from __future__ import annotations

from typing import Annotated

from tfx.types import standard_artifacts

from yt8m.components.declaration import Output, Outside, RunTime, Step
from yt8m.components.example_gen.config import DataConfig, SplitRoles
from yt8m.components.example_gen.executor import Executor
from yt8m.schemas.features import FeatureConfig


class ExampleGen(Step, executor=Executor):
    """Outputs `examples`, all of the data, and `sample`, a bounded part for stock components.

    It has no TFX driver: the executor resolves spans, and runs wherever the pipeline does.
    """

    config: DataConfig
    features: FeatureConfig
    roles: SplitRoles = SplitRoles()
    # Both win over the configuration's unless empty.
    data_root: Annotated[str, RunTime()] = ""
    span: Annotated[str, RunTime()] = ""
    cache_dir: str = ""  # remembers verified shards between runs
    # As `sources.source_digest` computes it; "" where nobody can look before the run starts.
    source_digest: Annotated[str, Outside()] = ""

    examples = Output(standard_artifacts.Examples)
    sample = Output(standard_artifacts.Examples)
