"""Evaluator as a node of a TFX pipeline, before TFX's own Pusher, on a real runner."""

import pytest
from evaluator_run import FEATURES, create_world, write_examples
from tfx.components import Pusher
from tfx.dsl.components.common.importer import Importer
from tfx.orchestration import metadata
from tfx.orchestration.beam.beam_dag_runner import BeamDagRunner
from tfx.orchestration.pipeline import Pipeline
from tfx.proto import pusher_pb2
from tfx.types import standard_artifacts

from yt8m.components.artifacts.decision import Decision
from yt8m.components.evaluator.component import Evaluator
from yt8m.components.evaluator.config import EvaluatorConfig, GateConfig
from yt8m.pipeline.beam import beam_arguments
from yt8m.pipeline.config import BeamConfig
from yt8m.schemas.features import Level

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return create_world(tmp_path_factory.mktemp("world"), videos=90)


def importer(name, kind, path):
    return Importer(source_uri=str(path), artifact_type=kind).with_id(name)


def run(world, root, *, model, baseline, gate):
    shards = sorted(world.data.glob("validate*.tfrecord"))
    write_examples(root / "examples", shards, Level.VIDEO)
    inputs = [
        importer("Examples", standard_artifacts.Examples, root / "examples"),
        importer("Model", standard_artifacts.Model, model),
        importer("Baseline", standard_artifacts.Model, baseline),
    ]
    examples, candidate, against = (node.outputs["result"] for node in inputs)
    evaluator = Evaluator(
        config=EvaluatorConfig(),
        gate=gate,
        features=FEATURES,
        examples=examples,
        model=candidate,
        baseline_model=against,
    )
    pusher = Pusher(
        model=candidate,
        model_blessing=evaluator.outputs["blessing"],
        push_destination=pusher_pb2.PushDestination(
            filesystem=pusher_pb2.PushDestination.Filesystem(base_directory=str(root / "push"))
        ),
    )
    BeamDagRunner().run(
        Pipeline(
            pipeline_name="gate",
            pipeline_root=str(root / "artifacts"),
            metadata_connection_config=metadata.sqlite_metadata_connection_config(
                str(root / "metadata.sqlite")
            ),
            components=[*inputs, evaluator, pusher],
            beam_pipeline_args=beam_arguments(BeamConfig()),
        )
    )
    (decision,) = (root / "artifacts").glob("Evaluator/blessing/*/decision.json")
    return Decision.from_json(decision.read_text()), list((root / "push").glob("*/saved_model.pb"))


def test_a_blessed_model_reaches_the_pusher(world, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    gate = GateConfig(gap_threshold=0.6, gap_change_threshold=0.0, min_examples=90)
    decision, pushed = run(world, tmp_path, model=world.model("good"), baseline=empty, gate=gate)
    assert decision.blessed
    assert decision.baseline is None
    assert len(pushed) == 1


def test_a_refused_model_does_not(world, tmp_path):
    worse, good = world.model("worse", noise=2.0), world.model("good")
    gate = GateConfig(gap_threshold=0.1, gap_change_threshold=0.0, min_examples=90)
    decision, pushed = run(world, tmp_path, model=worse, baseline=good, gate=gate)
    assert not decision.blessed
    assert "against the baseline" in decision.reason
    assert pushed == []
