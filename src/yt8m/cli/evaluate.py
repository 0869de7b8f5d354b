"""Action of `yt8m evaluate`."""

from __future__ import annotations

from typing import Any

from yt8m.cli.arguments.scoring import EvaluateArguments
from yt8m.cli.model_source import model_of
from yt8m.components.artifacts.estimate import estimate_text
from yt8m.components.artifacts.evaluation import Evaluation
from yt8m.components.console.console import Console
from yt8m.components.evaluator.model_evaluation import evaluate_files, evaluator_config
from yt8m.schemas.config_tree import to_dict


def run(args: EvaluateArguments, console: Console) -> None:
    """Print the metrics."""
    evaluation = evaluate_files(
        model_of(args.model, console),
        args.data,
        console,
        baseline=model_of(args.baseline, console) if args.baseline else None,
        config=evaluator_config(
            top_k=args.top_k,
            intervals=not args.no_intervals,
            segments=args.segments,
            context=model_of(args.context, console) if args.context else "",
        ),
        log_dir=args.log_dir,
    )
    for note in evaluation.notes:
        console.warn(note)
    console.result(_values(evaluation), _text(evaluation, console))


def _values(evaluation: Evaluation) -> dict[str, Any]:
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
