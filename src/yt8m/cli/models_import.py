"""Register a SavedModel from elsewhere, e.g. last year's: as the next version, or as a baseline.

With --data the model is scored on those records first; it then becomes the newest version, which
model servers load, with its metrics on record. Without, nothing says how good it is: it becomes a
baseline that is not served, which the next run is compared with where no version of yt8m's is in
service (or where `baseline.version` names it).

The model needs the signatures `serving_default`, for model servers, and `scores`: serialized
records `examples` to `scores` [records, classes] and `video_id`. A model that yt8m exported says
itself what records it takes; for another one the records of --data do, or --level.

What google/youtube-8m's starter code left is taken in as well: its exported SavedModels
(`video_id`, `class_indexes`, `predictions`), and checkpoints of LogisticModel, MoeModel and
FrameLevelLogisticModel, as a path (train/model.ckpt-1000) or the directory that holds them, with
`model_flags.json` where they are.

examples:
  yt8m models import /backup/2025/model --push /srv/models --data 'data/validate*.tfrecord'
  yt8m models import /backup/2019/model --push /srv/models --level video
  yt8m models import /backup/2018/train_dir --push /srv/models --data 'data/validate*.tfrecord'
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

from yt8m.cli.shared_arguments import add_push_argument
from yt8m.components import storage
from yt8m.components.artifacts.saved_model import MODEL_FILE
from yt8m.components.console.console import Console
from yt8m.components.console.quiet import quiet_tensorflow
from yt8m.components.storage.temporary import own_temporary_directory
from yt8m.schemas.errors import UserError
from yt8m.schemas.features import FeatureConfig, Level

if TYPE_CHECKING:
    from yt8m.components.artifacts.evaluation import Evaluation
    from yt8m.components.artifacts.export_info import ExportInfo
    from yt8m.components.export.load import LoadedModel

_HEAD = "entities"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument(
        "model",
        metavar="DIR",
        help=f"the SavedModel, where {MODEL_FILE} is, or a checkpoint of the starter code",
    )
    add_push_argument(parser)
    parser.add_argument(
        "--data",
        metavar="PATTERN",
        help="TFRecord files to score it on before it is served, e.g. 'eval/*.tfrecord'",
    )
    parser.add_argument(
        "--level",
        choices=[level.value for level in Level],
        help="what kind of record it takes, where neither it nor --data says so",
    )


@own_temporary_directory()
@quiet_tensorflow()
def run(args: argparse.Namespace, console: Console) -> None:
    """Check the model, score it, and push it."""
    level = Level(args.level) if args.level else None
    with as_export(args.model, level=level) as export:
        _import(args, export, level, console)


def _import(args: argparse.Namespace, export: str, said: Level | None, console: Console) -> None:
    from yt8m.components.artifacts.version_record import Origin, VersionRecord
    from yt8m.components.evaluator.model_evaluation import evaluate_files
    from yt8m.components.export.load import load_model
    from yt8m.components.registry.push import push

    model = load_model(export)
    _ = model.serve
    found = evaluate_files(export, args.data, console) if args.data else None
    level = _level(model, said, found)
    with _described(model, level) as (directory, info):
        metrics = found.overall.candidate if found else {}
        record = VersionRecord(
            origin=Origin.IMPORT,
            origin_path=args.model,
            blessed=True,  # by whoever imports it
            reason=_reason(found, args.data),
            metrics=dict(metrics),
            configuration=info.config,
        )
        version = push(directory, args.push, record, served=found is not None)
    value = {
        "version": version.number,
        "path": version.path,
        "imported": args.model,
        "served": found is not None,
        "metrics": {name: estimate.value for name, estimate in metrics.items()},
    }
    note = "" if found else "; it is not served, because it was not scored (no --data)"
    console.result(value, f"version {version.number}: {version.path}, from {args.model}{note}")


def _reason(found: Evaluation | None, pattern: str | None) -> str:
    if found is None:
        return "imported by `yt8m models import` as a baseline, not scored"
    gap = found.overall.candidate["gap"].value
    return (
        f"imported by `yt8m models import`: GAP {gap:.4f} on {found.videos:,} videos of {pattern}"
    )


def _level(model: LoadedModel, said: Level | None, found: Evaluation | None) -> Level:
    level = model.level or said or (found.level if found else None)
    if level is None:
        raise UserError(
            f"{model.directory} does not say what records it takes (yt8m did not export it); say "
            "it with --level video, frame or segment, or give records with --data"
        )
    for other in (said, found.level if found else None):
        if other not in (None, level):
            raise UserError(f"{model.directory} is of level {level.value}, not {other.value}")
    return level


@contextlib.contextmanager
def as_export(source: str, *, level: Level | None = None) -> Iterator[str]:
    """Where `source` is with the signatures of an export: itself, unless the starter code made it.

    `level` is what the user says of a checkpoint, where that does not say so itself.
    """
    from yt8m.components.extras.starter_code.checkpoint import export_checkpoint, find_checkpoint
    from yt8m.components.extras.starter_code.saved_model import (
        export_saved_model,
        is_starter_code_export,
    )

    is_export = is_starter_code_export(source)
    has_model = storage.exists(storage.join(source, MODEL_FILE))
    checkpoint = None if has_model else find_checkpoint(source)
    if not is_export and checkpoint is None:
        yield source
        return
    with tempfile.TemporaryDirectory(prefix="yt8m-import-") as place:
        made = storage.join(place, "export")
        if checkpoint is not None:
            export_checkpoint(checkpoint, made, level=level)
        else:
            export_saved_model(source, made)
        yield made


@contextlib.contextmanager
def _described(model: LoadedModel, level: Level) -> Iterator[tuple[str, ExportInfo]]:
    """A directory with the model and what it says of itself, a copy where that was missing."""
    from yt8m.components.artifacts.export_info import FILE_NAME, ExportInfo

    if model.level is not None:
        yield model.directory, model.info
        return
    classes = model.num_classes
    if classes is None:
        raise UserError(
            f"{model.directory}: its signature `scores` does not say how many classes it scores"
        )
    info = ExportInfo(
        level=level,
        features=FeatureConfig(num_classes=classes),
        head=_HEAD,
        heads={_HEAD: classes},
        top_k=min(20, classes),
        has_class_names=False,
        has_transform_graph=False,
    )
    with tempfile.TemporaryDirectory(prefix="yt8m-import-") as copy:
        storage.copy_tree(model.directory, copy)
        storage.write_text(storage.join(copy, FILE_NAME), info.to_json())
        yield copy, info
