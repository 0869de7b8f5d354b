"""The manifest: figures by split, JSON, and a digest that follows the data alone."""

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from yt8m.components.artifacts.manifest import Manifest, Shard
from yt8m.schemas.features import Level

SHARDS = st.lists(
    st.builds(
        Shard,
        uri=st.text(),
        split=st.sampled_from(["train", "eval", "test"]),
        records=st.integers(0, 10**6),
        bytes=st.integers(0, 10**9),
        digest=st.text("0123456789abcdef", min_size=4, max_size=4),
        span=st.none() | st.integers(0, 99),
    ),
    max_size=6,
).map(tuple)


@given(SHARDS, st.sampled_from(Level))
def test_manifest_survives_its_json(shards, level):
    manifest = Manifest(level=level, shards=shards, verify="full")
    assert Manifest.from_json(manifest.to_json()) == manifest


@given(SHARDS)
def test_splits_part_the_shards(shards):
    manifest = Manifest(level=Level.VIDEO, shards=shards)
    parts = [shard for name in manifest.split_names for shard in manifest.split(name)]
    assert sorted(map(repr, parts)) == sorted(map(repr, shards))
    assert sum(map(manifest.examples, manifest.split_names)) == sum(s.records for s in shards)


@given(SHARDS.filter(bool), st.data())
def test_digest_follows_the_data_and_not_where_it_lies(shards, data):
    before = Manifest(level=Level.VIDEO, shards=shards)
    moved = tuple(dataclasses.replace(shard, uri="elsewhere") for shard in reversed(shards))
    assert Manifest(level=Level.VIDEO, shards=moved).digest == before.digest
    at = data.draw(st.integers(0, len(shards) - 1))
    changed = [*shards]
    changed[at] = dataclasses.replace(changed[at], digest="changed")
    assert Manifest(level=Level.VIDEO, shards=tuple(changed)).digest != before.digest
    assert Manifest(level=Level.FRAME, shards=shards).digest != before.digest
