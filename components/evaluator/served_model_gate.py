"""The gate's decision about a served model, on records that it was not judged on before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from yt8m.components.artifacts.decision import Decision
from yt8m.components.artifacts.manifest import Shard
from yt8m.components.evaluator.config import EvaluatorConfig, GateConfig
from yt8m.components.evaluator.evaluation import evaluate
from yt8m.components.evaluator.gate import EXAMPLE_COUNT, decide
from yt8m.components.evaluator.scoring import ShardScorer, check_models, create_plan
from yt8m.components.evaluator.thresholds import limits_of
from yt8m.components.records.vocabulary import load_vocabulary
from yt8m.schemas.features import FeatureConfig, Level


@dataclass(frozen=True, kw_only=True)
class ServedModelDecision:
    """The gate's decision, and whether it rests on examples enough."""

    decision: Decision
    has_enough_examples: bool


def decide_served_model(
    model: str,
    shards: Sequence[Shard],
    config: EvaluatorConfig,
    gate: GateConfig,
    *,
    level: Level,
    features: FeatureConfig,
) -> ServedModelDecision:
    """Apply the gate's thresholds on values to `model`; there is no baseline.

    Thresholds on metrics that evaluator.eval_config adds are left out: they need TFMA's own pass.
    """
    plan = create_plan(config, model=model, baseline=None, level=level, features=features)
    notes = check_models(plan)
    vocabulary = None
    if config.vocabulary:
        vocabulary = load_vocabulary(config.vocabulary, num_classes=features.num_classes)
    evaluation = evaluate(
        ShardScorer(plan).score(shards), config, level=level, vocabulary=vocabulary, notes=notes
    )
    known = (*evaluation.overall.candidate, EXAMPLE_COUNT)
    limits = [limit for limit in limits_of(gate) if limit.metric in known]
    decision = decide(evaluation, limits, mode=gate.mode)
    # Of a model that gives no numbers no example is evaluated, and yet all is known.
    enough = bool(evaluation.broken) or evaluation.examples >= gate.min_examples
    return ServedModelDecision(decision=decision, has_enough_examples=enough)
