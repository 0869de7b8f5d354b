"""Records damaged in every way that a disk, a network or a program knows, and what ingest says.

Whatever was done, ingest accepts the records or says where they are bad, in time and in flat
memory; with quarantine it keeps records as they were, byte for byte, and counts the others. Records
are conserved: each that can still be read as it was is kept as often as it is there, and its labels
are counted. What it has kept, TensorFlow and protobuf read.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import random
import shutil
import signal
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from ingesting import ingest_directory
from records import make_dataset, read_all

from chaos.trials import Trial
from yt8m.components.example_gen.ingest import Ingested
from yt8m.components.records.tfrecord import frame, masked_crc32c, read_records
from yt8m.schemas.errors import ConfigError, DataError

_LEVELS = ("video", "frame", "segment")
_SHARD = "train0000.tfrecord"
_HANG_S = 120
Damage = Callable[[bytearray, random.Random], None]


def damage(work: Path, chance: random.Random, *, times: int = 1000) -> Iterator[Trial]:
    """So many damaged shards, over the levels and the kinds of damage in turn."""
    for level in _LEVELS:
        if not (work / level).exists():
            make_dataset(work / level, level=level)
    names = list(DAMAGES)
    for number in range(times):
        level, name = _LEVELS[number % len(_LEVELS)], names[number // 3 % len(names)]
        yield _try(work, level, name, chance, quarantine=bool(number % 2))


def _try(work: Path, level: str, name: str, chance: random.Random, *, quarantine: bool) -> Trial:
    data, out = work / "data", work / "out"
    for path in (data, out):
        shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(work / level, data)
    original = read_all(data / _SHARD)
    content = bytearray((data / _SHARD).read_bytes())
    DAMAGES[name](content, chance)
    (data / _SHARD).write_bytes(content)
    policy = {"bad_input": "quarantine", "max_quarantined": 1.0} if quarantine else {}
    lost = []
    previous = signal.signal(signal.SIGALRM, _hang)
    outer = signal.alarm(_HANG_S)  # pytest's own, of the whole test
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            done = ingest_directory(data, out, level=level, workers=1, **policy)
        lost += _wrongly_kept(done, original, bytes(content), exact=name not in _OF_RECORDS)
    except DataError as error:
        if _SHARD not in str(error):
            lost.append(f"the shard is not named: {error}")
        if (out / "examples" / "manifest.json").exists():
            lost.append("there is a manifest all the same")
    except ConfigError as error:
        lost.append(f"the configuration is blamed: {error}")
    except Exception as error:
        lost.append(f"{type(error).__name__}: {error}")
    finally:
        signal.signal(signal.SIGALRM, previous)
        signal.alarm(outer)
    if (data / _SHARD).read_bytes() != content:
        lost.append("the source was changed")
    return Trial(kind="damage", part=f"records, {level} level", blow=name, lost=lost)


def _hang(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"it took more than {_HANG_S} s")


def _wrongly_kept(
    done: Ingested, original: list[bytes], damaged: bytes, *, exact: bool
) -> Iterator[str]:
    """Records that were never there, are lost without being counted, or are counted wrongly."""
    kept: list[bytes] = []
    labels = 0
    for shard in done.manifest.split("train"):
        if Path(shard.uri).name.startswith(_SHARD.removesuffix(".tfrecord")):
            labels += shard.labels
            content = Path(shard.uri).read_bytes()
            plain = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
            kept += (record for _, record in read_records(io.BytesIO(plain)))
    if exact and not set(kept) <= set(original):
        yield f"{len(set(kept) - set(original))} records were kept that nobody wrote"
    good = Counter(record for record in _readable(damaged) if record in set(original))
    if dropped := good - Counter(kept):
        yield f"{dropped.total()} good records were dropped"
    if labels != (labelled := sum(map(_is_labelled, kept))):
        yield f"{labels} records are said to have labels, and {labelled} have"
    if done.accounts.records_in != done.accounts.kept + done.accounts.quarantined:
        yield "the numbers do not add up"


def _readable(content: bytes) -> Iterator[bytes]:
    """Records with right checksums, up to the first length that has a wrong one.

    None of a packed file: what a damaged one still gives depends on how it is unpacked.
    """
    at = 0 if content[:2] != b"\x1f\x8b" else len(content)
    while at + 12 <= len(content):
        (length,) = struct.unpack_from("<Q", content, at)
        if struct.pack("<I", masked_crc32c(content[at : at + 8])) != content[at + 8 : at + 12]:
            return
        record = content[at + 12 : at + 12 + length]
        at += 12 + length + 4
        if at > len(content):
            return
        if struct.pack("<I", masked_crc32c(record)) == content[at - 4 : at]:
            yield record


def _is_labelled(record: bytes) -> bool:
    from tensorflow.core.example.example_pb2 import Example, SequenceExample

    video, frames = Example.FromString(record), SequenceExample.FromString(record)
    return any(
        "labels" in features.feature and features.feature["labels"].int64_list.value
        for features in (video.features, frames.context)
    )


# Each of these changes the bytes of a file, or of a record, where they are.


def _flip_bit(content: bytearray, chance: random.Random) -> None:
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)


def _zero(content: bytearray, chance: random.Random) -> None:
    """A page that never reached the disk."""
    at = chance.randrange(len(content))
    content[at : at + 4096] = bytes(len(content[at : at + 4096]))


def _cut(content: bytearray, chance: random.Random) -> None:
    del content[chance.randrange(len(content)) :]


def _remove_slice(content: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(content))
    del content[at : at + chance.randrange(1, 3000)]


def _repeat_slice(content: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(content))
    content[at:at] = content[at : at + chance.randrange(1, 3000)]


def _insert_garbage(content: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(content))
    content[at:at] = chance.randbytes(chance.randrange(1, 3000))


def _append_garbage(content: bytearray, chance: random.Random) -> None:
    content += chance.randbytes(chance.randrange(1, 3000))


def _append_tail(content: bytearray, chance: random.Random) -> None:
    """Zeros or garbage."""
    content += bytes(chance.randrange(1, 600)) if chance.random() < 0.5 else chance.randbytes(20)


def _huge_length(content: bytearray, chance: random.Random) -> None:
    """With a right checksum of its own."""
    at = chance.choice([offset for offset, _ in read_records(io.BytesIO(content))])
    length = struct.pack("<Q", chance.randrange(1 << chance.randrange(13, 64)))
    content[at : at + 12] = length + struct.pack("<I", masked_crc32c(length))


def _change_bytes(content: bytearray, chance: random.Random) -> None:
    for _ in range(chance.randrange(1, 5)):
        content[chance.randrange(min(len(content), 400))] = chance.randrange(256)


def _by_garbage(length: int) -> Damage:
    """Nothing of it is left, but less than so many bytes of garbage."""

    def damaged(content: bytearray, chance: random.Random) -> None:
        content[:] = chance.randbytes(chance.randrange(length))

    return damaged


def _zipped(change: Damage) -> Damage:
    def damaged(content: bytearray, chance: random.Random) -> None:
        content[:] = gzip.compress(content)
        change(content, chance)

    return damaged


def _in_a_record(change: Damage) -> Damage:
    """The checksums are right: whoever wrote the record wrote it so."""

    def damaged(content: bytearray, chance: random.Random) -> None:
        records = [bytearray(record) for _, record in read_records(io.BytesIO(content))]
        change(chance.choice(records), chance)
        content[:] = b"".join(frame(bytes(record)) for record in records)

    return damaged


_OF_RECORDS: dict[str, Damage] = {
    "a record's bytes": _in_a_record(_change_bytes),
    "a record cut": _in_a_record(_cut),
    "a record replaced": _in_a_record(_by_garbage(200)),
}
DAMAGES: dict[str, Damage] = {
    "a bit": _flip_bit,
    "a page of zeros": _zero,
    "a cut": _cut,
    "a slice removed": _remove_slice,
    "a slice twice": _repeat_slice,
    "garbage within": _insert_garbage,
    "garbage at the end": _append_garbage,
    "nothing but garbage": _by_garbage(5000),
    "a huge length": _huge_length,
    "gzip, a bit": _zipped(_flip_bit),
    "gzip, a cut": _zipped(_cut),
    "gzip, a tail": _zipped(_append_tail),
    **_OF_RECORDS,
}
