"""Make records of your own features and labels: from NumPy arrays or Parquet, at each level.

--input is a .npz file, a folder of .npy files (which are not read into memory as a whole), or a
Parquet file. It has one row a video. Every column is a feature, named as it is to be called, but:

  id          a text (default: the row's number)
  labels      class ids, padded with -1 in arrays, or one bool a class; absent: no labels
  num_frames  how many frames of a padded array there are, at frame and segment level
  segment_start_times, segment_labels, segment_scores   ratings, padded with -1, at segment level

A feature is a vector a video at video level, and otherwise [frames, size]. Frames are stored as
bytes: uint8 as they are, other numbers quantised, the lowest and the highest byte standing for
--range. What lies outside becomes the nearest end, and is told.

examples:
  yt8m data pack --level video --input features.npz --out mine --split train --shards 4
  yt8m data pack --level frame --input clips.parquet --out mine --split train --range=-0.3,0.3
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

from yt8m.cli.shared_arguments import positive_int
from yt8m.components.console.console import Console
from yt8m.schemas.errors import UserError
from yt8m.schemas.features import MAX_FRAMES, QUANTISED_MAX, QUANTISED_MIN, Level

if TYPE_CHECKING:
    from yt8m.components.extras.packing.pack import Packed

_WARN_SHARE = 0.001  # of numbers that were clipped: more is hardly meant


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is read, and what is written."""
    levels = [level.value for level in Level]
    parser.add_argument("--level", choices=levels, required=True, help="kind of record")
    parser.add_argument("--input", type=Path, required=True, metavar="FILE|DIR")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="for the shards")
    parser.add_argument(
        "--split", choices=["train", "validate", "test"], required=True, help="their names begin so"
    )
    parser.add_argument("--shards", type=positive_int, default=1, metavar="N", help="files (1)")
    parser.add_argument(
        "--range",
        type=_range,
        default=(QUANTISED_MIN, QUANTISED_MAX),
        metavar="LOW,HIGH",
        help=f"of numbers that become bytes ({QUANTISED_MIN:g},{QUANTISED_MAX:g})",
    )


def run(args: argparse.Namespace, console: Console) -> None:
    """Pack, and say what a configuration needs to read it."""
    from yt8m.components.extras.packing.pack import Packing, pack
    from yt8m.components.extras.packing.rows import open_table

    table = open_table(args.input)
    if args.shards > max(table.rows, 1):
        raise UserError(f"--shards {args.shards}: {args.input} has {table.rows} rows")
    packing = Packing(
        level=Level(args.level),
        out=args.out.absolute(),
        split=args.split,
        shards=args.shards,
        value_range=args.range,
    )
    with console.progress("pack", total=table.rows, unit="records") as progress:
        done = pack(table, packing, advance=progress.advance)
    if done.numbers and done.clipped / done.numbers > _WARN_SHARE:
        low, high = args.range
        console.warn(
            f"{done.clipped / done.numbers:.1%} of the numbers lie outside {low:g} to {high:g} and "
            "were stored as the nearest of these; --range says where they lie"
        )
    settings = _settings(done)
    console.result(
        {
            "out": str(args.out),
            "records": done.records,
            "files": done.files,
            "clipped": done.clipped,
            "features": {
                "names": list(done.sizes),
                "sizes": list(done.sizes.values()),
                "num_classes": done.num_classes,
            },
        },
        f"{done.records:,} records in {len(done.files)} files below {args.out}; to read them:\n"
        f"  {settings}",
    )


def _settings(done: Packed) -> str:
    names, sizes = list(done.sizes), list(done.sizes.values())
    classes = f" --set features.num_classes={done.num_classes}" if done.num_classes else ""
    longer = f" --set features.max_frames={done.frames}" if done.frames > MAX_FRAMES else ""
    return (
        f"--set 'features.names=[{', '.join(names)}]' --set 'features.sizes={sizes}'"
        f"{classes}{longer}"
    )


def _range(text: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        low = high = math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise argparse.ArgumentTypeError(f"{text}: write it as LOW,HIGH, e.g. --range=-0.3,0.3")
    return low, high
