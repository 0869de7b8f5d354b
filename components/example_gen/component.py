"""The declaration of ExampleGen: our own, so that data are linked and not rewritten."""

from __future__ import annotations

from tfx.dsl.components.base import base_beam_component, executor_spec
from tfx.orchestration import data_types
from tfx.types import standard_artifacts

from yt8m.components.declaration import Declaration, channels, parameters
from yt8m.components.example_gen.config import DataConfig
from yt8m.components.example_gen.executor import Executor
from yt8m.schemas.code_digest import code_digest
from yt8m.schemas.config_tree import to_parameter
from yt8m.schemas.features import FeatureConfig


class ExampleGenSpec(Declaration):
    """What passes in and out; nodes of the configuration travel as JSON."""

    PARAMETERS = parameters(
        "config", "features", "data_root", "span", "cache_dir", "source_digest", "code_version"
    )
    INPUTS = channels()
    OUTPUTS = channels(examples=standard_artifacts.Examples, sample=standard_artifacts.Examples)


class ExampleGen(base_beam_component.BaseBeamComponent):
    """Outputs `examples`, all of the data, and `sample`, a bounded part for stock components.

    It has no TFX driver: spans are resolved in the executor, which runs wherever the pipeline
    does, and `source_digest` tells TFX's cache when the files have changed.
    """

    SPEC_CLASS = ExampleGenSpec
    EXECUTOR_SPEC = executor_spec.BeamExecutorSpec(Executor)

    def __init__(
        self,
        config: DataConfig,
        features: FeatureConfig,
        *,
        data_root: str | data_types.RuntimeParameter = "",
        span: str | data_types.RuntimeParameter = "",
        cache_dir: str = "",
        source_digest: str = "",
    ) -> None:
        """`data_root` and `span` override the configuration when not empty.

        `cache_dir` remembers verified shards between runs; `source_digest` comes from
        `sources.source_digest`, and is empty where nobody can look before the run starts.
        """
        super().__init__(
            ExampleGenSpec(
                config=to_parameter(config),
                features=to_parameter(features),
                data_root=data_root,
                span=span,
                cache_dir=cache_dir,
                source_digest=source_digest,
                code_version=code_digest(Executor.__module__, config.rewrite.keep),
            )
        )
