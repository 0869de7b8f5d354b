"""The action of BulkInferrer: what `yt8m predict` does, with a run's examples and model."""

from __future__ import annotations

import logging
from typing import Any

from tfx.components.util import model_utils
from tfx.dsl.components.base import base_beam_executor
from tfx.types import artifact_utils
from tfx.utils import path_utils

from yt8m.components import storage
from yt8m.components.artifacts import manifest, predictions
from yt8m.components.artifacts.read import read_file
from yt8m.components.bulk_inferrer.config import BulkInferrerConfig
from yt8m.components.console.console import Console
from yt8m.components.declaration import Artifacts
from yt8m.components.export.load import load_model
from yt8m.components.predictions.beam_prediction import run_on_beam
from yt8m.components.predictions.plan import Format, PredictionPlan
from yt8m.components.predictions.predict import predict
from yt8m.components.predictions.predictor import check_plan, level_to_predict
from yt8m.components.predictions.segment_classes import allowed_classes
from yt8m.components.registry.find_model import find_model
from yt8m.schemas.config_tree import from_parameter
from yt8m.schemas.errors import DataError

_log = logging.getLogger(__name__)


class Executor(base_beam_executor.BaseBeamExecutor):
    """Writes the predictions of one split beside what names the model that made them."""

    def Do(  # noqa: N802  (TFX's name)
        self, input_dict: Artifacts, output_dict: Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        self._log_startup(input_dict, output_dict, exec_properties)
        config = from_parameter(BulkInferrerConfig, exec_properties["config"], path="bulk_inferrer")
        result = artifact_utils.get_single_instance(output_dict["inference_result"])
        model = artifact_utils.get_single_instance(input_dict["model"])
        blessing = artifact_utils.get_single_instance(input_dict["model_blessing"])
        blessed = model_utils.is_model_blessed(blessing)
        result.set_int_custom_property("predicted", int(blessed))
        if not blessed:
            _log.info("the model is not blessed: nothing is predicted")
            return
        place = path_utils.serving_model_path(model.uri, path_utils.is_old_model_artifact(model))
        examples = artifact_utils.get_single_uri(input_dict["examples"])
        shards, plan = _plan(config, examples, place)
        done = predict(
            plan,
            shards,
            storage.join(result.uri, predictions.file_name(config.format.value)),
            run_groups=run_on_beam(self._make_beam_pipeline),
            console=Console(quiet=True),
        )
        result.set_string_custom_property("split", config.split)
        result.set_string_custom_property("model_uri", model.uri)
        _log.info("%s: %d bytes, predictions of %d shards", done.out, done.bytes, done.shards)


def _plan(
    config: BulkInferrerConfig, examples_uri: str, model_path: str
) -> tuple[tuple[manifest.Shard, ...], PredictionPlan]:
    place = storage.join(examples_uri, manifest.FILE_NAME)
    examples = read_file(place, manifest.Manifest.from_json)
    shards = examples.split(config.split)
    if not shards:
        raise DataError(
            f"bulk_inferrer.split = {config.split}: the examples have no such split; known: "
            f"{', '.join(examples.split_names) or 'none'}"
        )
    model = load_model(model_path)
    is_segment_file = config.format is Format.SEGMENT
    is_named = is_segment_file or config.segment_classes
    plan = PredictionPlan(
        model=model_path,
        level=level_to_predict(model, examples.level, config.format, config.segments),
        format=config.format,
        top_k=None if is_segment_file else config.top_k,
        classes=allowed_classes(config.segment_classes, model.num_classes) if is_named else None,
        segments=config.segments,
        context=find_model(config.context) if config.context else "",
        max_segments=config.max_segments,
    )
    check_plan(plan, model)
    return shards, plan
