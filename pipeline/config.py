"""The whole configuration: every component's node, and the few that belong to the runner."""

from __future__ import annotations

from dataclasses import dataclass, field

from yt8m.components.baseline.config import BaselineConfig
from yt8m.components.evaluator.config import EvaluatorConfig, GateConfig
from yt8m.components.example_gen.config import DataConfig
from yt8m.components.models.config import FrameModelConfig, SegmentsHeadConfig
from yt8m.components.pusher.config import PusherConfig
from yt8m.components.report.config import ReportConfig
from yt8m.components.trainer.config import TrainerConfig
from yt8m.components.transform.config import TransformConfig
from yt8m.components.validation.config import ValidationConfig
from yt8m.pipeline.beam import BeamConfig
from yt8m.pipeline.metadata import MetadataConfig
from yt8m.pipeline.notify import NotifyConfig
from yt8m.pipeline.retention import RetentionConfig
from yt8m.pipeline.retrain import RetrainConfig
from yt8m.schemas.config_tree import require
from yt8m.schemas.features import FeatureConfig, Level


@dataclass(frozen=True, kw_only=True)
class PipelineConfig:
    """One run, completely described. `create_pipeline` needs nothing else."""

    name: str = "yt8m"
    root: str = ""  # artifacts, metadata, checkpoints, logs
    data: DataConfig = field(default_factory=DataConfig)
    features: FeatureConfig = field(default_factory=FeatureConfig)
    validation: ValidationConfig = field(default_factory=ValidationConfig)
    transform: TransformConfig = field(default_factory=TransformConfig)
    baseline: BaselineConfig = field(default_factory=BaselineConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    evaluator: EvaluatorConfig = field(default_factory=EvaluatorConfig)
    gate: GateConfig = field(default_factory=GateConfig)
    pusher: PusherConfig = field(default_factory=PusherConfig)
    report: ReportConfig = field(default_factory=ReportConfig)
    beam: BeamConfig = field(default_factory=BeamConfig)
    metadata: MetadataConfig = field(default_factory=MetadataConfig)
    retrain: RetrainConfig = field(default_factory=RetrainConfig)
    notify: NotifyConfig = field(default_factory=NotifyConfig)
    retention: RetentionConfig = field(default_factory=RetentionConfig)

    def __post_init__(self) -> None:
        """What holds between nodes."""
        level, model = self.data.level, self.trainer.model
        require(
            level.is_sequence or not isinstance(model, FrameModelConfig),
            "trainer.model.name",
            model.name,
            f"a model of video vectors where data.level is {level.value}; this one needs frames",
        )
        named = bool(self.evaluator.vocabulary) or not self.trainer.learns_verticals
        require(
            named,
            "evaluator.vocabulary",
            self.evaluator.vocabulary,
            "a vocabulary.csv where trainer.heads has verticals, which are read from it",
        )
        heads = [head.name for head in self.trainer.heads]
        rated = level is Level.SEGMENT or not any(
            isinstance(head, SegmentsHeadConfig) for head in self.trainer.heads
        )
        require(
            rated, "trainer.heads", heads, f"without segments where data.level is {level.value}"
        )
