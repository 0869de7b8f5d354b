"""The action of Baseline."""

from __future__ import annotations

import logging
from typing import Any

from tfx.dsl.components.base import base_executor
from tfx.types import artifact_utils

from yt8m.components.baseline.config import BaselineConfig
from yt8m.components.baseline.select import (
    copy_champion,
    copy_to_artifact,
    passed_over,
    replaced_version,
    select_baseline,
    select_champion,
)
from yt8m.components.declaration import Artifacts
from yt8m.components.registry.baseline_artifact import write_passed_over
from yt8m.components.registry.config import RegistryConfig
from yt8m.components.registry.signature import require_signed, required_trust
from yt8m.schemas.config_tree import from_parameter

_log = logging.getLogger(__name__)


class Executor(base_executor.BaseExecutor):
    """Hands the chosen version and the champion on as Model artifacts."""

    def Do(  # noqa: N802  (TFX's name)
        self, input_dict: Artifacts, output_dict: Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        self._log_startup(input_dict, output_dict, exec_properties)
        push_dir = exec_properties["push_dir"]
        config = from_parameter(BaselineConfig, exec_properties["config"], path="baseline")
        digest = exec_properties["registry_digest"]
        version = select_baseline(config, push_dir, digest)
        champion = select_champion(config, push_dir, digest, baseline=version)
        trust = required_trust(
            from_parameter(RegistryConfig, exec_properties["registry"], path="registry")
        )
        for chosen in filter(None, (version, champion)):
            require_signed(chosen, trust)
        model = artifact_utils.get_single_instance(output_dict["model"])
        copy_to_artifact(version, model.uri, replaces=replaced_version(config, push_dir, version))
        model.set_int_custom_property("version", version.number if version else 0)
        if problems := passed_over(config, push_dir, version, champion):
            write_passed_over(model.uri, problems)
        copy_champion(
            champion, artifact_utils.get_single_uri(output_dict["champion"]), baseline=version
        )
        if version is None:
            _log.info("no baseline: %s", f"nothing usable in {push_dir}" if push_dir else "none")
        else:
            _log.info("the baseline is version %d in %s", version.number, push_dir)
        if champion is not None:
            _log.info("the champion is version %d", champion.number)
