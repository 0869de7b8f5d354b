"""Score an exported model on records: GAP, MAP, PERR, Hit@1 and loss, with intervals.

The model is scored by its own `scores` signature, so what is measured is what will serve. With a
baseline both are scored in one pass, and the difference is paired. Records may be of any level;
at segment level the rated segments are scored.

examples:
  yt8m evaluate --model push/3 --data data/validation
  yt8m evaluate --model push/4 --baseline push/3 --data 'data/validate*.tfrecord' --json
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from yt8m.components.commands.arguments import add_scoring_arguments
from yt8m.components.console.console import Console
from yt8m.components.console.quiet import quiet_tensorflow
from yt8m.components.storage.temporary import own_temporary_directory
from yt8m.schemas.errors import DataError, UserError

if TYPE_CHECKING:
    from yt8m.components.artifacts.evaluation import Evaluation
    from yt8m.components.artifacts.manifest import Shard
    from yt8m.components.evaluator.config import EvaluatorConfig
    from yt8m.components.evaluator.score_table import ScoreTable
    from yt8m.components.evaluator.scoring import ScoringPlan
    from yt8m.schemas.features import FeatureConfig


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--model", required=True, metavar="DIR", help="a SavedModel")
    add_scoring_arguments(parser)
    parser.add_argument("--baseline", metavar="DIR", help="a SavedModel to compare with")


@own_temporary_directory()
@quiet_tensorflow()
def run(args: argparse.Namespace, console: Console) -> None:
    """Print the metrics."""
    from yt8m.components.registry.find_model import find_model

    evaluation = evaluate_files(
        find_model(args.model),
        args.data,
        console,
        baseline=find_model(args.baseline) if args.baseline else None,
        top_k=args.top_k,
        replicates=args.replicates,
    )
    for note in evaluation.notes:
        console.warn(note)
    console.result(_values(evaluation), _text(evaluation, console))


def evaluate_files(
    model: str,
    place: str,
    console: Console,
    *,
    baseline: str | None = None,
    top_k: int = 20,
    replicates: int = 200,
) -> Evaluation:
    """The evaluation of a SavedModel on the records at `place`; DataError where it has none."""
    from yt8m.components.evaluator.evaluation import evaluate
    from yt8m.components.evaluator.scoring import check_models, create_plan
    from yt8m.components.records.find import find_level, find_shards

    config = evaluator_config(top_k=top_k, replicates=replicates)
    shards = find_shards(place)
    plan = create_plan(
        config,
        model=model,
        baseline=baseline,
        level=find_level(shards),
        features=features_of(model),
    )
    for note in check_models(plan):
        console.warn(note)
    scored = _score(plan, shards, console)
    if scored.broken:
        raise DataError(next(iter(scored.broken.values())))
    return evaluate(scored, config, level=plan.level)


def evaluator_config(*, top_k: int, replicates: int) -> EvaluatorConfig:
    """The Evaluator's node as a command's arguments have it; ConfigError where they are wrong."""
    from yt8m.components.evaluator.config import BootstrapConfig, EvaluatorConfig
    from yt8m.schemas.config_tree import from_dict, to_dict

    bootstrap = to_dict(BootstrapConfig()) | {"replicates": replicates}
    return from_dict(EvaluatorConfig, {"top_k": top_k, "bootstrap": bootstrap})


def features_of(model: str) -> FeatureConfig:
    """What is read for `model`; UserError where it does not say how many classes it scores."""
    from yt8m.components.export.load import load_model
    from yt8m.schemas.features import FeatureConfig

    classes = load_model(model).num_classes
    if classes is None:
        raise UserError(f"{model}: its signature does not say how many classes it scores")
    return FeatureConfig(num_classes=classes)


def _score(plan: ScoringPlan, shards: list[Shard], console: Console) -> ScoreTable:
    from yt8m.components.evaluator.score_table import merge_tables
    from yt8m.components.evaluator.scoring import ShardScorer, empty_table
    from yt8m.components.inputs.shards import group_shards

    scorer = ShardScorer(plan)
    parts = [empty_table(plan)]
    with console.progress("evaluate", total=len(shards), unit="shards") as progress:
        for group in group_shards(shards):
            parts.append(scorer.score(group))
            progress.advance(len(group), note=f"{sum(len(part) for part in parts):,} examples")
    return merge_tables(parts)


def _values(evaluation: Evaluation) -> dict[str, Any]:
    from yt8m.schemas.config_tree import to_dict

    overall = evaluation.overall
    result: dict[str, Any] = {name: e.value for name, e in overall.candidate.items()}
    result |= {"videos": evaluation.videos, "examples": evaluation.examples}
    result |= {"level": evaluation.level.value, "confidence": evaluation.confidence}
    for name, estimate in overall.candidate.items():
        result |= {f"{name}_lower": estimate.lower, f"{name}_upper": estimate.upper}
    if overall.baseline:
        result["baseline"] = {name: e.value for name, e in overall.baseline.items()}
        result["difference"] = to_dict(overall.difference)
    return result


def _text(evaluation: Evaluation, console: Console) -> str:
    from yt8m.components.artifacts.estimate import estimate_text

    overall = evaluation.overall
    columns = ["metric", "model"]
    rows = [[name, estimate_text(e)] for name, e in overall.candidate.items()]
    if overall.baseline:
        columns += ["baseline", "difference"]
        for row in rows:
            row.append(estimate_text(overall.baseline[row[0]]))
            row.append(estimate_text(overall.difference[row[0]], sign="+"))
    among = f", {evaluation.examples:,} rows" if evaluation.examples != evaluation.videos else ""
    return f"{console.table(columns, rows)}\n{evaluation.videos:,} videos{among}"
