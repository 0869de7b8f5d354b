"""Before a run: every problem is found, and all of them at once."""

import json
import os
import re
import shutil

import pytest
from memory_store import memory_store
from records import edit_record, make_dataset, set_feature
from registry_models import fake_model, push_fake

from yt8m.components.artifacts.run_record import RunRecord
from yt8m.pipeline.presets import list_presets, load_config
from yt8m.pipeline.run import preflight as subject
from yt8m.pipeline.run.memory_estimate import available_bytes, training_bytes
from yt8m.pipeline.run.preflight import preflight
from yt8m.pipeline.run.prometheus import write_metrics
from yt8m.pipeline.run.retrain_status import RetrainStatus
from yt8m.pipeline.run_record import begin_record
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.errors import ConfigError


@pytest.fixture
def configured(tmp_path):
    """A configuration that is right, with `settings` on top."""
    data = make_dataset(tmp_path / "data")

    def configure(*settings, preset="smoke", **places):
        places = {"root": tmp_path / "root", "data.root": data, "pusher.push_dir": tmp_path / "p"}
        texts = [f"{path}={json.dumps(str(value))}" for path, value in places.items()]
        return load_config(preset, [*texts, "gate.min_examples=1", *settings])

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
    "root is a pattern": ("root='/tmp/a[1]'", {}, "choose a directory without"),
    "root has a backslash": (r"root='/tmp/a\1'", {}, "choose a directory without"),
    "push dir is a pattern": ("pusher.push_dir='/tmp/a[1]'", {}, "choose a directory without it"),
    "evaluated on train": ("evaluator.split=train", {}, "choose one of eval"),
    "no such split": ("evaluator.split=evla", {}, "the data have no such split; known: eval"),
    "predicted split has no files": (
        "bulk_inferrer={split: test}",
        {},
        "bulk_inferrer.split = test: no file of this split",
    ),
    "split of early stopping has no files": (
        "trainer={validation_split: test, early_stopping: {name: not_better}}",
        {},
        "trainer.validation_split = test: no file of this split",
    ),
    "push is missing": ("pusher.push_dir=''", {}, "--push DIR"),
    "gate": ("gate.gap_threshold=null", {}, "gate.gap_threshold"),
    "memory": ("trainer.batch_size=2000000000", {}, "lower trainer.batch_size"),
    "memory of trials": (
        "tuner={space: {trainer.batch_size: {choice: [8, 16]}}, num_parallel_trials: 10000}",
        {},
        "lower tuner.num_parallel_trials",
    ),
    "cluster": ("name=x", {"TF_CONFIG": TF_CONFIG}, "wurker"),
    "vocabulary": (
        "evaluator.vocabulary=/nowhere.csv",
        {},
        "/nowhere.csv: cannot be read as a vocabulary",
    ),
    "job server": ("beam.runner=portable", {}, "--job_endpoint=HOST:PORT"),
}


@pytest.mark.parametrize(("setting", "environ", "said"), WRONG.values(), ids=WRONG)
def test_one_thing_that_is_wrong_is_named(configured, setting, environ, said):
    assert said in problems(configured(setting), **environ)


REMOTE = {
    "pods": (
        "trainer.backend={name: jobset}",
        "its pods write checkpoints to a volume",
    ),
    "search": (
        "tuner={space: {trainer.batch_size: {choice: [8, 16]}}}",
        "a search (tuner) keeps its trials on a disk",
    ),
    "pattern": ("root='mem://bucket/a[1]'", "its name has [, which stand for others"),
    "the run's own": ("pusher.push_dir=mem://bucket/root/runs", "is the run's own"),
}


@pytest.mark.parametrize(("setting", "said"), REMOTE.values(), ids=REMOTE)
def test_what_a_root_in_an_object_store_cannot_do_is_refused(configured, setting, said):
    with memory_store():
        assert said in problems(configured("root=mem://bucket/root", setting))


def test_what_an_engines_transform_writes_needs_a_disk(configured):
    with memory_store():
        said = problems(
            configured(
                "root=mem://bucket/root", "beam.runner=portable", "transform.materialize=true"
            )
        )
    assert "TFX's Transform lets an engine's workers write to the root's disk" in said


