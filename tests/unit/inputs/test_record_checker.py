"""What is taken for good, every reader of protobuf takes: TensorFlow's own parser skips much."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import tensorflow as tf
from google.protobuf.message import DecodeError
from records import make_dataset, read_all

from yt8m.components.inputs.record_checker import RecordChecker
from yt8m.components.records.decode import MalformedRecord, decode_record
from yt8m.schemas.features import FeatureConfig, Level

FEATURES = FeatureConfig(num_classes=20)
MUTATIONS = 1000
# Each of these TensorFlow's parser of examples takes, where it stands at a record's end.
TAILS = (b"\x0a", b"\x1a\x00", b"\x08\x01", b"\x12\x00", b"\x0a\x05abc")


@pytest.fixture(scope="module", params=["video", "frame", "segment"])
def level(request: pytest.FixtureRequest) -> Level:
    return Level(request.param)


@pytest.fixture(scope="module")
def records(level: Level, tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    data = make_dataset(Path(tmp_path_factory.mktemp("data")), level=level.value, shards=1)
    return read_all(data / "train0000.tfrecord")


@pytest.fixture(scope="module")
def checker(level: Level) -> RecordChecker:
    return RecordChecker(level=level, features=FEATURES)


def test_no_mutation_passes_that_another_reader_refuses(
    level: Level, records: list[bytes], checker: RecordChecker
) -> None:
    chance = random.Random(level.value)
    mutated = [_mutated(chance.choice(records), chance) for _ in range(MUTATIONS)]
    good = [one for one in mutated if not checker.check([one], labelled=True).bad]
    assert 0.02 * MUTATIONS < len(good) < 0.9 * MUTATIONS
    message = tf.train.Example if level is Level.VIDEO else tf.train.SequenceExample
    for one in good:
        message.FromString(one)  # DecodeError fails the test, and so does MalformedRecord
        decode_record(one)
        _parse(one, level)


@pytest.mark.parametrize("kind", ["bytes_list", "float_list", "int64_list", None])
def test_a_list_without_values_passes_where_tensorflow_reads_it(
    level: Level, records: list[bytes], checker: RecordChecker, kind: str | None
) -> None:
    message = tf.train.SequenceExample.FromString(records[0])
    labels = message.context.feature["labels"]
    labels.Clear()
    if kind is not None:
        getattr(labels, kind).SetInParent()
    record = message.SerializeToString()
    if level is Level.VIDEO:
        record = tf.train.Example(features=message.context).SerializeToString()
    is_bad = bool(checker.check([record], labelled=False).bad)
    assert is_bad == (kind in ("bytes_list", "float_list"))
    if is_bad:
        with pytest.raises(tf.errors.InvalidArgumentError):
            _parse(record, level)
    else:
        _parse(record, level)


def _parse(record: bytes, level: Level) -> None:
    """Read the record as graphs of TensorFlow do; an error fails the test."""
    context: dict[str, object] = {
        "id": tf.io.FixedLenFeature([], tf.string),
        "labels": tf.io.VarLenFeature(tf.int64),
    }
    sizes = FEATURES.size_by_name
    if level is Level.VIDEO:
        vectors = {
            f"mean_{name}": tf.io.FixedLenFeature([n], tf.float32) for name, n in sizes.items()
        }
        tf.io.parse_example([record], context | vectors)
        return
    if level is Level.SEGMENT:
        for key in ("segment_start_times", "segment_end_times", "segment_labels"):
            context[key] = tf.io.VarLenFeature(tf.int64)
        context["segment_scores"] = tf.io.VarLenFeature(tf.float32)
    frames = {name: tf.io.FixedLenSequenceFeature([], tf.string) for name in sizes}
    tf.io.parse_single_sequence_example(record, context, frames)


def test_what_protobuf_refuses_so_does_our_decoder(level: Level, records: list[bytes]) -> None:
    chance = random.Random(level.value)
    refused = 0
    for _ in range(4 * MUTATIONS):
        one = _mutated(chance.choice(records), chance)
        try:
            tf.train.SequenceExample.FromString(one)
        except DecodeError:
            refused += 1
            with pytest.raises(MalformedRecord):
                decode_record(one)
    assert refused > MUTATIONS


def _mutated(record: bytes, chance: random.Random) -> bytes:
    """With one small change of its structure: not in the values, which may be anything."""
    changed = bytearray(record)
    at = chance.choice(_structure(record))
    kind = chance.randrange(5)
    if kind == 0:
        changed[at] ^= 1 << chance.randrange(8)
    elif kind == 1:
        del changed[at : at + chance.choice((1, 2, 5))]
    elif kind == 2:
        changed.insert(at, chance.randrange(256))
    elif kind == 3:
        del changed[at:]
    else:
        changed += chance.choice(TAILS)
    return bytes(changed)


def _structure(record: bytes) -> list[int]:
    """Where keys, lengths and names stand, as far as ten of a kind in a row."""
    names = [record.find(name) for name in (b"id", b"labels", b"rgb", b"audio", b"segment")]
    near = {at + step for at in names if at >= 0 for step in range(-12, 24)}
    return sorted(at for at in near | set(range(12)) if 0 <= at < len(record))
