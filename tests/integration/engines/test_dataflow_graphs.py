"""What Google's machines would be given of our own jobs, translated by Beam's own Dataflow code.

Nothing is sent: Beam ends a dry run when it has the graph. The records are in a store of this
process. Transform is not here: it uses Beam where it materialises, which a root in a store refuses.
"""

from __future__ import annotations

import base64
import bz2
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.portability.api import beam_runner_api_pb2
from apache_beam.runners.dataflow.dataflow_runner import DataflowRunner
from google.protobuf.message import DecodeError
from object_server import object_server
from records import make_dataset
from tfx.components.util import examples_utils
from tfx.proto import example_gen_pb2
from tfx.types import standard_artifacts

from yt8m.components import storage
from yt8m.components.evaluator.beam_scoring import add_scoring
from yt8m.components.evaluator.record_ranges import divide_records
from yt8m.components.evaluator.scoring import ScoringPlan
from yt8m.components.example_gen.beam_verification import verify_on_beam
from yt8m.components.example_gen.config import DataConfig
from yt8m.components.example_gen.rewrite import rewrite_records
from yt8m.components.example_gen.sources import resolve_sources
from yt8m.components.example_gen.verify import verify_shards
from yt8m.components.inputs.shards import group_shards
from yt8m.components.predictions.beam_prediction import run_on_beam
from yt8m.components.predictions.plan import Format, PredictionPlan
from yt8m.components.predictions.work import WorkDirectory
from yt8m.components.records.find import find_shards
from yt8m.components.validation.beam_statistics import statistics_on_beam
from yt8m.components.validation.statistics import statistics_options
from yt8m.pipeline.beam import beam_arguments
from yt8m.pipeline.config import BeamConfig, BeamRunner
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.features import FeatureConfig

IMAGE = "registry.example.org/yt8m:1"
MODEL = "gs://bucket/models/1"
# Beam's own functions bring the names of the files they were compiled from; nobody opens these.
SOURCE_FILE = re.compile(rb"[\w./-]+\.py\b")
FEATURES = FeatureConfig(num_classes=1000)
OPTIONS = (
    "--project=my-project",
    "--region=europe-west1",
    "--temp_location=gs://bucket/tmp",
    "--staging_location=gs://bucket/staging",
    f"--sdk_container_image={IMAGE}",
    "--dry_run=True",
)


class TranslatedError(Exception):
    """The graph is there: what the job would leave never will be."""


@pytest.fixture
def translated(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The graphs that Beam would send."""
    graphs: list[Any] = []
    run_pipeline = DataflowRunner.run_pipeline

    def run(self: Any, pipeline: Any, options: Any, *others: Any) -> Any:
        run_pipeline(self, pipeline, options, *others)
        graphs.append(self.proto_pipeline)
        raise TranslatedError

    monkeypatch.setattr(DataflowRunner, "run_pipeline", run)
    return graphs


@pytest.fixture
def data(tmp_path: Path) -> Iterator[DataConfig]:
    made = make_dataset(tmp_path / "data")
    with object_server():
        for path in made.glob("*.tfrecord"):
            storage.copy(str(path), f"gs://bucket/data/{path.name}")
        yield from_dict(DataConfig, {"root": "gs://bucket/data", "ingest": "rewrite"})


def make_pipeline() -> beam.Pipeline:
    config = BeamConfig(runner=BeamRunner.DATAFLOW, options=OPTIONS)
    return beam.Pipeline(argv=beam_arguments(config))


def verification(config: DataConfig) -> None:
    shards = resolve_sources(config).shards
    verify_on_beam(
        shards, config, FEATURES, scratch="gs://bucket/scratch", make_pipeline=make_pipeline
    )


def rewrite(config: DataConfig) -> None:
    rewrite_records(
        verify_shards(resolve_sources(config).shards, config, FEATURES),
        config,
        root="gs://bucket/root",
        scratch="gs://bucket/scratch",
        make_pipeline=make_pipeline,
    )


def statistics(config: DataConfig) -> None:
    examples = standard_artifacts.Examples()
    examples.uri, examples.split_names = "gs://bucket/sample", '["train", "eval"]'
    examples_utils.set_payload_format(examples, example_gen_pb2.FORMAT_TF_EXAMPLE)
    examples_utils.set_file_format(examples, "tfrecords_gzip")
    files = {split: f"gs://bucket/scratch/{split}.pb" for split in ("train", "eval")}
    statistics_on_beam(examples, files, statistics_options(), make_pipeline=make_pipeline)


def scoring(config: DataConfig) -> None:
    """The Evaluator's."""
    plan = ScoringPlan(model=MODEL, baseline=None, level=config.level, features=FEATURES)
    shards = find_shards(f"{config.root}/validate*")
    ranges = divide_records(shards, workers=2, batch_size=8)
    with make_pipeline() as pipeline:
        add_scoring(pipeline, plan, ranges, "gs://bucket/scratch", index="gs://bucket/index")


def predictions(config: DataConfig) -> None:
    plan = PredictionPlan(model=MODEL, level=config.level, format=Format.VIDEO)
    groups = dict(enumerate(group_shards(find_shards(f"{config.root}/validate*"))))
    work = WorkDirectory("gs://bucket/scratch/out.csv", "key", len(groups))
    run_on_beam(make_pipeline)(plan, groups, work, lambda done: None)


@pytest.mark.parametrize("job", [verification, rewrite, statistics, scoring, predictions])
def test_workers_get_our_image_and_no_path_of_this_machine(
    job: Callable[[DataConfig], None], data: DataConfig, translated: list[Any], tmp_path: Path
) -> None:
    with pytest.raises(TranslatedError):
        job(data)
    (graph,) = translated
    environments = graph.components.environments.values()
    images = {
        beam_runner_api_pb2.DockerPayload.FromString(environment.payload).container_image
        for environment in environments
    }
    assert images == {IMAGE}
    # What is staged is installed by each worker, a package of TFX or of Beam among it.
    staged = {
        beam_runner_api_pb2.ArtifactStagingToRolePayload.FromString(one.role_payload).staged_name
        for environment in environments
        for one in environment.dependencies
    }
    # Beam 2.74 adds what `__main__` holds, and the names of what is installed here.
    assert staged <= {"submission_environment_dependencies.txt", "pickled_main_session"}
    stages = {
        name: SOURCE_FILE.sub(b"", unpacked(transform.spec.payload))
        for name, transform in graph.components.transforms.items()
    }
    assert any(b"gs://bucket/scratch" in content for content in stages.values())
    here = [str(tmp_path), str(Path(__file__).parents[3])]
    assert [n for n, content in stages.items() for place in here if place.encode() in content] == []


def unpacked(payload: bytes) -> bytes:
    """A stage's payload, and the function in it as Beam packs it."""
    if not payload:
        return b""
    function = beam_runner_api_pb2.ParDoPayload()
    try:
        function.ParseFromString(payload)
        packed = base64.b64decode(function.do_fn.payload, validate=True)
    except (ValueError, DecodeError):  # a stage without a function
        return payload
    for unpack in (bz2.decompress, zlib.decompress):
        try:
            return payload + unpack(packed)
        except (OSError, zlib.error):
            continue
    return payload + packed
