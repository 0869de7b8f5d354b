"""The blessing artifact: what Pusher reads, and the decision beside it."""

from __future__ import annotations

from tfx import types
from tfx.components.evaluator import constants
from tfx.types import artifact_utils

from yt8m.components.artifacts.decision import FILE_NAME as DECISION_FILE
from yt8m.components.artifacts.decision import Decision
from yt8m.components.storage import files

Artifacts = dict[str, list[types.Artifact]]


def write_blessing(decision: Decision, *, inputs: Artifacts, outputs: Artifacts) -> None:
    """The blessing as TFX's own Evaluator leaves it, and the whole decision beside it."""
    blessing = artifact_utils.get_single_instance(outputs["blessing"])
    model = artifact_utils.get_single_instance(inputs["model"])
    files.write_text(files.join(blessing.uri, DECISION_FILE), decision.to_json())
    blessing.set_string_custom_property(
        constants.ARTIFACT_PROPERTY_CURRENT_MODEL_URI_KEY, model.uri
    )
    blessing.set_int_custom_property(constants.ARTIFACT_PROPERTY_CURRENT_MODEL_ID_KEY, model.id)
    if decision.baseline is not None:
        baseline = artifact_utils.get_single_instance(inputs["baseline_model"])
        blessing.set_string_custom_property(
            constants.ARTIFACT_PROPERTY_BASELINE_MODEL_URI_KEY, baseline.uri
        )
        blessing.set_int_custom_property(
            constants.ARTIFACT_PROPERTY_BASELINE_MODEL_ID_KEY, baseline.id
        )
    blessing.set_string_custom_property("reason", decision.reason)
    blessing.set_string_custom_property("model_digest", decision.model_digest)
    for name, estimates in (("gap", decision.metrics), ("gap_baseline", decision.baseline_metrics)):
        value = estimates["gap"].value if estimates else None
        if value is not None:
            blessing.set_float_custom_property(name, value)
    file_name, value = (
        (constants.BLESSED_FILE_NAME, constants.BLESSED_VALUE)
        if decision.blessed
        else (constants.NOT_BLESSED_FILE_NAME, constants.NOT_BLESSED_VALUE)
    )
    files.write_text(files.join(blessing.uri, file_name), "")
    blessing.set_int_custom_property(constants.ARTIFACT_PROPERTY_BLESSED_KEY, value)
