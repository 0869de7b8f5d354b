"""The action of InfraCheck."""

from __future__ import annotations

import logging
from typing import Any

from tfx.components.util import model_utils
from tfx.dsl.components.base import base_executor
from tfx.types import artifact_utils
from tfx.utils import path_utils

from yt8m.components import storage
from yt8m.components.artifacts.infra_check import FILE_NAME, InfraCheckResult
from yt8m.components.declaration import Artifacts
from yt8m.components.export.load import load_export
from yt8m.components.infra_check.check import FreshProcess, check_serving
from yt8m.components.infra_check.config import InfraCheckConfig, ServingLimits
from yt8m.components.infra_check.requests import judged_records, warm_up_requests_of
from yt8m.schemas.config_tree import from_parameter
from yt8m.schemas.errors import UserError

# As TFX's InfraValidator names them, for whoever looks at the artifact.
_BLESSED_KEY = "blessed"
_BLESSED_FILE, _NOT_BLESSED_FILE = "INFRA_BLESSED", "INFRA_NOT_BLESSED"
_log = logging.getLogger(__name__)


class Executor(base_executor.BaseExecutor):
    """Serves the model in a process of its own, and leaves what it saw."""

    def Do(  # noqa: N802  (TFX's name)
        self, input_dict: Artifacts, output_dict: Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        self._log_startup(input_dict, output_dict, exec_properties)
        result = _checked(input_dict, exec_properties)
        blessing = artifact_utils.get_single_instance(output_dict["infra_blessing"])
        storage.write_text(storage.join(blessing.uri, FILE_NAME), result.to_json())
        file_name = _BLESSED_FILE if result.blessed else _NOT_BLESSED_FILE
        storage.write_text(storage.join(blessing.uri, file_name), "")
        blessing.set_int_custom_property(_BLESSED_KEY, int(result.blessed))
        blessing.set_string_custom_property("reason", result.reason)
        if result.serving is not None:
            blessing.set_float_custom_property("latency_ms", result.serving.latencies[0].p99_ms)
        _log.info("%s", result.reason)


def _checked(inputs: Artifacts, properties: dict[str, Any]) -> InfraCheckResult:
    config = from_parameter(InfraCheckConfig, properties["config"], path="infra_check")
    limits = from_parameter(ServingLimits, properties["limits"], path="gate")
    blessing = inputs.get("model_blessing")
    if blessing and not model_utils.is_model_blessed(artifact_utils.get_single_instance(blessing)):
        why = "the gate rejected the model, so it was not served"
        return InfraCheckResult(blessed=False, skipped=True, reason=why)
    artifact = artifact_utils.get_single_instance(inputs["model"])
    directory = path_utils.serving_model_path(
        artifact.uri, path_utils.is_old_model_artifact(artifact)
    )
    examples = inputs.get("examples")
    with FreshProcess(uses_gpu=config.uses_gpu) as process:
        requests = [
            *warm_up_requests_of(directory),
            *judged_records(
                artifact_utils.get_single_uri(examples) if examples else None,
                properties["split"],
                config.records,
            ),
        ]
        if not requests:
            raise UserError(
                f"infra_check: {directory} has no warm-up requests, and infra_check.records is 0, "
                "so there is no request to send; set it to 1 or more"
            )
        return check_serving(process, load_export(directory), requests, config, limits)
