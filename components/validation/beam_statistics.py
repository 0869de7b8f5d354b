"""Statistics as Beam work: records are read and counted wherever Beam puts them.

The pipeline is TFDV's. It begins with a read that all workers share, and ends with a file that a
worker writes by address: the root may be in a store of which Beam knows nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import apache_beam as beam
import tensorflow_data_validation as tfdv
from tensorflow_metadata.proto.v0 import statistics_pb2
from tfx import types
from tfx.components.util import examples_utils, tfxio_utils

from yt8m.components import storage
from yt8m.components.engines.shared_read import SharedRead


def statistics_on_beam(
    examples: types.Artifact,
    files: Mapping[str, str],
    options: tfdv.StatsOptions,
    *,
    make_pipeline: Callable[[], beam.Pipeline],
) -> None:
    """Write the statistics of each split to its file."""
    with make_pipeline() as pipeline:
        for split, file in files.items():
            (pattern,) = examples_utils.get_split_file_patterns([examples], split)
            decoder = tfxio_utils.get_split_tfxio(
                [examples], split, telemetry_descriptors=["StatisticsGen"]
            )
            _ = (
                pipeline
                | f"TFXIORead[{split}]" >> SharedRead(pattern)
                | f"Decode[{split}]" >> decoder.RawRecordToRecordBatch()
                | f"GenerateStatistics[{split}]" >> tfdv.GenerateStatistics(options)
                | f"Write[{split}]" >> beam.Map(_write, file)
            )


def _write(statistics: statistics_pb2.DatasetFeatureStatisticsList, file: str) -> None:
    storage.write_bytes(file, statistics.SerializeToString())
