"""Make one model of several: a SavedModel whose scores are the weighted mean of theirs.

The members may be of any architecture and from any maker; they score the same rows and classes.
What comes out is a model like every other: `yt8m evaluate` compares it, `yt8m models import --data`
puts it into service, `yt8m predict` writes its predictions. --weights is `equal`, numbers (which
are divided by their sum), or `fit`: then those under which the labels of --data are most likely.

examples:
  yt8m ensemble --models push/3 push/4 other/export --out ensemble
  yt8m ensemble --models push/3 push/4 --weights fit --data 'data/validate*' --out ensemble
"""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING

from yt8m.components.console.console import Console
from yt8m.components.console.quiet import quiet_tensorflow
from yt8m.components.storage.temporary import own_temporary_directory
from yt8m.schemas.errors import UserError
from yt8m.schemas.features import Level

if TYPE_CHECKING:
    from yt8m.components.artifacts.manifest import Shard
    from yt8m.components.export.load import LoadedModel

EQUAL, FIT = "equal", "fit"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The members, their weights, and where the ensemble goes."""
    parser.add_argument(
        "--models",
        nargs="+",
        required=True,
        metavar="DIR|REGISTRY",
        help="SavedModels, or push directories, whose version in service is taken",
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="the ensemble's SavedModel")
    parser.add_argument(
        "--weights",
        default=EQUAL,
        metavar=f"{EQUAL}|{FIT}|W,W,...",
        help=f"of the members, in their order ({EQUAL})",
    )
    parser.add_argument("--data", metavar="PATTERN", help=f"labelled records, for --weights {FIT}")
    parser.add_argument("--vocabulary", metavar="CSV", help="names of the classes")


@own_temporary_directory()
@quiet_tensorflow()
def run(args: argparse.Namespace, console: Console) -> None:
    """Check the members, find their weights, export."""
    given = _given(args)
    from yt8m.components.export.load import load_model
    from yt8m.components.extras.ensembles.save import check_members, export_ensemble
    from yt8m.components.records.find import find_level, find_shards
    from yt8m.components.records.vocabulary import load_vocabulary
    from yt8m.components.registry.find_model import find_model

    models = [load_model(find_model(path)) for path in args.models]
    check_members(models)
    shards = find_shards(args.data) if args.data else []
    level = _level(models, find_level(shards) if shards else None)
    weights = given if given is not None else _fitted(models, shards, level, console)
    export_ensemble(
        models,
        weights,
        args.out,
        level=level,
        vocabulary=load_vocabulary(args.vocabulary) if args.vocabulary else None,
    )
    members = [model.directory for model in models]
    rows = [[f"{w:.4f}", name] for w, name in zip(weights, members, strict=True)]
    console.result(
        {"out": args.out, "level": level.value, "models": members, "weights": weights},
        f"{console.table(['weight', 'member'], rows)}\nmodel: {args.out}",
    )


def _given(args: argparse.Namespace) -> list[float] | None:
    """The weights as they were given; None where they are to be fitted."""
    count = len(args.models)
    if args.weights == FIT:
        if not args.data:
            raise UserError(f"--weights {FIT}: needs labelled records, --data PATTERN")
        return None
    if args.weights == EQUAL:
        return [1 / count] * count
    try:
        values = [float(part) for part in args.weights.split(",")]
    except ValueError:
        values = []
    good = all(math.isfinite(value) and value >= 0 for value in values) and sum(values) > 0
    if len(values) != count or not good:
        raise UserError(
            f"--weights {args.weights}: give {EQUAL}, {FIT}, or {count} numbers, one for each of "
            "--models, 0 or more and not all 0"
        )
    return [value / sum(values) for value in values]


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
    from yt8m.components.extras.ensembles.weights import fit_weights

    with console.progress("fit weights", total=len(shards), unit="shards") as progress:
        weights, rows = fit_weights(models, shards, level=level, advance=progress.advance)
    console.info(f"weights fitted on {rows:,} rows")
    return weights
