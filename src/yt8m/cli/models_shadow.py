"""Action of `yt8m models shadow`."""

from __future__ import annotations

from typing import Any

from yt8m.cli.arguments.models import ModelsShadowArguments
from yt8m.components.artifacts.estimate import estimate_text
from yt8m.components.console.console import Console
from yt8m.components.evaluator.model_evaluation import evaluator_config, features_of
from yt8m.components.evaluator.scoring import check_models, create_plan
from yt8m.components.evaluator.shadow import Answer, ShadowComparison, compare
from yt8m.components.inputs.shards import group_shards
from yt8m.components.records.find import find_level, find_shards
from yt8m.components.records.unchanged import while_unchanged
from yt8m.components.registry.find_model import find_model
from yt8m.components.registry.versions import in_service, require_registry
from yt8m.schemas.config_tree import to_dict
from yt8m.schemas.errors import UserError


def run(args: ModelsShadowArguments, console: Console) -> None:
    """Score both, and say where they differ."""
    require_registry(args.push)
    served = in_service(args.push)
    if not served:
        raise UserError(f"{args.push}: no version is in service, so there is nothing to compare")
    shards = find_shards(*args.data)
    config = evaluator_config(top_k=args.top_k, intervals=not args.no_intervals)
    candidate = find_model(args.model)
    plan = create_plan(
        config,
        model=candidate,
        baseline=find_model(args.push),
        level=find_level(shards),
        features=features_of(candidate),
    )
    for note in check_models(plan):
        console.warn(note)
    with (
        while_unchanged(shards, "comparison"),
        console.progress("shadow", total=len(shards), unit="shards") as progress,
    ):
        comparison = compare(
            plan,
            group_shards(shards),
            config,
            shown=args.shown,
            advance=progress.advance,
        )
    value = {"candidate": plan.model, "in_service": served.version, **_value(comparison)}
    console.result(value, _text(comparison, served.version, console))


def _value(comparison: ShadowComparison) -> dict[str, Any]:
    value: dict[str, Any] = to_dict(comparison)
    value.pop("evaluation")
    overall = comparison.evaluation.overall if comparison.evaluation else None
    value["metrics"] = overall and {
        "candidate": to_dict(overall.candidate),
        "in_service": to_dict(overall.baseline),
        "difference": to_dict(overall.difference),
    }
    return value


def _text(comparison: ShadowComparison, version: int, console: Console) -> str:
    served = f"version {version}"
    parts = [
        f"{comparison.rows:,} rows, {comparison.labelled:,} with labels; the best class is the "
        f"same in {comparison.same_best:.1%}, of the top classes {comparison.overlap:.1%} are in "
        f"both, scores of a row differ by {comparison.mean_difference:.4f} in all"
    ]
    if comparison.evaluation is not None:
        overall = comparison.evaluation.overall
        rows = [
            [
                name,
                estimate_text(estimate),
                estimate_text(overall.baseline[name]),
                estimate_text(overall.difference[name], sign="+"),
            ]
            for name, estimate in overall.candidate.items()
        ]
        parts.append(console.table(["metric", "candidate", served, "difference"], rows))
    rows = [
        [f"{row.difference:.4f}", row.name, _shown(row.candidate), _shown(row.in_service)]
        + ([" ".join(map(str, row.labels))] if comparison.labelled else [])
        for row in comparison.differing_rows
    ]
    columns = [
        "differs by",
        "row",
        "candidate",
        served,
        *(["labels"] if comparison.labelled else []),
    ]
    parts.append(console.table(columns, rows))
    means = [
        [c.class_id, f"{c.candidate:.4f}", f"{c.in_service:.4f}"]
        for c in comparison.differing_classes
    ]
    parts.append(console.table(["class", "mean of candidate", f"mean of {served}"], means))
    return "\n\n".join(parts)


def _shown(answer: Answer) -> str:
    pairs = zip(answer.classes, answer.scores, strict=True)
    return ", ".join(f"{c} {score:.2f}" for c, score in pairs)
