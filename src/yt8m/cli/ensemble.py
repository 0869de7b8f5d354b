"""Action of `yt8m ensemble`."""

from __future__ import annotations

from yt8m.cli.arguments.scoring import EQUAL, FIT, EnsembleArguments
from yt8m.components.artifacts.manifest import Shard
from yt8m.components.console.console import Console
from yt8m.components.export.load import LoadedModel, load_model
from yt8m.components.extras.ensembles.save import check_members, export_ensemble
from yt8m.components.extras.ensembles.weights import fit_weights
from yt8m.components.records.find import find_level, find_shards
from yt8m.components.records.unchanged import while_unchanged
from yt8m.components.records.vocabulary import load_vocabulary
from yt8m.components.registry.archive import is_archive
from yt8m.components.registry.find_model import find_model
from yt8m.schemas.errors import UserError
from yt8m.schemas.features import Level

_FEW_ROWS = 100  # as in a report's slices


def run(args: EnsembleArguments, console: Console) -> None:
    """Check the members, find their weights, export."""
    given = args.given_weights()
    models = [load_model(find_model(path)) for path in args.models]
    check_members(models)
    shards = find_shards(args.data) if args.data else []
    level = _level(models, find_level(shards) if shards else None)
    weights = given if given is not None else _fitted(models, shards, level, console)
    # A registry is recorded as the version that it served, an archive under its own name.
    pairs = zip(args.models, models, strict=True)
    members = [path if is_archive(path) else model.directory for path, model in pairs]
    export_ensemble(
        models,
        members,
        weights,
        args.out,
        level=level,
        vocabulary=load_vocabulary(args.vocabulary) if args.vocabulary else None,
    )
    rows = [[f"{w:.4f}", name] for w, name in zip(weights, members, strict=True)]
    console.result(
        {"out": args.out, "level": level.value, "models": members, "weights": weights},
        f"{console.table(['weight', 'member'], rows)}\nmodel: {args.out}",
    )


def _level(models: list[LoadedModel], data: Level | None) -> Level:
    level = next((model.level for model in models if model.level), data)
    if level is None:
        raise UserError(
            "no member says what records it takes (yt8m did not export them): give some with --data"
        )
    if data is not None and data is not level:
        raise UserError(f"--data: of level {data.value}, and the models are of level {level.value}")
    return level


def _fitted(
    models: list[LoadedModel], shards: list[Shard], level: Level, console: Console
) -> list[float]:
    with (
        while_unchanged(shards, "fit of the weights"),
        console.progress("fit weights", total=len(shards), unit="shards") as progress,
    ):
        weights, rows = fit_weights(models, shards, level=level, advance=progress.advance)
    console.info(f"weights fitted on {rows:,} rows")
    if rows < _FEW_ROWS:
        console.warn(
            f"--weights {FIT}: {rows:,} rows say little about other videos; give --data of "
            f"{_FEW_ROWS} rows or more, or leave the weights {EQUAL}"
        )
    return weights
