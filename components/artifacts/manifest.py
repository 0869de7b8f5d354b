"""The manifest of an Examples artifact: every shard, with the result of its verification.

ExampleGen writes it as `manifest.json` at the artifact's root. Trainer, Evaluator and report take
the number of examples, the shards' addresses and the data's digest from here, never by reading.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from yt8m.schemas.features import Level
from yt8m.schemas.json_file import JsonFile

FILE_NAME = "manifest.json"
QUARANTINE_FILE = "quarantine.json"  # beside it: the bad records that were left out


@dataclass(frozen=True, kw_only=True)
class Shard:
    """One TFRecord file. `uri` is where the records are read from."""

    uri: str
    split: str
    records: int
    bytes: int
    digest: str  # of the content where it was read; of size and time where verify is off
    compression: str = ""  # "" or "GZIP", as tf.data names it
    labels: int = 0  # records that have at least one label
    frames: int = 0  # summed over the records; 0 at video level
    segments: int = 0  # distinct rated segments, summed; 0 where records were not parsed
    span: int | None = None
    quarantined: int = 0  # records of the source that were left out


@dataclass(frozen=True, kw_only=True)
class Manifest(JsonFile):
    """All shards of one Examples artifact."""

    level: Level
    shards: tuple[Shard, ...]
    verify: str = "off"  # the policy under which the figures were obtained
    dated: bool = False  # whether every span is a date
    transformed: bool = False  # whether the records are Transform's, with one vector `features`

    def split(self, name: str) -> tuple[Shard, ...]:
        return tuple(shard for shard in self.shards if shard.split == name)

    @property
    def split_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(shard.split for shard in self.shards))

    @property
    def spans(self) -> tuple[int, ...]:
        """The spans that the shards are of, in order."""
        return tuple(sorted({shard.span for shard in self.shards if shard.span is not None}))

    def examples(self, split: str) -> int:
        """Number of records in `split`."""
        return sum(shard.records for shard in self.split(split))

    def left_out(self, split: str) -> int:
        """Number of bad records in the sources of `split` that it has not."""
        return sum(shard.quarantined for shard in self.split(split))

    @property
    def digest(self) -> str:
        """Changes exactly when the data does; addresses do not count."""
        rows = sorted((s.split, s.digest, s.records) for s in self.shards)
        return hashlib.sha256(json.dumps([self.level.value, rows]).encode()).hexdigest()[:16]
