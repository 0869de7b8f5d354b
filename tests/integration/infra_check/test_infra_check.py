"""Real models, served by a real process with TensorFlow alone, and what Pusher makes of it."""

import dataclasses
import json
from pathlib import Path

import pytest
from batches import MODELS, create_network
from sources import FEATURES, make_source
from tfx.dsl.components.common.importer import Importer
from tfx.orchestration import metadata
from tfx.orchestration.local.local_dag_runner import LocalDagRunner
from tfx.orchestration.pipeline import Pipeline
from tfx.types import standard_artifacts

from yt8m.components.artifacts.manifest import FILE_NAME as MANIFEST
from yt8m.components.artifacts.manifest import Manifest
from yt8m.components.export.load import LoadedModel, load_export
from yt8m.components.export.save import ExportSpec, export_model
from yt8m.components.infra_check.check import TOLERANCE, FreshProcess, check_serving
from yt8m.components.infra_check.component import InfraCheck
from yt8m.components.infra_check.config import InfraCheckConfig, ServingLimits
from yt8m.components.infra_check.requests import judged_records, warm_up_requests_of
from yt8m.components.models.heads import create_heads
from yt8m.components.pusher.component import Pusher
from yt8m.components.pusher.config import PusherConfig
from yt8m.components.registry.versions import list_versions, load_record
from yt8m.components.report.component import Report, ReportArtifact
from yt8m.components.report.config import ReportConfig
from yt8m.schemas.errors import DataError, UserError
from yt8m.schemas.features import Level

MODEL = {Level.VIDEO: "moe", Level.FRAME: "frame_logistic", Level.SEGMENT: "frame_logistic"}
QUICK = InfraCheckConfig(batch_sizes=(1, 4), requests=5, seconds=0.5)


def _export(place, level, *, seed=1):
    heads = create_heads((), features=FEATURES, level=level)
    network = create_network(
        MODELS[MODEL[level]], features=FEATURES, level=level, heads=heads, seed=seed
    )
    export_model(network, str(place), ExportSpec(level=level, features=FEATURES))
    return load_export(str(place))


def _examples(place, level):
    """An `examples` artifact, as far as the check looks at it."""
    source = make_source(place / "data", level, train=6, shards=2)
    place.joinpath("examples").mkdir()
    manifest = Manifest(level=level, verify="none", shards=source.shards)
    place.joinpath("examples", MANIFEST).write_text(manifest.to_json())
    return str(place / "examples")


@pytest.mark.parametrize(
    "level",
    [
        pytest.param(Level.VIDEO, id="video"),
        pytest.param(Level.FRAME, id="frame"),
        pytest.param(Level.SEGMENT, id="segment", marks=pytest.mark.slow),
    ],
)
def test_a_fresh_process_serves_what_the_evaluator_scores_and_is_measured(tmp_path, level):
    model = _export(tmp_path / "model", level)
    warm_up = warm_up_requests_of(model.directory)
    assert [len(request.records) for request in warm_up] == [1, 8]
    judged = judged_records(_examples(tmp_path, level), "train", 4)
    assert [len(request.records) for request in judged] == [4]

    limits = ServingLimits(max_memory_mb=20_000)
    with FreshProcess() as process:
        found = check_serving(process, model, [*warm_up, *judged], QUICK, limits)
    assert found.blessed, found.reason
    records = [r for request in (*warm_up, *judged) for r in request.records]
    rows = model.serve(examples=records)["scores"].shape[0]
    assert found.rows == rows
    assert 0 <= found.largest_difference <= TOLERANCE
    serving = found.serving
    assert [one.batch_size for one in serving.latencies] == [1, 4]
    assert all(one.requests == 5 and 0 < one.p50_ms <= one.p99_ms for one in serving.latencies)
    # Of that process alone: this one has grown larger long ago.
    assert 100 < serving.tensorflow_mb < serving.memory_mb < 2_000
    assert [check.passed for check in found.checks] == [True]


def test_what_is_served_must_be_what_was_scored(tmp_path):
    """Two models whose weights differ: one is on disk, the other was judged."""
    on_disk = _export(tmp_path / "one", Level.VIDEO, seed=1)
    judged = _export(tmp_path / "two", Level.VIDEO, seed=2)
    exchanged = LoadedModel(on_disk.directory, judged.loaded, "the model")
    requests = warm_up_requests_of(on_disk.directory)
    with FreshProcess() as process:
        found = check_serving(process, exchanged, requests, QUICK, ServingLimits())
    assert not found.blessed
    assert "away from the one that the Evaluator sees" in found.reason


def test_a_model_that_cannot_be_loaded_or_takes_too_long_is_rejected_with_the_reason(tmp_path):
    model = _export(tmp_path / "model", Level.VIDEO)
    requests = warm_up_requests_of(model.directory)
    hurried = dataclasses.replace(QUICK, timeout_s=0.2)
    with FreshProcess() as process:
        late = check_serving(process, model, requests, hurried, ServingLimits())
    assert (late.blessed, late.serving) == (False, None)
    assert late.reason == "infra check: no answer within infra_check.timeout_s = 0.2 s"

    (tmp_path / "model" / "variables" / "variables.data-00000-of-00001").write_bytes(b"")
    with FreshProcess() as process:
        broken = check_serving(process, model, requests, QUICK, ServingLimits())
    assert not broken.blessed
    assert "a process with TensorFlow alone cannot serve it (exit code 1): " in broken.reason


