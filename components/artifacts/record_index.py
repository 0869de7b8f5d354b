"""Start of each record of an Examples artifact: `record_index.npz`, beside the manifest.

ExampleGen writes it, for it has met every record. With it a process of a training reads the bytes
of its own records and no others. What it cannot find there, training finds out by itself.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from yt8m.schemas.json_file import check_stamp, stamp
from yt8m.schemas.npz_faults import NPZ_FAULTS

FILE_NAME = "record_index.npz"


@dataclass(frozen=True, eq=False)
class ShardIndex:
    """The records of one shard, in their order."""

    lengths: np.ndarray  # [records] uint32, bytes of each without its framing
    segments: np.ndarray | None = None  # [records] uint32, distinct rated segments, where counted
    compression: str = ""  # as tf.data names it


def pack_index(shards: Mapping[str, ShardIndex]) -> bytes:
    """The file's content, from what is known of the shards by their addresses."""
    indices = list(shards.values())
    none = np.zeros(0, np.uint32)
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        **stamp(),
        uris=np.array(list(shards), dtype=np.str_),
        records=np.array([len(s.lengths) for s in indices], np.int64),
        has_segments=np.array([s.segments is not None for s in indices], np.bool_),
        compressions=np.array([s.compression for s in indices], np.str_),
        lengths=np.concatenate([none, *(s.lengths for s in indices)]).astype(np.uint32),
        segments=np.concatenate(
            [none, *(s.segments for s in indices if s.segments is not None)]
        ).astype(np.uint32),
    )
    return buffer.getvalue()


def parse_index(content: bytes) -> dict[str, ShardIndex]:
    """The inverse of `pack_index`; ValueError where the file is damaged."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            check_stamp({name: stored[name].item() for name in stamp() if name in stored})
            names = ("uris", "records", "has_segments", "lengths", "segments")
            uris, records, has_segments, lengths, segments = (stored[name] for name in names)
            packed = stored.get("compressions", [""] * len(uris))
    except NPZ_FAULTS as error:
        raise ValueError(f"not an index of records ({error})") from error
    record_ends, counted = np.cumsum(records), np.cumsum(records * has_segments)
    return {
        str(uri): ShardIndex(
            lengths[end - count : end],
            segments[until - count : until] if has else None,
            str(kind),
        )
        for uri, count, has, end, until, kind in zip(
            uris,
            records.tolist(),
            has_segments,
            record_ends.tolist(),
            counted.tolist(),
            packed,
            strict=True,
        )
    }
