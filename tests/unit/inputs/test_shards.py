"""Records of shards, with TensorFlow's reader and without; what TensorFlow says of an error."""

import re
from pathlib import Path

import pytest
import tensorflow as tf
from records import compress, flip_byte_in_record, make_dataset, truncate
from sources import SIZES

from yt8m.components.inputs.shards import read_batches, read_serialized, read_shards, tf_reason
from yt8m.components.records.find import find_shards
from yt8m.schemas.errors import DataError

REASON = "mean_rgb (rgb) must hold finite numbers alone : Tensor had NaN values"


@pytest.mark.parametrize(
    "text",
    [
        REASON,
        f"{{{{function_node __inference__score_12}}}} {{{{node CheckNumerics}}}} {REASON} [Op:X]",
        f"{REASON}\n\t [[{{{{node CheckNumerics}}}}]]",
        "Graph execution error:\n\nDetected at node CheckNumerics defined at (most recent call "
        f"last):\n<stack traces unavailable>\n{REASON}\n\t [[{{{{node CheckNumerics}}}}]] [Op:X]",
        "Graph execution error:\n\nDetected at node PyFunc defined at (most recent call last):\n"
        f"Traceback (most recent call last):\n\n{REASON}\n\n\n\t [[{{{{node PyFunc}}}}]] [Op:X]",
    ],
    ids=["bare", "in a function", "with its node", "in a loaded graph", "in Python of a graph"],
)
def test_the_reason_is_found_however_the_error_came(text):
    assert tf_reason(tf.errors.InvalidArgumentError(None, None, text)) == REASON


def test_a_message_that_quotes_bytes_that_are_no_text_is_told_without_them():
    record = tf.constant([b"\xff\xfe"])
    with pytest.raises(UnicodeDecodeError) as error:
        tf.io.parse_example(record, {"id": tf.io.VarLenFeature(tf.string)})
    assert tf_reason(error.value) == "Could not parse example input"


def test_an_error_without_words_has_the_name_of_its_type():
    assert tf_reason(ValueError()) == "ValueError"


@pytest.fixture
def shards(tmp_path):
    """Two shards of four videos each, the second gzipped."""
    make_dataset(tmp_path, level="frame", train=8, shards=2, sizes=SIZES)
    compress(sorted(tmp_path.glob("train*"))[1])
    return find_shards(str(tmp_path / "train*"))


def test_records_are_those_that_tensorflow_reads(shards):
    (expected,) = read_shards(shards).batch(100)
    assert list(read_serialized(shards)) == expected.numpy().tolist()
    found = [batch.numpy().tolist() for batch in read_batches(shards, 3)]
    assert [len(batch) for batch in found] == [3, 3, 2]
    assert [record for batch in found for record in batch] == expected.numpy().tolist()
    assert not list(read_batches([], 3))


@pytest.mark.parametrize("which", [0, 1], ids=["plain", "gzip"])
@pytest.mark.parametrize("spoil", ["cut", "gone"])
def test_a_shard_that_cannot_be_read_to_its_end_is_named(shards, which, spoil):
    path = Path(shards[which].uri)
    if spoil == "cut":
        truncate(path, path.stat().st_size - 9)
        reason = f"a damaged record in {path}: "
    else:
        path.unlink()
        reason = f"a shard is missing: {path}"
    with pytest.raises(DataError, match=re.escape(reason)):
        list(read_serialized(shards))


def test_a_damaged_record_is_named_by_its_number(shards):
    flip_byte_in_record(Path(shards[0].uri), 2)
    with pytest.raises(DataError, match=r"record 2 at byte \d+: wrong checksum of the record"):
        list(read_serialized(shards))