def test_warm_up_requests_that_serving_could_not_read_are_an_error(tmp_path):
    model = _export(tmp_path / "model", Level.VIDEO)
    file = tmp_path / "model" / "assets.extra" / "tf_serving_warmup_requests"
    file.write_bytes(file.read_bytes()[:-3])
    with pytest.raises(DataError, match="TensorFlow Serving cannot read it"):
        warm_up_requests_of(model.directory)
    with pytest.raises(UserError, match="no split nosuch; the data have train"):
        judged_records(_examples(tmp_path, Level.VIDEO), "nosuch", 4)


class _World:
    def __init__(self, place: Path) -> None:
        self.place = place
        _export(place / "model" / "Format-Serving", Level.VIDEO)
        self.examples = _examples(place, Level.VIDEO)
        self.store = metadata.sqlite_metadata_connection_config(str(place / "metadata.db"))

    def run(self, limits: ServingLimits, *, blessed: bool = True) -> None:
        """InfraCheck, Pusher and Report in a real TFX run."""
        blessing_dir = self.place / f"blessing-{blessed}"
        blessing_dir.mkdir(exist_ok=True)
        decision = {"blessed": blessed, "reason": f"the gate says {blessed}"}
        (blessing_dir / "decision.json").write_text(json.dumps(decision))
        model = _imported("ModelSource", self.place / "model", standard_artifacts.Model)
        examples = _imported("ExamplesSource", self.examples, standard_artifacts.Examples)
        blessing = _imported(
            "BlessingSource", blessing_dir, standard_artifacts.ModelBlessing, blessed=int(blessed)
        )
        check = InfraCheck(
            config=QUICK,
            limits=limits,
            model=model.outputs["result"],
            examples=examples.outputs["result"],
            split="train",
            model_blessing=blessing.outputs["result"],
        )
        pusher = Pusher(
            config=PusherConfig(),
            model=model.outputs["result"],
            model_blessing=blessing.outputs["result"],
            push_dir=str(self.place / "push"),
            infra_blessing=check.outputs["infra_blessing"],
        )
        report = Report(
            config=ReportConfig(),
            model_blessing=blessing.outputs["result"],
            pushed_model=pusher.outputs["pushed_model"],
            infra_blessing=check.outputs["infra_blessing"],
        )
        LocalDagRunner().run(
            Pipeline(
                pipeline_name="test",
                pipeline_root=str(self.place / "artifacts"),
                components=[model, examples, blessing, check, pusher, report],
                metadata_connection_config=self.store,
                enable_cache=False,
            )
        )

    def newest(self, type_name):
        with metadata.Metadata(self.store) as store:
            return store.store.get_artifacts_by_type(type_name)[-1]

    def page(self):
        return Path(self.newest(ReportArtifact.TYPE_NAME).uri, "report.html").read_text()


def _imported(name, path, kind, **properties):
    return Importer(
        source_uri=str(path), artifact_type=kind, custom_properties=properties, reimport=True
    ).with_id(name)


def test_a_model_that_breaks_a_limit_is_rejected_and_one_that_keeps_it_is_pushed(tmp_path):
    world = _World(tmp_path)
    world.run(ServingLimits(max_latency_ms=0.001))
    assert world.newest("InfraBlessing").custom_properties["blessed"].int_value == 0
    assert not (tmp_path / "push").exists()
    outcome = json.loads(Path(world.newest("PushedModel").uri, "pushed.json").read_text())
    assert outcome["record"]["reason"].startswith("infra check: gate.max_latency_ms = 0.001, and")
    page = world.page()
    assert "Rejected" in page
    assert "gate.max_latency_ms = 0.001" in page

    world.run(ServingLimits(max_latency_ms=60_000))
    blessing = world.newest("InfraBlessing")
    assert blessing.custom_properties["blessed"].int_value == 1
    assert Path(blessing.uri, "INFRA_BLESSED").exists()
    assert list_versions(str(tmp_path / "push")) == (1,)
    record = load_record(str(tmp_path / "push"), 1)
    assert record.reason == "the gate says True"
    assert record.infra_check["serving"]["memory_mb"] > 100
    assert record.infra_check["checks"][0]["passed"]
    assert record.lineage["infra_blessing"] == blessing.uri
    assert "Latency of requests one after the other" in world.page()


def test_a_model_that_the_gate_holds_back_is_not_served(tmp_path):
    world = _World(tmp_path)
    world.run(ServingLimits(), blessed=False)
    found = json.loads(Path(world.newest("InfraBlessing").uri, "infra_check.json").read_text())
    assert found["skipped"]
    assert found["serving"] is None
    outcome = json.loads(Path(world.newest("PushedModel").uri, "pushed.json").read_text())
    assert (outcome["pushed"], outcome["record"]["reason"]) == (False, "the gate says False")


@pytest.mark.parametrize(("uses_gpu", "is_hidden"), [(False, True), (True, False)])
def test_the_process_leaves_the_gpus_to_a_training_unless_told_otherwise(
    monkeypatch, uses_gpu, is_hidden
):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    with FreshProcess(uses_gpu=uses_gpu) as process:
        environ = Path(f"/proc/{process._process.pid}/environ")
        while not (environment := environ.read_bytes()):  # the kernel has not yet put it there
            assert process._process.poll() is None
    assert (b"CUDA_VISIBLE_DEVICES=-1" in environment.split(b"\0")) == is_hidden
