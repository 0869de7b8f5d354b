"""The action of StatisticsGen."""

from __future__ import annotations

from typing import Any

import tensorflow_data_validation as tfdv
from tfx.components.statistics_gen import executor as stock
from tfx.components.util import examples_utils
from tfx.proto import example_gen_pb2
from tfx.types import artifact_utils
from tfx.utils import io_utils

from yt8m.components import storage
from yt8m.components.declaration import Artifacts
from yt8m.components.engines.parallelism import is_elsewhere
from yt8m.components.validation.statistics import compute_statistics


class StatisticsGenExecutor(stock.Executor):
    """Statistics of each split; those of an engine's workers where there is one."""

    def Do(  # noqa: N802  (TFX's name)
        self, input_dict: Artifacts, output_dict: Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        if is_elsewhere(self._beam_pipeline_args):
            super().Do(input_dict, output_dict, exec_properties)
            return
        self._log_startup(input_dict, output_dict, exec_properties)
        examples = artifact_utils.get_single_instance(input_dict["examples"])
        statistics = artifact_utils.get_single_instance(output_dict["statistics"])
        statistics.split_names, statistics.span = examples.split_names, examples.span
        options = tfdv.StatsOptions.from_json(exec_properties["stats_options_json"])
        schema_uri = artifact_utils.get_single_uri(input_dict["schema"])
        options.schema = io_utils.SchemaReader().read(io_utils.get_only_uri_in_dir(schema_uri))
        payload = examples_utils.get_payload_format(examples)
        for split in artifact_utils.decode_split_names(examples.split_names):
            (pattern,) = examples_utils.get_split_file_patterns([examples], split)
            found = compute_statistics(
                sorted(uri for uri, one in storage.find(pattern).items() if not one.is_dir),
                options,
                sequences=payload == example_gen_pb2.FORMAT_TF_SEQUENCE_EXAMPLE,
            )
            uri = artifact_utils.get_split_uri([statistics], split)
            path = storage.join(uri, stock.DEFAULT_FILE_NAME)
            storage.write_bytes(path, found.SerializeToString(deterministic=True))
