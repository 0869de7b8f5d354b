"""Records damaged in every way that a disk, a network or a program knows, and what ingest says.

Whatever was done, ingest accepts the records or says where they are bad, in time and in flat
memory; with quarantine it keeps records as they were, byte for byte, and counts the others. What it
has kept, TensorFlow and protobuf read.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import random
import shutil
import signal
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

from ingesting import ingest_directory
from records import make_dataset, read_all, record_offsets, write_all

from chaos.trials import Trial
from yt8m.components.example_gen.ingest import Ingested
from yt8m.components.records.tfrecord import masked_crc32c
from yt8m.schemas.errors import ConfigError, DataError

_LEVELS = ("video", "frame", "segment")
_SHARD = "train0000.tfrecord"
_HANG_S = 120
Damage = Callable[[Path, random.Random], None]


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
    DAMAGES[name](data / _SHARD, chance)
    policy = {"bad_input": "quarantine", "max_quarantined": 1.0} if quarantine else {}
    before = (data / _SHARD).read_bytes()
    lost = []
    previous = signal.signal(signal.SIGALRM, _hang)
    outer = signal.alarm(_HANG_S)  # pytest's own, of the whole test
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            done = ingest_directory(data, out, level=level, workers=1, **policy)
        lost += _wrongly_kept(done, original, exact=name not in _CHANGING_RECORDS)
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
    if (data / _SHARD).read_bytes() != before:
        lost.append("the source was changed")
    return Trial(kind="damage", part=f"records, {level} level", blow=name, lost=lost)


def _hang(number: int, frame: FrameType | None) -> None:
    raise TimeoutError(f"it took more than {_HANG_S} s")


def _wrongly_kept(done: Ingested, original: list[bytes], *, exact: bool) -> Iterator[str]:
    """Records that were never there, or are lost without being counted."""
    from tensorflow.core.example.example_pb2 import Example, SequenceExample

    kept = []
    for shard in done.manifest.split("train"):
        if Path(shard.uri).name.startswith(_SHARD.removesuffix(".tfrecord")):
            content = Path(shard.uri).read_bytes()
            if content[:2] == b"\x1f\x8b":
                plain = Path(shard.uri).with_suffix(".plain")
                plain.write_bytes(gzip.decompress(content))
                kept += read_all(plain)
                plain.unlink()
            else:
                kept += read_all(Path(shard.uri))
    if exact and not set(kept) <= set(original):
        yield f"{len(set(kept) - set(original))} records were kept that nobody wrote"
    for record in kept:
        Example.FromString(record)
        SequenceExample.FromString(record)
    if done.accounts.records_in != done.accounts.kept + done.accounts.quarantined:
        yield "the numbers do not add up"


def _at(path: Path, chance: random.Random) -> tuple[bytearray, int]:
    content = bytearray(path.read_bytes())
    return content, chance.randrange(len(content))


def _flip_bit(path: Path, chance: random.Random) -> None:
    content, at = _at(path, chance)
    content[at] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


def _zero(path: Path, chance: random.Random) -> None:
    """A page that never reached the disk."""
    content, at = _at(path, chance)
    content[at : at + 4096] = bytes(len(content[at : at + 4096]))
    path.write_bytes(content)


def _cut(path: Path, chance: random.Random) -> None:
    content, at = _at(path, chance)
    path.write_bytes(content[:at])


def _remove_slice(path: Path, chance: random.Random) -> None:
    content, at = _at(path, chance)
    del content[at : at + chance.randrange(1, 3000)]
    path.write_bytes(content)


def _repeat_slice(path: Path, chance: random.Random) -> None:
    content, at = _at(path, chance)
    content[at:at] = content[at : at + chance.randrange(1, 3000)]
    path.write_bytes(content)


def _insert_garbage(path: Path, chance: random.Random) -> None:
    content, at = _at(path, chance)
    content[at:at] = chance.randbytes(chance.randrange(1, 3000))
    path.write_bytes(content)


def _append_garbage(path: Path, chance: random.Random) -> None:
    path.write_bytes(path.read_bytes() + chance.randbytes(chance.randrange(1, 3000)))


def _replace_all(path: Path, chance: random.Random) -> None:
    path.write_bytes(chance.randbytes(chance.randrange(0, 5000)))


def _huge_length(path: Path, chance: random.Random) -> None:
    """With a right checksum of its own."""
    content = bytearray(path.read_bytes())
    at = chance.choice(record_offsets(path))
    length = struct.pack("<Q", chance.randrange(1 << chance.randrange(13, 64)))
    content[at : at + 12] = length + struct.pack("<I", masked_crc32c(length))
    path.write_bytes(content)


def _gzip_flip(path: Path, chance: random.Random) -> None:
    path.write_bytes(gzip.compress(path.read_bytes()))
    _flip_bit(path, chance)


def _gzip_cut(path: Path, chance: random.Random) -> None:
    path.write_bytes(gzip.compress(path.read_bytes()))
    _cut(path, chance)


def _gzip_tail(path: Path, chance: random.Random) -> None:
    tail = bytes(chance.randrange(1, 600)) if chance.random() < 0.5 else chance.randbytes(20)
    path.write_bytes(gzip.compress(path.read_bytes()) + tail)


def _in_a_record(change: Callable[[bytearray, random.Random], None]) -> Damage:
    """The checksums are right: whoever wrote the record wrote it so."""

    def damaged(path: Path, chance: random.Random) -> None:
        records = read_all(path)
        at = chance.randrange(len(records))
        content = bytearray(records[at])
        change(content, chance)
        records[at] = bytes(content)
        write_all(path, records)

    return damaged


def _change_bytes(content: bytearray, chance: random.Random) -> None:
    for _ in range(chance.randrange(1, 5)):
        content[chance.randrange(min(len(content), 400))] = chance.randrange(256)


def _cut_record(content: bytearray, chance: random.Random) -> None:
    del content[chance.randrange(len(content)) :]


def _replace_record(content: bytearray, chance: random.Random) -> None:
    content[:] = chance.randbytes(chance.randrange(200))


DAMAGES: dict[str, Damage] = {
    "a bit": _flip_bit,
    "a page of zeros": _zero,
    "a cut": _cut,
    "a slice removed": _remove_slice,
    "a slice twice": _repeat_slice,
    "garbage within": _insert_garbage,
    "garbage at the end": _append_garbage,
    "nothing but garbage": _replace_all,
    "a huge length": _huge_length,
    "gzip, a bit": _gzip_flip,
    "gzip, a cut": _gzip_cut,
    "gzip, a tail": _gzip_tail,
    "a record's bytes": _in_a_record(_change_bytes),
    "a record cut": _in_a_record(_cut_record),
    "a record replaced": _in_a_record(_replace_record),
}
_CHANGING_RECORDS = ("a record's bytes", "a record cut", "a record replaced")
