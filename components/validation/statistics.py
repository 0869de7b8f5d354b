"""TFDV's statistics of records, by its own generators and without a Beam pipeline around them.

What it takes to put such a pipeline together, to pickle it and to take it apart is more than the
statistics of a sample themselves. On an engine its workers share the work (`beam_statistics`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import tensorflow_data_validation as tfdv
from tensorflow_data_validation.statistics import stats_impl
from tensorflow_metadata.proto.v0 import statistics_pb2
from tfx_bsl.coders import example_coder, sequence_example_coder

from yt8m.components.records.shard_reader import open_shard, scan
from yt8m.components.validation.moments import MomentsGenerator
from yt8m.schemas.errors import DataError

_SEQUENCES = "##SEQUENCE##"  # the column in which TFDV looks for the frames
# Quantiles are two thirds of the work and leave Python's lock to others; more threads than two
# would wait for it. As many on every machine: sketches depend on what each of them was given.
_THREADS = 2

# Bins run from a sample's smallest value to its largest. So many that they can be cut anew.
_BINS = 100
_RANKED = 5000  # labels that are counted by class; the published vocabulary has 3,862

Decode = Callable[[list[bytes]], Any]  # serialized records to a pyarrow.RecordBatch


def statistics_options() -> tfdv.StatsOptions:
    """Options of every split's statistics; the schema is added later."""
    options = tfdv.StatsOptions(num_histogram_buckets=_BINS, num_rank_histogram_buckets=_RANKED)
    options.use_sketch_based_topk_uniques = True
    return options


def compute_statistics(
    uris: Iterable[str], options: tfdv.StatsOptions, *, sequences: bool
) -> statistics_pb2.DatasetFeatureStatisticsList:
    """Statistics of the records of all `uris`, in memory that does not grow with them."""
    generators = [*stats_impl.get_generators(options, in_memory=True), MomentsGenerator()]
    combined = _combined(uris, generators, sequences=sequences)
    return stats_impl.extract_statistics_output(combined, generators)


def add_moments(
    statistics: statistics_pb2.DatasetFeatureStatisticsList, uris: Iterable[str], *, sequences: bool
) -> None:
    """Add to statistics that an engine's workers have made what they do not know of."""
    generator = MomentsGenerator()
    (combined,) = _combined(uris, [generator], sequences=sequences)
    noted = {tuple(one.path.step): one for one in generator.extract_output(combined).features}
    for feature in statistics.datasets[0].features:
        if (path := tuple(feature.path.step)) in noted:
            feature.custom_stats.extend(noted[path].custom_stats)


def _combined(uris: Iterable[str], generators: Sequence[Any], *, sequences: bool) -> list[Any]:
    """Each generator's accumulator of all records."""
    for generator in generators:
        generator.setup()
    decode = _decoder(sequences=sequences)

    def add(accumulated: list[Any], records: list[bytes]) -> list[Any]:
        batch = decode(records)
        return [
            generator.add_input(so_far, batch)
            for generator, so_far in zip(generators, accumulated, strict=True)
        ]

    parts = [[generator.create_accumulator() for generator in generators] for _ in range(_THREADS)]
    blocks = _blocks(uris)
    with ThreadPoolExecutor(_THREADS) as threads:
        while some := list(islice(blocks, _THREADS)):
            parts[: len(some)] = threads.map(add, parts, some)
    return [
        generator.merge_accumulators(list(of_parts))
        for generator, of_parts in zip(generators, zip(*parts, strict=True), strict=True)
    ]


def _decoder(*, sequences: bool) -> Decode:
    if sequences:
        decoder: Any = sequence_example_coder.SequenceExamplesToRecordBatchDecoder(_SEQUENCES)
    else:
        decoder = example_coder.ExamplesToRecordBatchDecoder()
    return lambda records: decoder.DecodeBatch(records)


def _blocks(uris: Iterable[str]) -> Iterator[list[bytes]]:
    for uri in uris:
        with open_shard(uri) as (file, _):
            for block in scan(file):
                if block.problems:
                    record, offset, reason = block.problems[0]
                    raise DataError(f"{uri}: record {record} at byte {offset}: {reason}")
                if block.records:
                    yield block.records
