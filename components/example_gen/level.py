"""Whether a record is of the configured level; looked at in the first one of each shard."""

from __future__ import annotations

from yt8m.components.records.decode import MalformedRecord, decode_record
from yt8m.schemas.features import Level

NO_PROTO = "not a tf.Example or tf.SequenceExample"


def level_fault(record: bytes, level: Level, *, labelled: bool) -> str | None:
    """What is wrong with the level of `record`, or None."""
    try:
        found = decode_record(record).level
    except MalformedRecord:
        return NO_PROTO
    if fits(found, level, labelled):
        return None
    return f"a {found.value}-level record, and the configuration says level={level.value}"


def fits(found: Level | None, level: Level, labelled: bool) -> bool:
    """Whether records of level `found` serve where `level` is configured."""
    if found is None:
        return False
    # A rated record serves at frame level; one without ratings at segment level only in a test.
    return found is level or (
        found.is_sequence and level.is_sequence and not (level is Level.SEGMENT and labelled)
    )
