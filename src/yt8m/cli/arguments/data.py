"""Arguments of the commands that make records or look at them."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass
from typing import Annotated, Literal

from yt8m.cli.arguments.options import Arguments, Written, positional
from yt8m.cli.arguments.paths import missing, missing_records
from yt8m.cli.arguments.shared import Count, InputFile, OutputDirectory
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

    OUT gets train*.tfrecord, validate*.tfrecord and, without labels, test*.tfrecord, each split in
    --shards files; a vocabulary.csv in the published format; and dataset.json, which says what all
    of it was made from. With --spans there is one such set in each of span-1/, span-2/, ...; later,
    the same command with more spans adds those that are missing.

    The records follow from --seed and the numbers given alone, byte for byte, in however many
    shards. Labels follow Zipf's law, about three a video. A class shows itself by a direction in
    the features; every fourth needs more than a linear model. With --temporal, of every four
    classes one shows in a short burst and two differ in their order in time only; a mean over the
    frames cannot see these three.

    examples:
      yt8m data generate --level video --out data --train 4000 --eval 1000 --classes 50
      yt8m data generate --level frame --out frames --train 200 --eval 50 --frames 20-40
      yt8m data generate --level video --out spans --train 2000 --eval 500 --spans 2 --shards 4
    """

    level: Level  # kind of record
    out: OutputDirectory  # a new directory
    train: Number  # training records
    eval: Number  # validate* records
    test: Number = 0  # test* records
    classes: Number = NUM_CLASSES  # classes of the vocabulary
    shards: Number = 1  # files per split and span
    seed: Number = 0  # seed of everything that is drawn
    spans: Annotated[int | None, Written("K")] = None  # span directories of the same size
    temporal: bool = False  # make classes that show over time only
    # frames per video, minimum and maximum (default: 120-300)
    frames: Annotated[tuple[int, int], Written("A-B", parse=_frames)] = (120, 300)


@dataclass(frozen=True, kw_only=True)
class DownloadArguments(Arguments):
    """Fetch YouTube-8M as Google publishes it, verified.

    Several files are fetched in parallel. The published plan says which files there are and their
    checksums. What is there with the right checksum is not fetched again, and what was begun is
    continued: after a fault, give the same command. Beside the records comes vocabulary.csv. With
    --shard X/Y come the files that the published downloader calls part X of Y; the same parts of
    train and validate make a small dataset.

    Versions: 1 is of 2016; 2 of 2018 (video level 31 GB, frame level 1.5 TB); 3 are the segments
    that were rated in 2019, frame level, validate and test.

    examples:
      yt8m data download --version 2 --level video --split train --shard 1/100 --out /data/video
      yt8m data download --version 3 --level frame --split validate --mirror eu --out segments
    """

    version: Annotated[int, Written(choices=VERSIONS)] = 2  # version of the dataset
    level: Literal[Level.VIDEO, Level.FRAME]  # level of the records
    split: Split  # the part of the dataset
    out: OutputDirectory  # a folder on this machine
    # part X of Y of the files (default: 1/1)
    shard: Annotated[tuple[int, int], Written("X/Y", parse=_part)] = (1, 1)
    mirror: Annotated[str, Written(choices=MIRRORS)] = MIRRORS[0]  # region of the server
    workers: Count = 8  # files fetched in parallel
    server: Annotated[str, Written("URL")] = SERVER  # a server with the same paths


@dataclass(frozen=True, kw_only=True)
class PackArguments(Arguments):
    """Make records of your own features and labels.

    --input is a .npz file, a folder of .npy files (which are not read into memory as a whole), or a
    Parquet file. It has one row a video. Every column is a feature, named as it is to be called,
    but:

      id          a text (default: the row's number)
      labels      class ids, padded with -1 in arrays, or one bool a class; absent: no labels
      num_frames  how many frames of a padded array there are, at frame and segment level
      segment_start_times, segment_labels, segment_scores   ratings, at segment level

    A feature is a vector a video at video level, and otherwise [frames, size]. Frames are stored as
    bytes: uint8 as they are, other numbers quantised, the lowest and the highest byte standing for
    --range. What lies outside becomes the nearest end, and is told. --zero adds a feature that is 0
    throughout, so that a model that was trained on more features than you have can be used.

    examples:
      yt8m data pack --level video --input features.npz --out mine --split train --shards 4
      yt8m data pack --level frame --input rgb.npz --out mine --split test --zero audio=128
      yt8m data pack --level frame --input clips.parquet --out mine --split train --range=-0.3,0.3
    """

    level: Level  # kind of record
    input: Annotated[str, Written("FILE|DIR", problem=missing)]  # the features
    out: OutputDirectory  # where the shards go
    split: Split  # the beginning of the shards' names
    shards: Count = 1  # files
    # a feature of zeros to add, e.g. audio=128 for a model of rgb and audio; may be repeated
    zero: Annotated[tuple[str, ...], Written("NAME=SIZE")] = ()
    # range of the numbers that become bytes (default: -2,2)
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
    """Say what a set of shards holds, and what is wrong with it.

    PATTERN names TFRecord files, plain or gzipped, here or in an object store; a directory stands
    for all *.tfrecord files below it. Every checksum and every record is looked at. Expected of all
    records is what the first of them has: its kind, its features and their sizes.

    Ends with 0 when all is well and with 1 when there are problems; they are listed with shard and
    record. The rules are those of ExampleGen; what is only worth knowing is a warning.

    examples:
      yt8m data inspect data
      yt8m data inspect 'data/validate*.tfrecord' --vocabulary data/vocabulary.csv
      yt8m data inspect data --json
    """

    patterns: Annotated[
        tuple[str, ...], positional("PATTERN", missing_records)
    ]  # files, or a directory
    vocabulary: InputFile | None = None  # vocabulary.csv, which names the classes
    top: Number = 10  # classes to list
