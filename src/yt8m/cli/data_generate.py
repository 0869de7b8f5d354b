"""Write learnable records that look like YouTube-8M's.

OUT gets train*.tfrecord, validate*.tfrecord and, without labels, test*.tfrecord, each split in
--shards files; a vocabulary.csv in the published format; and dataset.json, which says what all of
it was made from. With --spans there is one such set in each of span-1/, span-2/, ...; later, the
same command with more spans adds those that are missing.

The records follow from --seed and the numbers given alone, byte for byte, in however many
shards. Labels follow Zipf's law, about three a video. A class shows itself by a direction in the
features; every fourth needs more than a linear model. With --temporal, of every four classes one
shows in a short burst and two differ in their order in time only; a mean over the frames cannot
see these three.

examples:
  yt8m data generate --level video --out data --train 4000 --eval 1000 --classes 50
  yt8m data generate --level frame --out frames --train 200 --eval 50 --classes 20 --frames 20-40
  yt8m data generate --level video --out spans --train 2000 --eval 500 --spans 2 --shards 4
"""

from __future__ import annotations

import argparse
from pathlib import Path

from yt8m.components.console.console import Console
from yt8m.schemas.features import NUM_CLASSES, Level


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the data set is to be."""
    levels = [level.value for level in Level]
    parser.add_argument("--level", choices=levels, required=True, help="kind of record")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="a new directory")
    parser.add_argument("--train", type=int, required=True, metavar="N", help="training records")
    parser.add_argument("--eval", type=int, required=True, metavar="N", help="validate* records")
    parser.add_argument("--test", type=int, default=0, metavar="N", help="test* records (0)")
    parser.add_argument("--classes", type=int, default=NUM_CLASSES, help=f"({NUM_CLASSES})")
    parser.add_argument("--shards", type=int, default=1, help="files per split and span (1)")
    parser.add_argument("--seed", type=int, default=0, help="(0)")
    parser.add_argument("--spans", type=int, metavar="K", help="span directories of the same size")
    parser.add_argument("--temporal", action="store_true", help="classes that show over time only")
    parser.add_argument(
        "--frames",
        default="120-300",
        metavar="A-B",
        help="frames per video, minimum and maximum (120-300)",
    )


def run(args: argparse.Namespace, console: Console) -> None:
    """Generate, then say what is there."""
    from yt8m.components.extras.synthetic.generate import generate
    from yt8m.components.extras.synthetic.spec import DatasetSpec
    from yt8m.schemas.config_tree import from_dict
    from yt8m.schemas.errors import ConfigError

    names = ("level", "train", "eval", "test", "classes", "shards", "seed", "spans", "temporal")
    low, high = _frames(args.frames)
    values = {name: getattr(args, name) for name in names}
    try:
        spec = from_dict(DatasetSpec, {**values, "min_frames": low, "max_frames": high})
    except ConfigError as error:
        problems = [problem.replace("min_frames", "frames") for problem in error.problems]
        raise ConfigError([f"--{problem}" for problem in problems]) from None
    with console.progress("generate", total=spec.total_examples, unit="records") as progress:
        done = generate(spec, args.out, advance=progress.advance)
    console.result(
        {
            "out": str(done.out),
            "records": done.records,
            "bytes": done.bytes,
            "files": [str(path) for path in done.files],
            "vocabulary": str(done.vocabulary),
        },
        f"{done.records:,} records in {len(done.files)} files below {done.out}, "
        f"{done.bytes / 1e6:,.1f} MB; the classes' names are in {done.vocabulary}",
    )


def _frames(text: str) -> tuple[int, int]:
    from yt8m.schemas.errors import UserError

    low, _, high = text.partition("-")
    if not low.isdecimal() or (high and not high.isdecimal()):
        raise UserError(f"--frames {text}: write it as A-B, e.g. 120-300, or as one number")
    return int(low), int(high or low)
