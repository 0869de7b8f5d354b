"""The action of Report."""

from __future__ import annotations

import json
import logging
from typing import Any

from tfx.dsl.components.base import base_executor
from tfx.types import artifact_utils

from yt8m.components.artifacts.run_outputs import RunOutputs
from yt8m.components.declaration import Artifacts
from yt8m.components.report.collect import collect
from yt8m.components.report.config import ReportConfig
from yt8m.components.report.page import write_report
from yt8m.schemas.config_tree import from_parameter

_log = logging.getLogger(__name__)


class Executor(base_executor.BaseExecutor):
    """Reads what the run left so far and writes the page."""

    def Do(  # noqa: N802  (TFX's name)
        self, input_dict: Artifacts, output_dict: Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        self._log_startup(input_dict, output_dict, exec_properties)
        uris = {key: artifacts[0].uri for key, artifacts in input_dict.items() if artifacts}
        run_report = collect(
            RunOutputs(uris),
            from_parameter(ReportConfig, exec_properties["config"], path="report"),
            configuration=json.loads(exec_properties.get("configuration") or "{}"),
            run_file=exec_properties.get("run_file") or "",
            pipeline=exec_properties.get("pipeline") or "yt8m",
        )
        for problem in run_report.problems:
            _log.warning("%s", problem)
        report = artifact_utils.get_single_instance(output_dict["report"])
        page = write_report(run_report, report.uri)
        report.set_string_custom_property("verdict", run_report.verdict.outcome.value)
        _log.info("the report is %s", page)
