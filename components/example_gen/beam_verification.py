"""Verification as Beam work: each worker reads some of the shards.

What a worker finds is written to a scratch directory, and shards without a fault are remembered as
they are elsewhere, so that a run that is ended goes on from there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence

import apache_beam as beam

from yt8m.components import storage
from yt8m.components.engines.finished_tasks import finished_tasks
from yt8m.components.example_gen.config import DataConfig
from yt8m.components.example_gen.sources import SourceShard
from yt8m.components.example_gen.verification_cache import VerifiedCache
from yt8m.components.example_gen.verify import (
    ShardReport,
    ShardVerifier,
    finished,
    pack_report,
    unpack_report,
    verification_progress,
)
from yt8m.components.records.shared_index import SharedIndex
from yt8m.schemas.config_tree import from_dict, to_dict
from yt8m.schemas.errors import DataError, Yt8mError
from yt8m.schemas.features import FeatureConfig


def verify_on_beam(
    shards: Sequence[SourceShard],
    config: DataConfig,
    features: FeatureConfig,
    *,
    scratch: str,
    make_pipeline: Callable[[], beam.Pipeline],
    cache: VerifiedCache | None = None,
    index: SharedIndex | None = None,
) -> list[ShardReport]:
    """Verify shards on a Beam runner's workers, as `verify_shards`; known shards are skipped."""
    remembered = {number: cache.load(shard) for number, shard in enumerate(shards)} if cache else {}
    reports = {
        number: ShardReport(source=shards[number], remembered=True, **figures)
        for number, figures in remembered.items()
        if figures is not None
    }
    # The largest first: workers that take turns then have about the same to read.
    waiting = sorted(set(range(len(shards))) - set(reports), key=lambda n: (-shards[n].size, n))
    if waiting:
        storage.remove_tree(scratch)
        storage.make_dirs(scratch)
        elements = [(number, json.dumps(to_dict(shards[number]))) for number in waiting]
        with (
            verification_progress(config, total=len(shards), done=len(reports)) as progress,
            finished_tasks(scratch, progress.advance, units_of=lambda name: 1),
            make_pipeline() as pipeline,
        ):
            _ = (
                pipeline
                | "Shards" >> beam.Create(elements, reshuffle=False)
                | "Spread" >> beam.Reshuffle()
                | "Verify" >> beam.ParDo(_VerifyShard(config, features, cache, index, scratch))
            )
        reports |= {number: _collect(shards[number], scratch, number) for number in waiting}
        storage.remove_tree(scratch)
    return finished([reports[number] for number in range(len(shards))], cache)


class _VerifyShard(beam.DoFn):
    """Reads one shard an element."""

    def __init__(
        self,
        config: DataConfig,
        features: FeatureConfig,
        cache: VerifiedCache | None,
        index: SharedIndex | None,
        scratch: str,
    ) -> None:
        self._config, self._features, self._cache = config, features, cache
        self._index, self._scratch = index, scratch
        self._verifier: ShardVerifier | None = None

    def process(self, element: tuple[int, str]) -> Iterator[int]:
        number, text = element
        try:
            if self._verifier is None:
                self._verifier = ShardVerifier(
                    self._config, self._features, self._cache, self._index
                )
            report = self._verifier.verify(from_dict(SourceShard, json.loads(text)))
        except Yt8mError as error:  # Beam would bury the message in a traceback
            storage.write_text(_place(self._scratch, number, "error"), str(error))
        else:
            storage.write_bytes(_place(self._scratch, number, "npz"), pack_report(report))
        yield number


def _collect(shard: SourceShard, scratch: str, number: int) -> ShardReport:
    if storage.exists(place := _place(scratch, number, "error")):
        raise DataError(storage.read_text(place))
    place = _place(scratch, number, "npz")
    if not storage.exists(place):
        raise Yt8mError(f"{shard.uri} was not verified; run the same command again")
    return unpack_report(shard, storage.read_bytes(place))


def _place(scratch: str, number: int, ending: str) -> str:
    return storage.join(scratch, f"{number:06d}.{ending}")