def test_a_remote_root_needs_the_metadata_of_its_runs(configured, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with memory_store():
        config, layout = configured("root=mem://bucket/root"), Layout("mem://bucket/root")
        preflight(config, {})
        begin_record(layout, RunRecord(run_id="20260301-1", started=1.0))
        assert "recorded in metadata.db of the machine that made them" in problems(config)
        layout.database.parent.mkdir(parents=True)
        layout.database.touch()
        preflight(config, {})


def test_a_root_in_a_store_that_does_not_answer_is_named(configured):
    with memory_store() as store:
        store.answer = fail_lists
        assert "root mem://bucket/root: cannot be used (no network)" in problems(
            configured("root=mem://bucket/root")
        )


def fail_lists(operation, path):
    if operation == "list":
        raise OSError("no network")


def test_a_registry_that_a_push_would_spoil_stops_the_run(configured, tmp_path):
    fake_model(tmp_path / "p" / "1700000000")
    said = problems(configured())
    assert "version 1700000000" in said
    assert "yt8m models import" in said
    preflight(configured("baseline.version=none"), {})

    shutil.rmtree(tmp_path / "p")
    push_fake(tmp_path, tmp_path / "p")
    preflight(configured(), {})
    (tmp_path / "p" / "1" / "saved_model.pb").unlink()
    assert "every version in" in problems(configured())
    preflight(configured("baseline.version=none"), {})


def test_everything_wrong_is_listed_at_once(configured):
    settings = [setting for setting, environ, _ in WRONG.values() if not environ]
    settings = [s for s in settings if "/tmp/a" not in s and ".split=" not in s]
    found = problems(configured(*settings), TF_CONFIG=TF_CONFIG)
    assert found.startswith("the run cannot start, 8 problems:")
    named = ("/nowhere", ".csv", "--root", "--push", "gap_threshold", "batch_size", "wurker")
    for line in (*named, "HOST:PORT"):
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


@pytest.mark.parametrize("inside", ["", "artifacts", "artifacts/Trainer", "runs", "logs"])
def test_models_are_not_pushed_to_what_runs_own(configured, tmp_path, inside):
    place = tmp_path / "root" / inside
    found = problems(configured(f"pusher.push_dir={json.dumps(str(place))}"))
    assert f"pusher.push_dir {place}: " in found
    assert "is the run's own" in found
    beside = json.dumps(str(tmp_path / "root" / "models"))
    preflight(configured(f"pusher.push_dir={beside}"), {})


def test_without_a_number_of_its_own_a_file_is_judged_by_a_thousand_or_refused(tmp_path):
    data, root, push = make_dataset(tmp_path / "data"), tmp_path / "root", tmp_path / "push"
    file = tmp_path / "mine.yaml"
    file.write_text(
        f"root: {root}\ndata: {{root: {data}}}\npusher: {{push_dir: {push}}}\n"
        "gate: {gap_threshold: 0.5}\n"
    )
    found = problems(load_config(str(file)))
    assert "gate.min_examples = 1000: split eval has 12 records, so no model could pass" in found
    assert "gate.min_examples=12" in found  # the remedy
    preflight(load_config(str(file), ["gate.min_examples=12"]), {})


def test_a_newest_span_without_a_shard_to_judge_by_is_named(configured, tmp_path):
    make_dataset(tmp_path / "spans", spans=9, shards=1)
    settings = (
        "data.divide={patterns: ['span-{SPAN}/*'], buckets: {train: 20, eval: 1}}",
        "data.span='last:9'",
    )
    config = configured(f"data.root={tmp_path}/spans", *settings)
    assert "span 9, the newest, has no shard in split eval" in problems(config)
    preflight(configured(f"data.root={tmp_path}/spans", *settings, "evaluator.spans=all"), {})


SPANS = "data.splits={train: ['span-{SPAN}/train*'], eval: ['span-{SPAN}/validate*'], test: []}"


@pytest.mark.parametrize(
    ("preset", "level"),
    [
        ("smoke", "frame"),
        ("frame_logistic", "video"),
        ("segment_finetune", "video"),
        ("smoke", "segment"),
    ],
)
def test_a_preset_of_another_level_is_named_with_that_of_the_records(
    configured, tmp_path, preset, level
):
    make_dataset(tmp_path / "other", level=level)
    config = configured(
        f"data.root={tmp_path}/other", "features.num_classes=20", "gate.mode=none", preset=preset
    )
    found = problems(config)
    assert f"holds {level}-level records; choose a preset of that level" in found


def test_too_few_classes_are_named_with_the_number_that_fits(configured):
    found = problems(configured("features.num_classes=10"))
    assert "features.num_classes = 10: " in found
    assert re.search(
        r"set it to the number of classes of your vocabulary, (1[1-9]|20) or more", found
    )
    preflight(configured("features.num_classes=20"), {})


def test_a_few_records_of_other_classes_are_left_to_the_quarantine(configured, tmp_path):
    shard = sorted((tmp_path / "data").glob("train*"))[0]
    edit_record(shard, 0, set_feature("labels", [49]))
    tolerant = ("data.bad_input=quarantine", "data.max_quarantined=0.2")
    preflight(configured("features.num_classes=20", *tolerant), {})
    assert "have classes from there up to 49" in problems(configured("features.num_classes=20"))


def test_damaged_records_are_left_to_those_who_say_where_they_are(configured, tmp_path):
    for shard in (tmp_path / "data").glob("train*"):
        shard.write_bytes(b"no record" * 40)
    preflight(configured("gate.mode=none"), {})


@pytest.mark.parametrize("place", ["root", "pusher.push_dir"])
def test_the_records_own_directory_is_no_place_for_anything_else(configured, tmp_path, place):
    assert "it holds the records" in problems(configured(f"{place}={tmp_path}/data"))
    (tmp_path / "link").symlink_to(tmp_path / "data")
    assert "it holds the records" in problems(configured(f"{place}={tmp_path}/link"))
    make_dataset(tmp_path / "spans", spans=2)
    spans = (f"data.root={tmp_path}/spans", SPANS, f"{place}={tmp_path}/spans/span-2")
    assert "it holds the records" in problems(configured(*spans))


@pytest.mark.parametrize("span", ["7", "2026-11-20"])
def test_a_span_where_no_pattern_has_one_is_refused(configured, span):
    """It was ignored."""
    assert f"data.span = {span}: no pattern" in problems(configured(f"data.span={span}"))


def test_a_span_that_is_not_there_is_named_with_those_that_are(configured, tmp_path):
    make_dataset(tmp_path / "spans", spans=2)
    places = (f"data.root={tmp_path}/spans", SPANS)
    assert "span 7 is not there; the newest that are: 1, 2" in problems(
        configured(*places, "data.span=7")
    )
    preflight(configured(*places, "data.span=2"), {})


def test_splits_without_a_common_span_are_named(configured, tmp_path):
    make_dataset(tmp_path / "spans", spans=2)
    for one in (tmp_path / "spans" / "span-2").glob("train*"):
        one.unlink()
    for one in (tmp_path / "spans" / "span-1").glob("validate*"):
        one.unlink()
    found = problems(configured(f"data.root={tmp_path}/spans", SPANS, "data.span=1"))
    assert "data.span = 1: there is no span that every split has" in found


def test_a_hook_that_is_not_there_is_named_before_it_is_needed(configured):
    found = problems(configured("notify.command=[/no/such/program]"))
    assert "notify.command /no/such/program: no such program" in found


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


def test_every_member_and_the_second_layer_of_a_classifier_count():
    settings = ["trainer.batch_size=1", "trainer.retrieval=null"]

    def bytes_of(*more):
        return training_bytes(load_config("video_mlp", [*settings, *more]))

    one, two, three = (bytes_of(f"trainer.model.members={n}") for n in (1, 2, 3))
    assert two - one == pytest.approx(three - two)
    assert two - one > 4 * 4 * (1152 * 1536 + 1536 * 3862)
    none = bytes_of("trainer.model.classifier={name: logistic, co_occurrence: 0}")
    some = bytes_of("trainer.model.classifier={name: logistic, co_occurrence: 100}")
    members = load_config("video_mlp").trainer.model.members
    assert some - none == pytest.approx(members * 4 * 4 * 2 * 100 * 3862, rel=0.01)


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


def test_without_a_jar_flink_says_which_one_and_how_to_pass_it(configured, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    found = problems(configured("beam.runner=flink"))
    assert "--beam-option=--flink_job_server_jar=FILE" in found


def test_dataflow_asks_for_project_region_bucket_and_credentials(configured, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "absent.json"))
    found = problems(configured("beam.runner=dataflow"))
    for part in ("--project", "--region", "--temp_location=gs://", "application-default"):
        assert part in found


def test_what_dataflows_workers_cannot_reach_is_named(configured):
    config = configured("beam.runner=dataflow")
    found = problems(config)
    for name in (f"root {config.root}", f"data {config.data.root}/"):
        assert f"Google's machines read and write there too, and {name}" in found
    with memory_store():
        assert "and root" not in problems(configured("beam.runner=dataflow", "root=mem://b/root"))


def test_a_model_in_an_archive_is_not_unpacked_where_workers_cannot_see_it(configured, tmp_path):
    archive = tmp_path / "whole.tgz"
    archive.touch()
    context = f"evaluator={{segments: product, context: {archive}}}"
    said = f"evaluator.context {archive} is an archive, and its workers do not see"
    broken = 'root=""'  # so that there is a problem in any case
    assert said in problems(configured("data.level=frame", context, "beam.runner=flink", broken))
    assert "is an archive" not in problems(configured("data.level=frame", context, broken))


def test_a_file_for_prometheus_is_of_one_root(configured, tmp_path):
    mine = tmp_path / "nightly.prom"
    config = configured(f"retrain.metrics_file={mine}")
    preflight(config, {})
    write_metrics(config, status=RetrainStatus())
    preflight(config, {})
    (tmp_path / "link").symlink_to(config.root)
    by_link = configured(f"retrain.metrics_file={mine}", f"root={tmp_path / 'link'}")
    preflight(by_link, {})
    write_metrics(by_link, status=RetrainStatus())
    preflight(config, {})
    write_metrics(config, status=RetrainStatus())
    other = configured(f"retrain.metrics_file={mine}", f"root={tmp_path / 'other'}")
    said = problems(other)
    assert f"retrain.metrics_file {mine}: it is the file of root {tmp_path / 'root'}" in said
    preflight(configured(f"root={tmp_path / 'other'}"), {})
    assert "cannot be read" in problems(configured(f"retrain.metrics_file={tmp_path}"))
