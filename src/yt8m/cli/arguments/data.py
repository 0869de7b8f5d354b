"""Arguments of the commands that make records or look at them."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from typing import Annotated, Literal

from yt8m.cli.arguments.options import Arguments, Written, positional
from yt8m.cli.arguments.paths import missing, missing_records
from yt8m.cli.arguments.shared import Count, InputFile, LocalDirectory
from yt8m.components.extras.published.plan import MIRRORS, SERVER, VERSIONS
from yt8m.schemas.errors import UserError
from yt8m.schemas.features import NUM_CLASSES, QUANTISED_MAX, QUANTISED_MIN, Level

Split = Literal["train", "validate", "test"]
Number = Annotated[int, Written("N")]


def _frames(text: str) -> tuple[int, int]:
    low, _, high = text.partition("-")
    if not low.isdecimal() or (high and not high.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text}: write it as A-B, e.g. 120-300, or as one number")
    return int(low), int(high or low)


def _part(text: str) -> tuple[int, int]:
    part, _, parts = text.partition("/")
    if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
        raise argparse.ArgumentTypeError(f"{text}: write it as X/Y, X from 1 to Y, e.g. 1/100")
    return int(part), int(parts)


def _range(text: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        low = high = math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise argparse.ArgumentTypeError(f"{text}: write it as LOW,HIGH, e.g. --range=-0.3,0.3")
    return low, high


@dataclass(frozen=True, kw_only=True)
class GenerateArguments(Arguments):
    """Write learnable records that look like YouTube-8M's.

    OUT receives train*.tfrecord, validate*.tfrecord and, without labels, test*.tfrecord, each split
    in --shards files. It also receives a vocabulary.csv in the published format, and dataset.json,
    which records the arguments. With --spans there is one such set in each of span-1/, span-2/, and
    so on; repeat the command with a higher number to add spans.

    The records depend only on --seed and the numbers: they are the same bytes in any number of
    shards. Labels follow Zipf's law, about three per video. A class is a direction in the features;
    every fourth class needs more than a linear model. With --temporal, of every four classes one
    appears in a short burst and two differ only in their order in time. A mean over the frames
    cannot tell these three apart.

    examples:
      yt8m data generate --level video --out data --train 4000 --eval 1000 --classes 50
      yt8m data generate --level frame --out frames --train 200 --eval 50 --frames 20-40
      yt8m data generate --level video --out spans --train 2000 --eval 500 --spans 2 --shards 4
    """

    level: Level  # Kind of record
    out: LocalDirectory  # New directory for the records
    train: Number  # Number of training records
    eval: Number  # Number of validate* records
    test: Number = 0  # Number of test* records
    classes: Number = NUM_CLASSES  # Number of classes in the vocabulary
    shards: Number = 1  # Number of files per split and span
    seed: Number = 0  # Seed for everything that is drawn
    # Number of span directories, each of the same size.
    spans: Annotated[int | None, Written("K")] = None
    temporal: bool = False  # Make classes that only the order of frames shows
    # Frames per video, minimum and maximum (default: 120-300).
    frames: Annotated[tuple[int, int], Written("A-B", parse=_frames)] = (120, 300)


@dataclass(frozen=True, kw_only=True)
class DownloadArguments(Arguments):
    """Download YouTube-8M as Google publishes it, and verify it.

    Several files are fetched in parallel. The published plan lists the files and their checksums.
    Files with the right checksum are skipped and partial files are continued: after an error,
    repeat the command. vocabulary.csv is fetched too. --shard X/Y fetches the files that the
    published downloader calls part X of Y; the same parts of train and validate make a small
    dataset.

    Versions: 1 is from 2016; 2 is from 2018 (video level 31 GB, frame level 1.5 TB); 3 is
    from 2019: rated segments, at frame level, for validate and test.

    examples:
      yt8m data download --version 2 --level video --split train --shard 1/100 --out /data/video
      yt8m data download --version 3 --level frame --split validate --mirror eu --out segments
    """

    version: Annotated[int, Written(choices=VERSIONS)] = 2  # Version of the dataset
    level: Literal[Level.VIDEO, Level.FRAME]  # Level of the records
    split: Split  # Split of the dataset
    out: LocalDirectory  # Local directory for the files
    # Part X of Y of the files (default: 1/1).
    shard: Annotated[tuple[int, int], Written("X/Y", parse=_part)] = (1, 1)
    mirror: Annotated[str, Written(choices=MIRRORS)] = MIRRORS[0]  # Region of the server
    workers: Count = 8  # Number of files fetched in parallel
    server: Annotated[str, Written("URL")] = SERVER  # URL of a server with the same paths


@dataclass(frozen=True, kw_only=True)
class PackArguments(Arguments):
    """Write records of your own features and labels.

    --input is a .npz file, a directory of .npy files (which are read piece by piece), or a Parquet
    file. It has one row per video. Every column is a feature of the same name, except:

      id          a text (default: the row's number)
      labels      class ids, padded with -1 in arrays, or one bool per class; absent: no labels
      num_frames  number of frames in a padded array, at frame and segment level
      segment_start_times, segment_labels, segment_scores   ratings, at segment level

    A feature is one vector per video at video level, and otherwise [frames, size]. Frames are
    stored as bytes: uint8 is stored unchanged, other numbers are quantised from --range. Numbers
    outside --range are clipped, and the command reports how many. --zero adds a feature of zeros,
    so that you can use a model that was trained on more features than you have.

    examples:
      yt8m data pack --level video --input features.npz --out mine --split train --shards 4
      yt8m data pack --level frame --input rgb.npz --out mine --split test --zero audio=128
      yt8m data pack --level frame --input clips.parquet --out mine --split train --range=-0.3,0.3
    """

    level: Level  # Kind of record
    input: Annotated[str, Written("FILE|DIR", problem=missing)]  # File or directory of the features
    out: LocalDirectory  # Directory for the shards
    split: Split  # Split that the shards' names begin with
    shards: Count = 1  # Number of files to write
    # Feature of zeros to add, e.g. audio=128 for a model of rgb and audio; may be repeated.
    zero: Annotated[tuple[str, ...], Written("NAME=SIZE")] = ()
    # Range of the numbers that are quantised to bytes (default: -2,2).
    range: Annotated[tuple[float, float], Written("LOW,HIGH", parse=_range)] = (
        QUANTISED_MIN,
        QUANTISED_MAX,
    )

    def __post_init__(self) -> None:
        self.zero_sizes()

    def zero_sizes(self) -> dict[str, int]:
        """The size of each feature of zeros, by name."""
        sizes = {}
        for text in self.zero:
            name, _, size = text.partition("=")
            if not name or not size.isdecimal() or int(size) < 1:
                raise UserError(f"--zero {text}: write it as NAME=SIZE, e.g. audio=128")
            sizes[name] = int(size)
        return sizes


@dataclass(frozen=True, kw_only=True)
class InspectArguments(Arguments):
    """Describe a set of shards, and list its problems.

    PATTERN names TFRecord files, plain or gzipped, local or in an object store; a directory means
    all *.tfrecord files below it. Every checksum and every record is checked. The first record
    defines the kind, the features and their sizes; all others must match it.

    The rules are those of ExampleGen. Problems are listed with shard and record; harmless findings
    are warnings.

    exit codes: 0 no problems, 1 problems.

    examples:
      yt8m data inspect data
      yt8m data inspect 'data/validate*.tfrecord' --vocabulary data/vocabulary.csv
      yt8m data inspect data --json
    """

    # Patterns of files, or a directory.
    patterns: Annotated[tuple[str, ...], positional("PATTERN", missing_records)]
    vocabulary: InputFile | None = None  # File vocabulary.csv with the names of the classes
    top: Number = 10  # Number of classes to list
