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

from yt8m.cli.shared_arguments import add_scoring_arguments
from yt8m.components.console.console import Console
from yt8m.components.console.quiet import quiet_tensorflow
from yt8m.components.storage.temporary import own_temporary_directory

if TYPE_CHECKING:
    from yt8m.components.artifacts.evaluation import Evaluation


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("--model", required=True, metavar="DIR", help="a SavedModel")
    add_scoring_arguments(parser)
    parser.add_argument("--baseline", metavar="DIR", help="a SavedModel to compare with")


@own_temporary_directory()
@quiet_tensorflow()
def run(args: argparse.Namespace, console: Console) -> None:
    """Print the metrics."""
    from yt8m.components.evaluator.model_evaluation import evaluate_files
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
