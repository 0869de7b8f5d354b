"""The whole pipeline as Kubeflow runs it: compiled, uploaded, scheduled, launched task by task."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
import yaml
from http_double import listening
from kfp_launcher import Launcher, LauncherError
from kfp_server import KfpServer
from kubeflow_facts import VERSIONS
from records import encode_record, make_dataset, read_all, write_all

from yt8m.cli.main import run
from yt8m.components.records.decode import Record, decode_record
from yt8m.kubeflow.container.flags import SHORT_FLAGS

pytestmark = pytest.mark.e2e

IMAGE, ROOT, CLASSES = "registry/yt8m:1", "s3://bucket/yt8m", 20
STOCK = ["python", "-m", "tfx.orchestration.kubeflow.v2.container.kubeflow_v2_run_executor"]
SETTINGS = (
    "data.splits={train: ['span-{SPAN}/train*'], eval: ['span-{SPAN}/validate*']}",
    f"features.num_classes={CLASSES}",
    "trainer.max_steps=60",
    "trainer.batch_size=64",
)


def compile_pipeline(directory: Path, *more: str) -> Path:
    """`yt8m kubeflow compile smoke` for a cluster whose shared volume is below `directory`."""
    platform = directory / "cluster.yaml"
    platform.write_text(
        f"kubeflow: {{work_dir: {directory}/work, volumes: [{{claim: yt8m, path: {directory}}}], "
        f"environment: {{PYTHONPATH: {directory}/image}}}}\n"
    )
    out = directory / "pipeline.yaml"
    words = ["kubeflow", "compile", "smoke", "--image", IMAGE, "--root", ROOT, "--out", str(out)]
    for setting in (*SETTINGS, *more):
        words += ["--set", setting]
    assert run([*words, "--platform", str(platform), "--quiet"]) == 0
    return out


def add_span(data: Path, number: int, *, spoilt: bool = False) -> None:
    """One more day's records; when `spoilt`, each training video has another video's labels.

    Classes are as frequent as before, so ValidationGate has nothing to stop.
    """
    make_dataset(data, train=600, eval=200, classes=CLASSES, spans=number)
    for shard in (data / f"span-{number}").glob("train*.tfrecord") if spoilt else ():
        records = [decode_record(record) for record in read_all(shard)]
        spoilt_records = [
            Record({**record.features, "labels": other.features["labels"]})
            for record, other in zip(records, [*records[1:], records[0]], strict=True)
        ]
        write_all(shard, [encode_record(record) for record in spoilt_records])


def outcome(launcher: Launcher, results) -> dict:
    """What Pusher says it did."""
    uri = results["Pusher"].artifacts["pushed_model"]["uri"]
    return json.loads((launcher.stored(uri) / "pushed.json").read_text())


def nightly(server: KfpServer, directory: Path) -> tuple[Path, dict]:
    """What the one recurring run on the server would start: its spec and its parameters."""
    (schedule,) = server.schedules.values()
    assert schedule["status"] == "ENABLED"
    version = server.versions[schedule["pipeline_version_reference"]["pipeline_version_id"]]
    stored = version["pipeline_spec"]
    documents = (
        [stored["pipeline_spec"], stored["platform_spec"]]
        if "pipeline_spec" in stored
        else [stored]
    )
    file = directory / "from-the-server.yaml"
    file.write_text(yaml.safe_dump_all(documents))
    return file, schedule["runtime_config"]["parameters"]


@pytest.mark.slow
def test_three_nights_of_retraining_pushed_pushed_and_rejected(tmp_path):
    data, push_dir = tmp_path / "data", tmp_path / "push"
    file = compile_pipeline(tmp_path)
    server, launcher = KfpServer(), Launcher(tmp_path / "cluster")
    with listening(server) as host:
        assert run(["kubeflow", "upload", str(file), "--host", host]) == 0
        schedule = ["kubeflow", "schedule", "smoke", "--cron", "0 3 * * *", "--host", host]
        for name, value in {
            "data_root": data,
            "push_dir": push_dir,
            "span": "last:2",
            "gap_threshold": "0.05",
            "gap_change_threshold": "-0.02",
        }.items():
            schedule += ["--param", f"{name}={value}"]
        assert run(schedule) == 0
    assert server.violations == []
    spec, parameters = nightly(server, tmp_path)

    def versions() -> list[int]:
        return sorted(int(p.name) for p in push_dir.iterdir() if p.name.isdigit())

    nights = []
    for night in (1, 2, 3):
        add_span(data, night, spoilt=night == 3)
        # Every version, and every store: what is cached lies in another one.
        launcher.version = tuple(VERSIONS)[night - 1]
        root = ("", "minio://mlpipeline/v2", "gs://bucket/yt8m")[night - 1]
        given = {"parameters": parameters, "root": root, "run_id": f"night-{night}"}
        nights.append(launcher.run(spec, **given))
        pushed = outcome(launcher, nights[-1])
        assert pushed["pushed"] is (night < 3), json.dumps(pushed, indent=1)
        assert len(versions()) == min(night, 2)

    first, second, third = nights
    assert {r.state for r in first.values()} == {"SUCCEEDED"}
    # Each night compares with what the night before has pushed.
    compared = [r["Baseline"].artifacts["model"]["metadata"]["version"] for r in nights]
    assert compared == [0, *versions()]
    # What looks outside is never taken from the cache; what cannot have changed is.
    for name in ("ExampleGen", "Baseline"):
        assert [r[name].state for r in nights] == ["SUCCEEDED"] * 3
    assert [r["SchemaGen"].state for r in nights] == ["SUCCEEDED", "CACHED", "CACHED"]
    # What was pushed serves; the report of the night that was rejected is there too.
    assert (push_dir / str(versions()[-1]) / "saved_model.pb").exists()
    report = launcher.stored(third["Report"].artifacts["report"]["uri"])
    assert (report / "report.html").exists()
    # What Kubeflow's user interface draws: a page, a verdict, numbers.
    evaluator = third["Evaluator"].artifacts
    assert launcher.stored(third["Report"].artifacts["ui_report"]["uri"]).is_file()
    assert "Rejected" in launcher.stored(evaluator["ui_verdict"]["uri"]).read_text()
    assert evaluator["ui_roc_curve"]["metadata"]["confidenceMetrics"]
    numbers = evaluator["ui_metrics"]["metadata"]
    assert numbers["gap"] < numbers["gap_baseline"]
    # Nobody needs a list of links: the examples stayed where they were.
    examples = launcher.stored(second["ExampleGen"].artifacts["examples"]["uri"])
    assert not list(examples.rglob("*.tfrecord"))
    # Checkpoints lie on the shared volume, and outlive the pods.
    assert list((tmp_path / "work" / "checkpoints").iterdir())


@pytest.mark.slow
def test_a_second_run_on_the_same_data_trains_nothing_and_pushes_nothing(tmp_path):
    """ExampleGen and Baseline give their artifacts new ids, which is all that Kubeflow looks at."""
    file, launcher = compile_pipeline(tmp_path), Launcher(tmp_path / "cluster")
    add_span(tmp_path / "data", 1)
    parameters = {
        "data_root": str(tmp_path / "data"),
        "push_dir": str(tmp_path / "push"),
        "span": "1",
        "gap_threshold": 0.05,
    }
    first, second = (
        launcher.run(file, parameters=parameters, run_id=f"run-{number}") for number in (1, 2)
    )
    assert outcome(launcher, first)["pushed"]
    told = outcome(launcher, second)
    assert not told["pushed"]
    assert told["up_to_date"]
    assert told["record"]["reason"] == "version 1 in service is the same model"
    # Every place says so, and none that the gate held it back.
    pushed_model = second["Pusher"].artifacts
    assert pushed_model["pushed_model"]["metadata"]["verdict"] == "up to date"
    texts = [
        launcher.stored(pushed_model["ui_outcome"]["uri"]).read_text(),
        launcher.stored(second["Evaluator"].artifacts["ui_verdict"]["uri"]).read_text(),
        launcher.stored(second["Report"].artifacts["ui_report"]["uri"]).read_text(),
    ]
    assert second["Report"].artifacts["report"]["metadata"]["verdict"] == "up to date"
    for text in texts:
        assert "Up to date" in text
        assert "Rejected" not in text
    assert [p.name for p in (tmp_path / "push").iterdir() if p.name.isdigit()] == ["1"]
    done_before = [
        {name for name, result in run.items() if "done before with the same inputs" in result.log}
        for run in (first, second)
    ]
    # The Evaluator compares the model with the one in service now, which is itself.
    assert done_before == [set(), {"StatisticsGen", "Transform", "Trainer"}]
    # The store holds the address of the sample, which lies on the volume.
    sample = launcher.stored(second["ExampleGen"].artifacts["sample"]["uri"])
    assert [path.name for path in sample.iterdir()] == ["reference.json"]


NETWORK = """
import tf_keras
from yt8m.components.models.network import Network

