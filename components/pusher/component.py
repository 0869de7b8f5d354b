"""The declaration of Pusher: TFX's, with the inputs that a record is made of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tfx import types
from tfx.components import Pusher as TfxPusher
from tfx.dsl.components.base import base_component, executor_spec
from tfx.orchestration import data_types
from tfx.types import standard_artifacts

from yt8m.components.declaration import Declaration, channels, parameters
from yt8m.components.pusher.config import PusherConfig
from yt8m.components.pusher.executor import Executor
from yt8m.schemas.code_digest import code_digest
from yt8m.schemas.config_tree import to_parameter

# The nodes that decide which model comes out and whether it is shipped. Others are not on record,
# so that changing them does not run Pusher again.
_ON_RECORD = (
    "data",
    "features",
    "validation",
    "transform",
    "baseline",
    "tuner",
    "trainer",
    "evaluator",
    "gate",
    "infra_check",
)


class PusherSpec(Declaration):
    """What passes in and out; the optional inputs are for the record alone."""

    PARAMETERS = parameters("push_dir", "config", "code_version") | parameters(
        "run_key", "configuration", optional=True
    )
    INPUTS = channels(
        model=standard_artifacts.Model, model_blessing=standard_artifacts.ModelBlessing
    ) | channels(
        optional=True,
        examples=standard_artifacts.Examples,
        statistics=standard_artifacts.ExampleStatistics,
        evaluation=standard_artifacts.ModelEvaluation,
        baseline=standard_artifacts.Model,
        infra_blessing=standard_artifacts.InfraBlessing,
    )
    OUTPUTS = channels(pushed_model=standard_artifacts.PushedModel)


class Pusher(TfxPusher):
    """Pushes a blessed model; one that is not blessed is a success with `pushed` 0."""

    SPEC_CLASS = PusherSpec
    EXECUTOR_SPEC = executor_spec.ExecutorClassSpec(Executor)

    def __init__(  # noqa: PLR0913  (the edges of the graph)
        self,
        config: PusherConfig,
        *,
        model: types.BaseChannel,
        model_blessing: types.BaseChannel,
        push_dir: str | data_types.RuntimeParameter = "",
        run_key: str = "",
        configuration: Mapping[str, Any] | None = None,
        baseline: types.BaseChannel | None = None,
        examples: types.BaseChannel | None = None,
        statistics: types.BaseChannel | None = None,
        evaluation: types.BaseChannel | None = None,
        infra_blessing: types.BaseChannel | None = None,
    ) -> None:
        """What is given of the last five goes on record with the model.

        push_dir: the registry; "" is as configured.
        run_key: names the run; versions that it pushed itself do not hold it back.
        configuration: the whole one; what decides about the model goes on record.
        baseline: what the model was compared with; nothing else in service is replaced.
        examples, evaluation: what it was made from, and how it was judged.
        statistics: of the examples; pushed with it, since the next run's drift is against them.
        infra_blessing: whether the model can be served, and how well; without it nobody asked.
        """
        given = (configuration or {}).items()
        # Of a step that is off nothing is said, so that it changes no compiled pipeline.
        decisive = {k: node for k, node in given if k in _ON_RECORD and node is not None}
        spec = PusherSpec(
            push_dir=push_dir,
            config=to_parameter(config),
            run_key=run_key,
            configuration=json.dumps(decisive, sort_keys=True),
            code_version=code_digest(Executor.__module__),
            model=model,
            model_blessing=model_blessing,
            baseline=baseline,
            examples=examples,
            statistics=statistics,
            evaluation=evaluation,
            infra_blessing=infra_blessing,
        )
        # TFX's own __init__ would make its own spec.
        base_component.BaseComponent.__init__(self, spec)
