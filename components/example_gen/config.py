"""Settings of the data: source, splits, ingestion and verification."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, field
from typing import Annotated

from yt8m.schemas.config_tree import ConfigNode, require
from yt8m.schemas.features import Level
from yt8m.schemas.limits import (
    Fraction,
    Limit,
    NonNegativeInt,
    OptionalDottedPath,
    PositiveInt,
    matches,
)
from yt8m.schemas.roles import Content, OwnCode, Placement, SourcePath

Span = Annotated[
    str,
    matches(
        r"|latest|last:[1-9]\d*|\d+|\d{4}-\d{2}-\d{2}",
        "latest, last:N, a number such as 7, or a date such as 2026-11-20",
    ),
]
# What is enough for distributions: 13,000 videos, and 1,200 with their frames.
_SAMPLE_MB = {Level.VIDEO: 64, Level.FRAME: 256, Level.SEGMENT: 256}
Buckets = Annotated[
    dict[str, PositiveInt],
    Limit("with train and eval", lambda buckets: {"train", "eval"} <= set(buckets)),
]


class Ingest(enum.Enum):
    """Method by which records enter the Examples artifact."""

    LINK = "link"
    REFERENCE = "reference"
    COPY = "copy"
    REWRITE = "rewrite"


class Verify(enum.Enum):
    """Amount of each shard that is verified."""

    FULL = "full"  # verify every checksum and parse every record
    CHECKSUM = "checksum"  # verify every checksum
    # verify and parse the first records of each shard; of the rest read the lengths only.
    SAMPLE = "sample"
    OFF = "off"  # read the lengths only, to count the records


class BadInput(enum.Enum):
    """Response to bad records."""

    FAIL = "fail"
    QUARANTINE = "quarantine"


class Compression(enum.Enum):
    """Compression of rewritten shards."""

    NONE = "none"
    GZIP = "gzip"


@dataclass(frozen=True, kw_only=True)
class DivideConfig(ConfigNode):
    """Division of one set of files into splits by a stable hash of the shard or record id."""

    patterns: tuple[str, ...] = ()  # Patterns of the files to divide; empty: use `splits`
    # Number of hash buckets per split.
    buckets: Buckets = field(default_factory=lambda: {"train": 9, "eval": 1})


@dataclass(frozen=True, kw_only=True)
class RewriteConfig(ConfigNode):
    """Shards that `ingest: rewrite` writes."""

    shard_mb: PositiveInt = 64  # Target size of a shard, in megabytes
    compression: Compression = Compression.NONE
    shuffle_seed: int = 0  # Seed for the order in which records are written
    # Dotted path of a function from a serialized record to bool; false drops the record.
    keep: Annotated[OptionalDottedPath, OwnCode(called_with=("record",))] = ""
    # Dotted path of a function that reads a custom record format: it takes the bytes of a TFRecord
    # and returns a serialized YouTube-8M record.
    parse: Annotated[OptionalDottedPath, OwnCode(called_with=("record",))] = ""


@dataclass(frozen=True, kw_only=True)
class SplitRoles(ConfigNode):
    """Uses of the splits: no video may be in two of them."""

    train: str = "train"  # models are fitted to it
    validation: str = "eval"  # trainings are ended by it, models chosen, settings tuned
    judged: str = "eval"  # the gate decides by it

    @property
    def in_order(self) -> tuple[str, ...]:
        """Each split once, the one last whose records must stay as they are."""
        splits = (self.train, self.validation, self.judged)
        return tuple(s for i, s in enumerate(splits) if s not in splits[i + 1 :])


@dataclass(frozen=True, kw_only=True)
class DataConfig(ConfigNode):
    """The data: source, splits, ingestion and verification."""

    level: Level = Level.VIDEO
    # Directory or bucket of the records; `yt8m run --data` sets it.
    root: Annotated[str, SourcePath(Content.RECORDS)] = ""
    # File patterns below `root` by split, with {SPAN} {VERSION} {YYYY} {MM} {DD} as in TFX. A split
    # with an empty list is omitted.
    splits: dict[str, tuple[str, ...]] = field(
        default_factory=lambda: {
            "train": ("train*",),
            "eval": ("validate*",),
            "test": ("test*",),
        }
    )
    divide: DivideConfig = field(default_factory=DivideConfig)
    span: Span = "latest"  # Spans to read, where `splits` contains {SPAN} or a date
    # Splits that may be missing and may have no labels; statistics and evaluation ignore them.
    unlabelled: tuple[str, ...] = ("test",)
    ingest: Ingest = Ingest.LINK
    rewrite: RewriteConfig = field(default_factory=RewriteConfig)
    verify: Verify = Verify.FULL
    bad_input: BadInput = BadInput.FAIL
    # Largest share of bad records that quarantine accepts; above it the run fails.
    max_quarantined: Fraction = 0.01
    # Megabytes per split that statistics and Transform read; 0: everything; null: 64 at video
    # level, 256 for frames.
    sample_mb: NonNegativeInt | None = None
    # Number of shards verified in parallel; 0: one per CPU.
    workers: Annotated[NonNegativeInt, Placement()] = 0

    @property
    def sample_bytes(self) -> int | None:
        """The sample's limit, per split; None where all records are taken."""
        if self.sample_mb is None:
            return _SAMPLE_MB[self.level] << 20
        return self.sample_mb << 20 or None

    @property
    def split_names(self) -> set[str]:
        """The splits that these settings make."""
        if self.divide.patterns:
            return {*self.divide.buckets}
        return {name for name, patterns in self.splits.items() if patterns}

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("train", "eval"):
            given = bool(self.divide.patterns or self.splits.get(name))
            require(given, "splits", self.splits, f"patterns for train and eval; {name} has none")
        for name in (*self.splits, *self.divide.buckets):
            plain = re.fullmatch(r"[A-Za-z0-9_]+", name) is not None
            require(plain, "splits", name, "names of letters, digits and underscores")
        is_rewritten = self.ingest is Ingest.REWRITE
        require(
            is_rewritten or not self.rewrite.keep,
            "rewrite.keep",
            self.rewrite.keep,
            "empty unless ingest is rewrite: otherwise no record would be left out",
        )
        is_read = is_rewritten and self.verify is Verify.FULL
        require(
            is_read or not self.rewrite.parse,
            "rewrite.parse",
            self.rewrite.parse,
            "empty unless ingest is rewrite and verify is full, which read and write each record",
        )
