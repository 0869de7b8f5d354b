"""The declaration of Evaluator."""

from __future__ import annotations

from tfx import types
from tfx.dsl.components.base import base_beam_component, executor_spec
from tfx.orchestration import data_types
from tfx.types import standard_artifacts

from yt8m.components.declaration import Declaration, channels, parameters
from yt8m.components.evaluator.config import EvaluatorConfig, GateConfig
from yt8m.components.evaluator.executor import Executor
from yt8m.components.evaluator.tfma_user_metrics import parse_user_metrics
from yt8m.schemas.code_digest import code_digest
from yt8m.schemas.config_tree import to_parameter
from yt8m.schemas.features import FeatureConfig


class EvaluatorSpec(Declaration):
    """What passes in and out."""

    PARAMETERS = parameters(
        "config",
        "gate",
        "features",
        "gap_threshold",
        "gap_change_threshold",
        "vocabulary_digest",
        "code_version",
    )
    INPUTS = channels(
        examples=standard_artifacts.Examples, model=standard_artifacts.Model
    ) | channels(optional=True, baseline_model=standard_artifacts.Model)
    OUTPUTS = channels(
        evaluation=standard_artifacts.ModelEvaluation, blessing=standard_artifacts.ModelBlessing
    )


class Evaluator(base_beam_component.BaseBeamComponent):
    """Outputs `evaluation`, which TFMA reads, and `blessing`, which Pusher reads."""

    SPEC_CLASS = EvaluatorSpec
    EXECUTOR_SPEC = executor_spec.BeamExecutorSpec(Executor)

    def __init__(  # noqa: PLR0913  (the edges of the graph)
        self,
        config: EvaluatorConfig,
        gate: GateConfig,
        *,
        features: FeatureConfig,
        examples: types.BaseChannel,
        model: types.BaseChannel,
        baseline_model: types.BaseChannel | None = None,
        gap_threshold: str | data_types.RuntimeParameter = "",
        gap_change_threshold: str | data_types.RuntimeParameter = "",
        vocabulary_digest: str = "",
    ) -> None:
        """Thresholds given as text win over `gate`'s; "" is as configured there.

        `vocabulary_digest` tells TFX's cache when the file that `config` names has changed.
        """
        parse_user_metrics(
            config.eval_config, has_baseline=True
        )  # a mistake shows before the run starts
        super().__init__(
            EvaluatorSpec(
                config=to_parameter(config),
                gate=to_parameter(gate),
                features=to_parameter(features),
                gap_threshold=gap_threshold,
                gap_change_threshold=gap_change_threshold,
                vocabulary_digest=vocabulary_digest,
                code_version=code_digest(Executor.__module__, *config.own_modules),
                examples=examples,
                model=model,
                baseline_model=baseline_model,
            )
        )
