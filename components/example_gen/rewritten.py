"""Result of a rewrite: shards, and where their records begin, as their writer knows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from yt8m.components.artifacts.manifest import Shard
from yt8m.components.artifacts.record_index import ShardIndex


@dataclass(frozen=True, kw_only=True)
class Rewritten:
    """New shards, the index of each by its address, and how many good records a filter left out."""

    shards: list[Shard]
    index: Mapping[str, ShardIndex]
    filtered: int