class Net(Network):
    def create_trunk(self, name):
        return Trunk(name=name)

class Trunk(tf_keras.layers.Layer):
    def __init__(self, name):
        super().__init__(name=name)
        self.hidden = tf_keras.layers.Dense(128, name="hidden")

    def call(self, signal, training=False):
        return self.hidden(signal.vectors)
"""


@pytest.mark.slow
def test_a_network_that_changed_in_the_image_alone_is_trained_again(tmp_path):
    file = compile_pipeline(tmp_path, "trainer.network=own_network.Net")
    launcher = Launcher(tmp_path / "cluster")
    add_span(tmp_path / "data", 1)
    parameters = {
        "data_root": str(tmp_path / "data"),
        "push_dir": str(tmp_path / "push"),
        "span": "1",
        "gap_threshold": 0.05,
    }
    code = tmp_path / "image" / "own_network.py"
    code.parent.mkdir()
    done_before, pushed = [], []
    for number, width in enumerate((128, 128, 256)):
        code.write_text(NETWORK.replace("128", str(width)))
        tasks = launcher.run(file, parameters=parameters, run_id=f"run-{number}")
        pushed.append(outcome(launcher, tasks)["pushed"])
        done_before.append(
            {name for name in tasks if "done before with the same inputs" in tasks[name].log}
        )
    assert pushed == [True, False, True]
    assert done_before == [
        set(),
        {"StatisticsGen", "Transform", "Trainer"},
        {"StatisticsGen", "Transform"},
    ]


@pytest.mark.slow
def test_a_search_hands_its_values_to_the_trainer_and_is_found_again(tmp_path):
    space = "{trainer.optimizer.learning_rate: {choice: [1e-7, 3e-3]}}"
    search = "{name: random_search, max_trials: 2}"
    tuner = f"tuner={{space: {space}, search: {search}, trial: {{trainer.max_steps: 20}}}}"
    file, launcher = compile_pipeline(tmp_path, tuner), Launcher(tmp_path / "cluster")
    add_span(tmp_path / "data", 1)
    places = {"data_root": str(tmp_path / "data"), "push_dir": str(tmp_path / "push")}
    parameters = {**places, "span": "1", "gap_threshold": 0.05}
    first, second = (
        launcher.run(file, parameters=parameters, run_id=f"run-{number}") for number in (1, 2)
    )
    told = outcome(launcher, first)
    assert told["pushed"]
    trained = told["record"]["configuration"]["trainer"]
    assert trained["optimizer"]["learning_rate"] == 3e-3
    for name in ("Tuner", "Trainer"):
        assert "done before with the same inputs" in second[name].log


def test_tfx_s_own_entry_point_fails_on_untyped_inputs_which_is_why_ours_exists(tmp_path):
    """When this fails, TFX has learnt it: is kubeflow/container/entrypoint.py still needed?"""
    spec = yaml.safe_load(compile_pipeline(tmp_path).read_text().split("\n---\n")[0])
    tasks = spec["root"]["dag"]["tasks"]
    two = {name: copy.deepcopy(tasks[name]) for name in ("SchemaGen", "StatisticsGen")}
    two["StatisticsGen"]["dependentTasks"] = ["SchemaGen"]
    del two["StatisticsGen"]["inputs"]["artifacts"]["examples"]
    spec["root"]["dag"]["tasks"] = two
    container = spec["deploymentSpec"]["executors"]["StatisticsGen_executor"]["container"]
    container["command"] = STOCK
    long = {short: name for name, short in SHORT_FLAGS.items()}
    container["args"] = [long.get(word, word) for word in container["args"]]
    file = tmp_path / "stock.yaml"
    file.write_text(yaml.safe_dump(spec))
    untyped = r"(?s)StatisticsGen: exit code 1.*in _retrieve_class_path"
    with pytest.raises(LauncherError, match=untyped):
        Launcher(tmp_path / "cluster").run(file)
