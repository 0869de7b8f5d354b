"""The action of StatisticsGen."""

from __future__ import annotations

from typing import Any

import tensorflow_data_validation as tfdv
from tensorflow_metadata.proto.v0 import statistics_pb2
from tfx import types
from tfx.components.statistics_gen import executor as stock
from tfx.components.util import examples_utils
from tfx.proto import example_gen_pb2
from tfx.types import artifact_utils
from tfx.utils import io_utils

import yt8m.components.storage.tfx_plugin  # noqa: F401  (s3:// for TFX's own file IO)
from yt8m.components import storage
from yt8m.components.declaration import Artifacts
from yt8m.components.engines.parallelism import is_elsewhere
from yt8m.components.validation.statistics import add_moments, compute_statistics


class StatisticsGenExecutor(stock.Executor):
    """Statistics of each split; those of an engine's workers where there is one."""

    def Do(  # noqa: N802  (TFX's name)
        self, input_dict: Artifacts, output_dict: Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        self._log_startup(input_dict, output_dict, exec_properties)
        examples = artifact_utils.get_single_instance(input_dict["examples"])
        statistics = artifact_utils.get_single_instance(output_dict["statistics"])
        statistics.split_names, statistics.span = examples.split_names, examples.span
        payload = examples_utils.get_payload_format(examples)
        sequences = payload == example_gen_pb2.FORMAT_TF_SEQUENCE_EXAMPLE
        options = tfdv.StatsOptions.from_json(exec_properties["stats_options_json"])
        schema_uri = artifact_utils.get_single_uri(input_dict["schema"])
        options.schema = io_utils.SchemaReader().read(io_utils.get_only_uri_in_dir(schema_uri))
        files = {
            split: storage.join(
                artifact_utils.get_split_uri([statistics], split), stock.DEFAULT_FILE_NAME
            )
            for split in artifact_utils.decode_split_names(examples.split_names)
        }
        if elsewhere := is_elsewhere(self._beam_pipeline_args):
            from yt8m.components.validation.beam_statistics import statistics_on_beam

            statistics_on_beam(examples, files, options, make_pipeline=self._make_beam_pipeline)
        for split, file in files.items():
            uris = _shards(examples, split)
            if elsewhere:
                result = statistics_pb2.DatasetFeatureStatisticsList.FromString(
                    storage.read_bytes(file)
                )
                add_moments(result, uris, sequences=sequences)
            else:
                result = compute_statistics(uris, options, sequences=sequences)
            storage.write_bytes(file, result.SerializeToString(deterministic=True))


def _shards(examples: types.Artifact, split: str) -> list[str]:
    (pattern,) = examples_utils.get_split_file_patterns([examples], split)
    return sorted(uri for uri, one in storage.find(pattern).items() if not one.is_dir)
