"""Write what a model says of records: competition files, JSON lines, TFRecords or Parquet.

--model is a SavedModel, or a registry, whose version in service is taken. Records may be of any
level, labelled or not. A model of segments is given the segments that a record names, and of a
record that names none all windows of five frames.

Formats:
  video     VideoId,LabelConfidencePairs: the file of the 2017 and 2018 competitions
  segment   Class,Segments: that of 2019; of each class the 100,000 best segments at most
  jsonl, tfrecord, parquet   video_id, segment_start where rows are segments, class_ids, scores

Rows are in the order of the records, and of equal scores the lower class comes first. The file is
complete or absent. A run that was ended continues: finished parts wait beside the file in
.NAME.parts, and go when it is complete. With --beam-runner the work is done on a Beam engine, whose
workers must reach model, data and output.

examples:
  yt8m predict --model push --data 'data/test*.tfrecord' --out submission.csv --format video
  yt8m predict --model push/7 --data 'gs://bucket/frames/test*' --out gs://bucket/2019.csv \\
      --format segment --segment-classes segment_label_ids.csv
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from yt8m.cli.shared_arguments import positive_int
from yt8m.components import storage
from yt8m.components.console.console import Console
from yt8m.components.console.quiet import quiet_tensorflow
from yt8m.components.predictions.plan import TOP_K, Format, PredictionPlan
from yt8m.components.storage.temporary import own_temporary_directory
from yt8m.schemas.errors import UserError

if TYPE_CHECKING:
    from yt8m.components.predictions.predict import RunGroups


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is predicted, and how it is written."""
    parser.add_argument(
        "--model", required=True, metavar="DIR|REGISTRY", help="a SavedModel or a push directory"
    )
    parser.add_argument(
        "--data", required=True, metavar="PATTERN", help="TFRecord files, e.g. 'test*.tfrecord'"
    )
    parser.add_argument("--out", required=True, metavar="FILE", help=storage.KNOWN)
    formats = [form.value for form in Format]
    parser.add_argument("--format", required=True, choices=formats, help="of the file")
    parser.add_argument(
        "--top-k",
        type=positive_int,
        metavar="K",
        help=f"classes of each row ({TOP_K}; format segment: all)",
    )
    parser.add_argument(
        "--segment-classes",
        metavar="CSV",
        help="the classes that may be predicted, one a line (default: all)",
    )
    parser.add_argument(
        "--workers",
        type=positive_int,
        metavar="N",
        help="groups at once (one a processor)",
    )
    parser.add_argument("--beam-runner", help="local, flink, spark or dataflow (default: no Beam)")
    parser.add_argument(
        "--beam-option",
        action="append",
        default=[],
        metavar="=--OPTION",
        help="an option passed to Beam, e.g. --beam-option=--parallelism=4; may be repeated",
    )


@own_temporary_directory()
@quiet_tensorflow()
def run(args: argparse.Namespace, console: Console) -> None:
    """Predict, and say where it is."""
    run_groups = _run_groups(args)
    from yt8m.components.export.load import load_model
    from yt8m.components.predictions.predict import predict
    from yt8m.components.predictions.predictor import check_plan, level_to_predict
    from yt8m.components.records.find import find_level, find_shards
    from yt8m.components.registry.find_model import find_model

    shards = find_shards(storage.absolute(args.data))
    model = load_model(find_model(storage.absolute(args.model)))
    form = Format(args.format)
    plan = PredictionPlan(
        model=model.directory,
        level=level_to_predict(model, find_level(shards)),
        format=form,
        top_k=args.top_k or (None if form is Format.SEGMENT else TOP_K),
        classes=_classes(args.segment_classes) if args.segment_classes else None,
    )
    check_plan(plan, model)
    done = predict(plan, shards, storage.absolute(args.out), run_groups=run_groups, console=console)
    value = {
        "out": args.out,
        "bytes": done.bytes,
        "format": form.value,
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


def _run_groups(args: argparse.Namespace) -> RunGroups:
    if args.beam_runner is None:
        if args.beam_option:
            raise UserError("--beam-option: give --beam-runner too, without which there is no Beam")
        from yt8m.components.predictions.predict import run_here

        return run_here(args.workers)
    from yt8m.pipeline.beam import beam_arguments, check_beam
    from yt8m.pipeline.config import BeamConfig
    from yt8m.schemas.config_tree import from_dict

    config = from_dict(
        BeamConfig, {"runner": args.beam_runner, "options": args.beam_option}, path="beam"
    )
    if problems := check_beam(config):
        raise UserError("\n".join(problems))
    import apache_beam as beam

    from yt8m.components.predictions.beam_prediction import run_on_beam

    return run_on_beam(lambda: beam.Pipeline(argv=beam_arguments(config)))


def _classes(uri: str) -> tuple[int, ...]:
    """The numbers in the first column; a header is passed over."""
    from yt8m.components import storage

    try:
        lines = storage.read_text(uri).splitlines()
    except FileNotFoundError as error:
        raise UserError(f"--segment-classes {uri}: no such file") from error
    fields = [line.partition(",")[0].strip() for line in lines]
    numbers = [text for number, text in enumerate(fields) if text and (number or text.isdecimal())]
    wrong = [text for text in numbers if not text.isdecimal()]
    if wrong or not numbers:
        found = repr(wrong[0]) if wrong else "nothing"
        raise UserError(f"--segment-classes {uri}: {found}, where a class's number is expected")
    return tuple(sorted(set(map(int, numbers))))
