"""Before a run: every problem is found, and all of them at once."""

import json
import os
import shutil
import socket

import pytest
from records import make_dataset

from yt8m.pipeline.presets import list_presets, load_config
from yt8m.pipeline.run import preflight as subject
from yt8m.pipeline.run.memory_estimate import available_bytes, training_bytes
from yt8m.pipeline.run.preflight import preflight
from yt8m.schemas.errors import ConfigError


@pytest.fixture
def configured(tmp_path):
    """A configuration that is right, with `settings` on top."""
    data = make_dataset(tmp_path / "data")

    def configure(*settings, preset="smoke", **places):
        places = {"root": tmp_path / "root", "data.root": data, "pusher.push_dir": tmp_path / "p"}
        texts = [f"{path}={json.dumps(str(value))}" for path, value in places.items()]
        return load_config(preset, [*texts, *settings])

    return configure


def problems(config, **environ):
    with pytest.raises(ConfigError) as error:
        preflight(config, environ)
    return str(error.value)


def test_a_right_configuration_passes_and_leaves_no_rubbish(configured, tmp_path):
    preflight(configured(), {})
    assert list((tmp_path / "root").iterdir()) == []
    assert list((tmp_path / "p").iterdir()) == []


TF_CONFIG = json.dumps({"cluster": {"worker": ["a:1"]}, "task": {"type": "wurker", "index": 0}})
WRONG = {
    "data": ("data.root=/nowhere", {}, "no records below /nowhere"),
    "root is missing": ("root=''", {}, "--root DIR"),
    "root is remote": ("root=gs://bucket/root", {}, "must be a local directory"),
    "push is missing": ("pusher.push_dir=''", {}, "--push DIR"),
    "gate": ("gate.gap_threshold=null", {}, "gate.gap_threshold"),
    "memory": ("trainer.batch_size=2000000000", {}, "lower trainer.batch_size"),
    "cluster": ("name=x", {"TF_CONFIG": TF_CONFIG}, "wurker"),
    "vocabulary": (
        "evaluator.vocabulary=/nowhere.csv",
        {},
        "/nowhere.csv: cannot be read as a vocabulary",
    ),
    "job server": ("beam.runner=flink", {}, "write it as HOST:PORT"),
}


@pytest.mark.parametrize(("setting", "environ", "said"), WRONG.values(), ids=WRONG)
def test_one_thing_that_is_wrong_is_named(configured, setting, environ, said):
    config = configured(setting, "beam.options=['--job_endpoint=nonsense']")
    assert said in problems(config, **environ)


def test_everything_wrong_is_listed_at_once(configured):
    settings = [setting for setting, environ, _ in WRONG.values() if not environ]
    settings = [s for s in settings if "gs://" not in s]
    found = problems(configured(*settings), TF_CONFIG=TF_CONFIG)
    assert found.startswith("the run cannot start, 8 problems:")
    named = ("/nowhere", ".csv", "--root", "--push", "gap_threshold", "batch_size", "wurker")
    for line in (*named, "flink"):
        assert line in found


def test_a_vocabulary_of_other_data_is_named(configured, tmp_path):
    vocabulary = tmp_path / "data" / "vocabulary.csv"
    setting = f"evaluator.vocabulary={vocabulary}"
    assert "has 20 classes, but features.num_classes is 50" in problems(configured(setting))
    preflight(configured(setting, "features.num_classes=20"), {})


def test_too_few_records_to_judge_by_are_told_before_the_training(configured):
    found = problems(configured("gate.min_examples=13"))
    assert "gate.min_examples = 13: split eval has 12 records, so no model could pass" in found
    preflight(configured("gate.min_examples=12"), {})
    preflight(configured("gate.min_examples=13", "gate.mode=none"), {})


def test_a_newest_span_without_a_shard_to_judge_by_is_named(configured, tmp_path):
    make_dataset(tmp_path / "spans", spans=9, shards=1)
    settings = (
        "data.divide={patterns: ['span-{SPAN}/*'], buckets: {train: 20, eval: 1}}",
        "data.span='last:9'",
    )
    config = configured(f"data.root={tmp_path}/spans", *settings)
    assert "span 9, the newest, has no shard in split eval" in problems(config)
    preflight(configured(f"data.root={tmp_path}/spans", *settings, "evaluator.spans=all"), {})


def test_a_root_that_is_a_file_or_below_one_is_named(configured, tmp_path):
    (tmp_path / "file").write_text("")
    assert "is a file" in problems(configured(f"root={tmp_path}/file"))
    assert "cannot be written" in problems(configured(f"root={tmp_path}/file/below"))


def test_a_root_without_write_access_is_named(configured):
    # Where nobody may write, not even root, as whom containers often run tests.
    assert "cannot be written" in problems(configured("root=/proc/yt8m"))


def test_too_little_room_on_the_disk_is_named(configured, monkeypatch):
    usage = shutil.disk_usage("/")
    monkeypatch.setattr(subject.shutil, "disk_usage", lambda _: usage._replace(free=10 << 20))
    assert "0.0 GB free, and the run may need 0.3 GB" in problems(configured())


def test_a_foreign_metadata_database_stops_the_run_and_stays(configured, tmp_path):
    (tmp_path / "root").mkdir()
    database = tmp_path / "root" / "metadata.db"
    database.write_text("my diary")
    assert "is not a SQLite database" in problems(configured())
    assert database.read_text() == "my diary"


@pytest.mark.parametrize("name", [preset.name for preset in list_presets()])
def test_every_preset_has_an_estimate_and_larger_batches_need_more(name):
    small = training_bytes(load_config(name, ["trainer.batch_size=16"]))
    large = training_bytes(load_config(name, ["trainer.batch_size=4096"]))
    assert 1e9 < small < large


def test_a_weight_counts_with_gradient_and_moments():
    # 1152 inputs, 3862 classes: each weight takes 4 floats, and nothing else differs.
    one = training_bytes(load_config("video_logistic", ["trainer.batch_size=1"]))
    two = training_bytes(
        load_config("video_logistic", ["trainer.batch_size=1", "features.num_classes=7724"])
    )
    weights = 1152 * 3862 * 16
    assert two - one == pytest.approx(weights, rel=0.02)


def test_what_is_free_is_at_most_what_the_machine_has():
    free = available_bytes()
    assert free is not None
    assert 0 < free <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def listening():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def test_a_job_server_that_answers_is_enough(configured, listening):
    option = f"beam.options=['--job_endpoint=127.0.0.1:{listening}']"
    preflight(configured("beam.runner=flink", option), {})


def test_a_job_server_that_does_not_answer_is_named(configured, listening):
    option = f"beam.options=['--job_endpoint=127.0.0.1:{listening}']"
    config = configured("beam.runner=spark", option.replace(str(listening), "1"))
    assert "127.0.0.1:1: nothing answers there" in problems(config)


def test_without_a_jar_flink_says_which_one_and_how_to_pass_it(configured, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    found = problems(configured("beam.runner=flink"))
    assert "--beam-option=--flink_job_server_jar=FILE" in found
    missing = problems(
        configured("beam.runner=flink", "beam.options=['--flink_job_server_jar=/no.jar']")
    )
    assert "/no.jar: no such file" in missing


def test_dataflow_asks_for_project_region_bucket_and_credentials(configured, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "absent.json"))
    found = problems(configured("beam.runner=dataflow"))
    for part in ("--project", "--region", "--temp_location=gs://", "application-default"):
        assert part in found
