"""The action of Pusher: a blessed model becomes the newest version of the registry."""

from __future__ import annotations

import dataclasses
import json
import logging
from typing import Any

from tfx import types
from tfx.components.pusher import executor as tfx_pusher
from tfx.types import artifact_utils

from yt8m.components import storage
from yt8m.components.artifacts import operating_points, push_outcome
from yt8m.components.artifacts.push_outcome import PushOutcome
from yt8m.components.artifacts.run_outputs import RunOutputs
from yt8m.components.artifacts.version_record import VersionRecord
from yt8m.components.console.signals import signal_received
from yt8m.components.declaration import Artifacts
from yt8m.components.pusher.config import PusherConfig
from yt8m.components.pusher.record import create_record
from yt8m.components.registry.baseline_artifact import read_in_service
from yt8m.components.registry.config import RegistryConfig
from yt8m.components.registry.outcomes import StaleBaselineError
from yt8m.components.registry.push import Additions, push, version_of_model
from yt8m.components.registry.signature import signer_of
from yt8m.schemas.config_tree import from_parameter

_log = logging.getLogger(__name__)


class Executor(tfx_pusher.Executor):
    """TFX's Pusher with another way to write: staged, renamed, on record."""

    def Do(  # noqa: N802  (TFX's name)
        self, input_dict: Artifacts, output_dict: Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        self._log_startup(input_dict, output_dict, exec_properties)
        pushed = artifact_utils.get_single_instance(output_dict["pushed_model"])
        uris = {key: artifacts[0].uri for key, artifacts in input_dict.items() if artifacts}
        model_dir = self.GetModelPath(input_dict)
        blessed = self.CheckBlessing(input_dict)
        config = from_parameter(PusherConfig, exec_properties["config"], path="pusher")
        registry = from_parameter(RegistryConfig, exec_properties["registry"], path="registry")
        record = create_record(
            model_dir=model_dir,
            outputs=RunOutputs(uris),
            blessed=blessed,
            run_key=exec_properties.get("run_key") or "",
            code=exec_properties["code_version"],
            configuration=json.loads(exec_properties.get("configuration") or "{}"),
            licence=config.license,
        )
        push_dir = exec_properties["push_dir"] or config.push_dir
        current = version_of_model(push_dir, record)
        if current is not None:
            reason = f"version {current.number} in service is the same model"
            self._skip_push(
                pushed, dataclasses.replace(record, reason=reason), up_to_date=current.path
            )
            return
        if not blessed:
            self._skip_push(pushed, record)
            return
        if signal_received() is not None:  # Ctrl-C or SIGTERM, whoever swallowed it on its way
            raise KeyboardInterrupt
        if not record.decision.get("model_digest"):
            _log.warning("the blessing has no model digest, so the model is pushed unchecked")
        try:
            version = push(
                model_dir,
                push_dir,
                record,
                keep=config.keep_versions,
                additions=Additions(
                    statistics_dir=uris.get("statistics", ""),
                    operating_points=_operating_points(uris.get("evaluation")),
                ),
                replaces=read_in_service(uris["baseline"]) if "baseline" in uris else None,
                signer=signer_of(registry),
            )
        except StaleBaselineError as error:
            self._skip_push(pushed, dataclasses.replace(record, reason=str(error)), stale=True)
            return
        self._MarkPushed(
            pushed, pushed_destination=version.path, pushed_version=str(version.number)
        )
        outcome = PushOutcome(pushed=True, destination=version.path, record=version.record)
        _write_outcome(pushed, outcome)
        _log.info("pushed as version %d: %s", version.number, version.path)

    def _skip_push(
        self,
        pushed: types.Artifact,
        record: VersionRecord,
        *,
        up_to_date: str = "",
        stale: bool = False,
    ) -> None:
        self._MarkNotPushed(pushed)
        outcome = PushOutcome(
            pushed=False,
            record=record,
            destination=up_to_date,
            up_to_date=bool(up_to_date),
            stale=stale,
        )
        _write_outcome(pushed, outcome)
        verdict, reason = outcome.verdict.value, record.reason or "the model is not blessed"
        _log.info("not pushed, %s: %s", verdict, reason)


def _operating_points(evaluation: str | None) -> str:
    """The table that the Evaluator left; empty where it fitted none."""
    path = storage.join(evaluation, operating_points.FILE_NAME) if evaluation else ""
    return path if path and storage.exists(path) else ""


def _write_outcome(pushed: types.Artifact, outcome: PushOutcome) -> None:
    storage.write_text(storage.join(pushed.uri, push_outcome.FILE_NAME), outcome.to_json())
    pushed.set_string_custom_property("verdict", outcome.verdict.value)
