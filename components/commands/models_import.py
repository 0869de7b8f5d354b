"""Register a SavedModel from elsewhere as the newest version, e.g. last year's as the baseline.

The model needs the signature `scores`: serialized records `examples` to `scores` [records,
classes] and `video_id`. A model that yt8m exported says itself what it takes; for another one,
say it with --level. It becomes the newest version, which model servers load.

examples:
  yt8m models import /backup/2025/model --push /srv/models
  yt8m models import /backup/2019/model --push /srv/models --level video
"""

from __future__ import annotations

import argparse

from yt8m.components.artifacts.saved_model import MODEL_FILE
from yt8m.components.console.console import Console
from yt8m.components.console.quiet import silence_tensorflow
from yt8m.schemas.features import Level


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("model", metavar="DIR", help=f"the SavedModel, where {MODEL_FILE} is")
    parser.add_argument("--push", required=True, metavar="DIR", help="the push directory")
    parser.add_argument(
        "--level",
        choices=[level.value for level in Level],
        help="what kind of record it takes, where it does not say so itself",
    )


def run(args: argparse.Namespace, console: Console) -> None:
    """Check the model and push it."""
    silence_tensorflow()
    from yt8m.components.artifacts.version_record import Origin, VersionRecord
    from yt8m.components.commands.foreign_model import described
    from yt8m.components.registry.push import push

    level = Level(args.level) if args.level else None
    with described(args.model, level=level, console=console) as (directory, info):
        record = VersionRecord(
            origin=Origin.IMPORT,
            origin_path=args.model,
            blessed=True,  # by whoever imports it
            reason="imported by `yt8m models import`",
            configuration=info.config,
        )
        version = push(directory, args.push, record)
    value = {"version": version.number, "path": version.path, "imported": args.model}
    console.result(value, f"version {version.number}: {version.path}, from {args.model}")
