"""Where the records come from, how they are split, taken in and verified."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass, field

from yt8m.schemas.config_tree import require
from yt8m.schemas.features import Level

_SPAN = re.compile(r"|latest|last:[1-9]\d*|\d+|\d{4}-\d{2}-\d{2}")
_SPAN_FORMS = "latest, last:N, a number such as 7, or a date such as 2026-11-20"


class Ingest(enum.Enum):
    """How records reach the Examples artifact."""

    LINK = "link"
    REFERENCE = "reference"
    COPY = "copy"
    REWRITE = "rewrite"


class Verify(enum.Enum):
    """How much of each shard is read before it is believed."""

    FULL = "full"  # every checksum, every record parsed
    CHECKSUM = "checksum"  # every checksum
    SAMPLE = "sample"  # the first records of each shard in full, of the rest the lengths
    OFF = "off"  # the lengths only, to know the number of records


class BadInput(enum.Enum):
    """What happens when verification finds something."""

    FAIL = "fail"
    QUARANTINE = "quarantine"


class Compression(enum.Enum):
    """How rewritten shards are stored."""

    NONE = "none"
    GZIP = "gzip"


@dataclass(frozen=True, kw_only=True)
class DivideConfig:
    """One set of files divided by a stable hash: of the shard, or when rewritten of the id."""

    patterns: tuple[str, ...] = ()  # empty: `splits` decides
    buckets: dict[str, int] = field(default_factory=lambda: {"train": 9, "eval": 1})

    def __post_init__(self) -> None:
        fits = {"train", "eval"} <= set(self.buckets) and all(n > 0 for n in self.buckets.values())
        require(fits, "buckets", self.buckets, "a positive number for train, eval and any others")


@dataclass(frozen=True, kw_only=True)
class RewriteConfig:
    """What `ingest: rewrite` writes."""

    shard_mb: int = 64  # aimed at, per shard
    compression: Compression = Compression.NONE
    shuffle_seed: int = 0
    # Dotted path of a function from a serialized record to bool; false leaves the record out.
    keep: str = ""

    def __post_init__(self) -> None:
        require(self.shard_mb >= 1, "shard_mb", self.shard_mb, "1 or more")
        require(not self.keep or "." in self.keep, "keep", self.keep, "a dotted path to a function")


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """The data node of the configuration."""

    level: Level = Level.VIDEO
    root: str = ""
    # Patterns below `root`, with {SPAN} {VERSION} {YYYY} {MM} {DD} as TFX reads them. A split
    # with an empty list is left out.
    splits: dict[str, tuple[str, ...]] = field(
        default_factory=lambda: {
            "train": ("train*",),
            "eval": ("validate*",),
            "test": ("test*",),
        }
    )
    divide: DivideConfig = field(default_factory=DivideConfig)
    span: str = "latest"
    # Splits that may be absent and may have no labels; statistics and evaluation leave them out.
    unlabelled: tuple[str, ...] = ("test",)
    ingest: Ingest = Ingest.LINK
    rewrite: RewriteConfig = field(default_factory=RewriteConfig)
    verify: Verify = Verify.FULL
    bad_input: BadInput = BadInput.FAIL
    max_quarantined: float = 0.01  # of all records; more than this fails even under quarantine
    sample_mb: int = 256  # per split: what statistics and Transform read; smaller splits whole
    workers: int = 0  # shards verified at a time; 0 takes the number of processors

    def __post_init__(self) -> None:
        require(_SPAN.fullmatch(self.span) is not None, "span", self.span, _SPAN_FORMS)
        allowed = "a number from 0 to 1"
        require(0 <= self.max_quarantined <= 1, "max_quarantined", self.max_quarantined, allowed)
        require(self.sample_mb >= 1, "sample_mb", self.sample_mb, "1 or more")
        require(self.workers >= 0, "workers", self.workers, "0 or more")
        for name in ("train", "eval"):
            given = bool(self.divide.patterns or self.splits.get(name))
            require(given, "splits", self.splits, f"patterns for train and eval; {name} has none")
        for name in (*self.splits, *self.divide.buckets):
            plain = re.fullmatch(r"[A-Za-z0-9_]+", name) is not None
            require(plain, "splits", name, "names of letters, digits and underscores")
