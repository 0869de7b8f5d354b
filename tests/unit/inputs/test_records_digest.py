"""The digest of the records themselves."""

import dataclasses
import gzip
import os
import shutil
from pathlib import Path

import pytest
from records import read_all, write_all
from sources import make_source

from yt8m.components.inputs.record_index import index_of
from yt8m.components.inputs.records_digest import records_digest
from yt8m.schemas.features import Level


@pytest.fixture
def source(tmp_path):
    return make_source(tmp_path / "data", Level.VIDEO)


def moved(source, root):
    """The same records elsewhere, at another time."""
    shards = []
    for shard in source.shards:
        path = root / shard.uri.rpartition("/")[2]
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(shard.uri, path)
        os.utime(path, (1, 1))
        shards.append(dataclasses.replace(shard, uri=str(path), digest="another time"))
    return dataclasses.replace(source, shards=tuple(shards))


def test_a_copy_at_another_place_and_time_has_the_same_digest(source, tmp_path):
    assert records_digest(moved(source, tmp_path / "copy")) == records_digest(source)


def test_a_record_with_another_content_of_the_same_length_changes_the_digest(source, tmp_path):
    other = moved(source, tmp_path / "copy")
    path = other.shards[1].uri
    first, *rest = read_all(tmp_path / "copy" / path.rpartition("/")[2])
    write_all(tmp_path / "copy" / path.rpartition("/")[2], [first[:-1] + b"\x01", *rest])
    assert (index_of(other).lengths == index_of(source).lengths).all()
    assert records_digest(other) != records_digest(source)


def test_of_verified_records_the_manifest_knows_the_digest(source):
    known = dataclasses.replace(source, digests_known=True)
    changed = [dataclasses.replace(s, digest=s.digest + "x") for s in source.shards]
    assert records_digest(known) != records_digest(source)
    assert records_digest(dataclasses.replace(known, shards=tuple(changed))) != records_digest(
        known
    )


def test_the_order_of_the_shards_counts(source):
    turned = dataclasses.replace(source, shards=source.shards[::-1])
    assert records_digest(turned) != records_digest(source)


def test_of_compressed_shards_the_records_count_and_not_how_they_were_compressed(source, tmp_path):
    digests = set()
    for level in (1, 9):
        other = moved(source, tmp_path / str(level))
        shards = []
        for shard in other.shards:
            path = Path(shard.uri)
            path.write_bytes(gzip.compress(path.read_bytes(), compresslevel=level))
            shards.append(dataclasses.replace(shard, compression="GZIP"))
        digests.add(records_digest(dataclasses.replace(other, shards=tuple(shards))))
    assert len(digests) == 1
