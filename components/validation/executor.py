"""The actions of SchemaGen and ValidationGate."""

from __future__ import annotations

import logging
from typing import Any

from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import schema_pb2
from tfx import types
from tfx.components.example_validator import executor as example_validator
from tfx.components.statistics_gen import executor as statistics_gen
from tfx.dsl.components.base import base_executor
from tfx.types import artifact_utils
from tfx.utils import io_utils

from yt8m.components import storage
from yt8m.components.artifacts import comparisons
from yt8m.components.artifacts.comparisons import Comparisons
from yt8m.components.artifacts.read import read_message, read_statistics
from yt8m.components.declaration import Artifacts
from yt8m.components.registry.baseline_artifact import baseline_statistics
from yt8m.components.validation.anomalies import Anomaly, list_anomalies, message
from yt8m.components.validation.config import OnDrift, ValidationConfig
from yt8m.components.validation.drift import Comparison, StatisticsComparison, compare
from yt8m.components.validation.errors import StoppedError
from yt8m.schemas.config_tree import from_parameter

SCHEMA_FILE = "schema.pbtxt"
MESSAGE_FILE = "anomalies.txt"
_TRAIN, _EVAL = "train", "eval"
_NOTHING = StatisticsComparison((), ())
_logger = logging.getLogger(__name__)


class SchemaGenExecutor(base_executor.BaseExecutor):
    """Writes the curated schema that it is given."""

    def Do(  # noqa: N802  (TFX's name)
        self, input_dict: Artifacts, output_dict: Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        self._log_startup(input_dict, output_dict, exec_properties)
        text = exec_properties["curated_schema"]
        schema = text_format.Parse(text, schema_pb2.Schema())
        artifact = artifact_utils.get_single_instance(output_dict["schema"])
        storage.write_text(storage.join(artifact.uri, SCHEMA_FILE), text)
        artifact.set_int_custom_property("features", len(schema.feature))


class ValidationGateExecutor(base_executor.BaseExecutor):
    """Ends the run where the data are not as they should be."""

    def Do(  # noqa: N802  (TFX's name)
        self, input_dict: Artifacts, output_dict: Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        self._log_startup(input_dict, output_dict, exec_properties)
        config = from_parameter(ValidationConfig, exec_properties["config"], path="validation")
        anomalies = _validated(artifact_utils.get_single_instance(input_dict["anomalies"]))
        previous = None
        if baseline := input_dict.get("baseline"):
            previous = baseline_statistics(artifact_utils.get_single_uri(baseline))
        drift, skew = _compared(input_dict, previous, config)
        compared = [*drift.anomalies, *skew.anomalies]
        stops = config.on_drift is OnDrift.STOP
        errors = [a for a in anomalies if a.is_error] + (compared if stops else [])
        measured = Comparisons(drift=drift.measured, skew=skew.measured)
        if errors:
            raise StoppedError(_advised(errors, compared), measured)
        warnings = [a for a in anomalies if not a.is_error] + ([] if stops else compared)
        for warning in warnings:
            _logger.warning("%s", warning)
        artifact = artifact_utils.get_single_instance(output_dict["validation"])
        path = storage.join(artifact.uri, comparisons.FILE_NAME)
        storage.write_text(path, measured.to_json())
        _describe(artifact, warnings, drift, skew, compared=previous is not None)


def _advised(errors: list[Anomaly], compared: list[Anomaly]) -> str:
    text = message(errors)
    if not compared:
        return text
    advice = "if these data are right, raise the limit, or set validation.on_drift=warn"
    return f"{text}\n{advice}"


def _validated(artifact: types.Artifact) -> list[Anomaly]:
    """ExampleValidator's anomalies, of all splits."""
    from tensorflow_metadata.proto.v0 import anomalies_pb2

    anomalies: list[Anomaly] = []
    for split in artifact_utils.decode_split_names(artifact.split_names):
        uri = artifact_utils.get_split_uri([artifact], split)
        path = storage.join(uri, example_validator.DEFAULT_FILE_NAME)
        anomalies += list_anomalies(split, read_message(path, anomalies_pb2.Anomalies))
    return anomalies


def _compared(
    input_dict: Artifacts, previous: str | None, config: ValidationConfig
) -> tuple[StatisticsComparison, StatisticsComparison]:
    """Drift against the baseline's data, where there are any, and skew between the splits."""
    schema = io_utils.SchemaReader().read(
        io_utils.get_only_uri_in_dir(artifact_utils.get_single_uri(input_dict["schema"]))
    )
    statistics = artifact_utils.get_single_uri(input_dict["statistics"])
    train, evaluation = _load(statistics, _TRAIN), _load(statistics, _EVAL)
    earlier = _load(previous, _TRAIN) if previous else None
    drift, skew = (
        compare(kind, train, other, schema, config) if train and other else _NOTHING
        for kind, other in ((Comparison.DRIFT, earlier), (Comparison.SKEW, evaluation))
    )
    return drift, skew


def _load(uri: str, split: str) -> Any:
    """Statistics of one split (DatasetFeatureStatisticsList), or None where there are none."""
    path = storage.join(uri, f"Split-{split}", statistics_gen.DEFAULT_FILE_NAME)
    return read_statistics(path) if storage.exists(path) else None


def _describe(
    artifact: types.Artifact,
    warnings: list[Anomaly],
    drift: StatisticsComparison,
    skew: StatisticsComparison,
    *,
    compared: bool,
) -> None:
    text = "".join(f"{warning}\n" for warning in warnings) or "no anomalies\n"
    storage.write_text(storage.join(artifact.uri, MESSAGE_FILE), text)
    artifact.split_names = artifact_utils.encode_split_names([])
    artifact.set_int_custom_property("anomalies", len(warnings))
    artifact.set_float_custom_property("skew", skew.largest)
    if compared:
        artifact.set_float_custom_property("drift", drift.largest)
