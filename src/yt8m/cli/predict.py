"""Action of `yt8m predict`."""

from __future__ import annotations

from collections.abc import Sequence

from yt8m.cli.arguments.scoring import PredictArguments
from yt8m.cli.model_source import model_of
from yt8m.cli.output import check_output
from yt8m.components import storage
from yt8m.components.artifacts.manifest import Shard
from yt8m.components.console.console import Console
from yt8m.components.export.load import load_model
from yt8m.components.extras.published.http import read_text
from yt8m.components.predictions.plan import TOP_K, Format, PredictionPlan
from yt8m.components.predictions.predict import RunGroups, predict, run_here
from yt8m.components.predictions.predictor import check_plan, level_to_predict
from yt8m.components.predictions.segment_classes import allowed_classes, parse_classes
from yt8m.components.records.find import find_level, find_shards
from yt8m.pipeline.beam import beam_arguments, check_beam, describe_workers
from yt8m.pipeline.config import BeamConfig, BeamRunner
from yt8m.schemas.errors import UserError


def run(args: PredictArguments, console: Console) -> None:
    """Predict, and say where it is."""
    run_groups = _run_groups(args, console)

    shards = find_shards(*map(storage.absolute, args.data))
    check_output(args.out, [args.model, *(shard.uri for shard in shards)])
    model = load_model(model_of(storage.absolute(args.model), console))
    plan = PredictionPlan(
        model=model.directory,
        level=level_to_predict(model, find_level(shards), args.format, args.segments),
        format=args.format,
        top_k=args.top_k or (None if args.format is Format.SEGMENT else TOP_K),
        classes=classes_of(args, model.num_classes),
        batch_size=args.batch_size,
        segments=args.segments,
        context=model_of(storage.absolute(args.context), console) if args.context else "",
        max_segments=args.max_segments,
        precision=args.precision,
    )
    check_plan(plan, model)
    for directory in filter(None, (plan.model, plan.context)):
        if storage.is_within(args.out, directory):
            raise UserError(
                f"--out {args.out}: belongs to the model {directory}; write to another directory"
            )
    if args.beam_runner is BeamRunner.DATAFLOW:
        _check_reach(plan, shards, args.out)
    done = predict(plan, shards, storage.absolute(args.out), run_groups=run_groups, console=console)
    value = {
        "out": args.out,
        "bytes": done.bytes,
        "format": args.format.value,
        "level": plan.level.value,
        "model": plan.model,
        "shards": done.shards,
        "continued": done.continued,
    }
    before = f", {done.continued} of them by an earlier run" if done.continued else ""
    console.result(
        value,
        f"{args.out}: {done.bytes:,} bytes, predictions of {done.shards} shards{before} by "
        f"{plan.model}",
    )


def _run_groups(args: PredictArguments, console: Console) -> RunGroups:
    if args.beam_runner is None:
        return run_here(args.workers)

    config = BeamConfig(runner=args.beam_runner, options=args.beam_option)
    if problems := check_beam(config):
        raise UserError("\n".join(problems))
    if workers := describe_workers(config):
        console.info(workers)
    import apache_beam as beam

    from yt8m.components.predictions.beam_prediction import run_on_beam

    return run_on_beam(lambda: beam.Pipeline(argv=beam_arguments(config)))


def _check_reach(plan: PredictionPlan, shards: Sequence[Shard], out: str) -> None:
    """Google's machines have no disk of this one."""
    places = {
        "--model": plan.model,
        "--context": plan.context,
        "--data": next((s.uri for s in shards if storage.local_path(s.uri) is not None), ""),
        "--out": storage.absolute(out),
    }
    here = [f"{n} {p}" for n, p in places.items() if p and storage.local_path(p) is not None]
    if here:
        raise UserError(
            f"--beam-runner dataflow: {', '.join(here)}: on this machine, and Google's machines "
            "read and write there; give addresses in Google Cloud Storage"
        )


def classes_of(args: PredictArguments, num_classes: int | None) -> tuple[int, ...] | None:
    """The classes that may be predicted; None for all."""
    named = args.segment_classes or ""
    if not named and args.format is not Format.SEGMENT:
        return None
    if named.startswith(("http://", "https://")):
        return parse_classes(read_text(named), where=named)
    check_output(args.out, [named])
    return allowed_classes(named, num_classes)
