"""When there is something to retrain on, from a real metadata store and a real registry."""

import dataclasses
import json
from pathlib import Path

import pytest
from ml_metadata import MetadataStore
from ml_metadata.proto import metadata_store_pb2
from records import make_dataset
from registry_models import blessed_record, fake_model

from yt8m.cli import retrain as retrain_command
from yt8m.cli.main import run as yt8m
from yt8m.components.artifacts.run_record import RunRecord, Verdict
from yt8m.components.artifacts.version_record import RECORD_FILE, parse_record
from yt8m.components.example_gen.sources import source_digest
from yt8m.components.registry.push import push, rollback
from yt8m.pipeline.config import MetadataConfig
from yt8m.pipeline.metadata import RUN_CONTEXT, MlmdLineage, connection_config
from yt8m.pipeline.presets import load_config
from yt8m.pipeline.retraining.judged_data import JUDGED_FILE, remember_judged
from yt8m.pipeline.retraining.retrain import (
    find_new_data,
    retraining_config,
    stale_data,
    windowed,
)
from yt8m.pipeline.run.prometheus import write_metrics
from yt8m.pipeline.run_record import RunResult, write_record
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.config_tree import to_dict

SPLITS = "data.splits={train: ['span-{SPAN}/train*'], eval: ['span-{SPAN}/validate*'], test: []}"


@pytest.fixture
def config(tmp_path):
    make_dataset(tmp_path / "data", spans=3)
    (tmp_path / "root").mkdir()
    places = {"root": "root", "data.root": "data", "pusher.push_dir": "push"}
    texts = [f"{path}={json.dumps(str(tmp_path / name))}" for path, name in places.items()]
    return load_config("smoke", [*texts, SPLITS])


def remember(tmp_path, config, *, verdict="pushed", run_id="one", stale=0, **notes):
    """What the runner notes of a run, in MLMD."""
    database = Layout(tmp_path / "root").database
    store = MetadataStore(connection_config(MetadataConfig(), database))
    kind = metadata_store_pb2.ContextType(name=RUN_CONTEXT)
    type_id = store.put_context_type(kind, can_add_fields=True)
    store.put_contexts([metadata_store_pb2.Context(type_id=type_id, name=run_id)])
    digest = source_digest(config.data)
    values = {"verdict": verdict, "source_digest": digest, "stale": stale, **notes}
    MlmdLineage(store).note(run_id, values)


def spanned(config, span):
    return dataclasses.replace(config, data=dataclasses.replace(config.data, span=span))


def test_the_first_time_everything_is_new(config):
    news = find_new_data(windowed(config))
    assert news.is_new
    assert news.text == "retraining on span 3"


def test_what_a_complete_run_was_made_from_is_not_new(config, tmp_path):
    remember(tmp_path, windowed(config))
    news = find_new_data(windowed(config))
    assert not news.is_new
    assert "run one (pushed) was made from span 3 already" in news.text


@pytest.mark.parametrize("verdict", ["failed", "interrupted", "terminated"])
def test_what_a_run_did_not_finish_is_still_new(config, tmp_path, verdict):
    remember(tmp_path, windowed(config), verdict=verdict)
    assert find_new_data(windowed(config)).is_new


def test_a_model_that_was_rejected_has_been_judged(config, tmp_path):
    remember(tmp_path, windowed(config), verdict="rejected")
    assert not find_new_data(windowed(config)).is_new


def test_a_model_that_only_another_push_kept_out_is_made_again(config, tmp_path):
    remember(tmp_path, windowed(config), verdict="rejected", stale=1)
    assert find_new_data(windowed(config)).is_new


@pytest.mark.parametrize(
    ("verdict", "stale", "is_new"),
    [
        (Verdict.PUSHED, False, False),
        (Verdict.REJECTED, False, False),
        (Verdict.REJECTED, True, True),
        (Verdict.FAILED, False, True),
    ],
)
def test_a_run_that_the_metadata_do_not_know_of_counts(config, verdict, stale, is_new):
    digest = source_digest(windowed(config).data)
    record = RunRecord(run_id="a", started=1.0, verdict=verdict, stale=stale, source_digest=digest)
    write_record(Layout(config.root), record)
    assert find_new_data(windowed(config)).is_new is is_new


@pytest.mark.parametrize("noted", [True, False])
@pytest.mark.parametrize(("push_dir", "is_new"), [("root/models", True), ("link", False)])
def test_a_run_for_another_registry_such_as_a_sweeps_leaves_the_data_new(
    config, tmp_path, push_dir, is_new, noted
):
    (tmp_path / "push").mkdir()
    (tmp_path / "link").symlink_to("push")
    pushed_to, digest = str(tmp_path / push_dir), source_digest(windowed(config).data)
    if noted:
        remember(tmp_path, windowed(config), push_dir=pushed_to)
    else:
        remember(tmp_path, windowed(config))
        record = RunRecord(run_id="one", started=1.0, source_digest=digest, push_dir=pushed_to)
        record = dataclasses.replace(record, verdict=Verdict.PUSHED)
        write_record(Layout(config.root), record)
    assert find_new_data(windowed(config)).is_new is is_new


def test_a_newer_span_is_new(config, tmp_path):
    remember(tmp_path, spanned(config, "2"))
    assert find_new_data(windowed(config)).is_new


@pytest.mark.parametrize(("span", "is_new"), [("1", False), ("2", False), ("3", True)])
def test_on_an_empty_root_the_newest_version_says_which_spans_are_known(
    config, tmp_path, span, is_new
):
    model, blessed = fake_model(tmp_path / "model"), blessed_record()
    seen = dataclasses.replace(blessed.data, spans=(1, 2))
    push(model, str(tmp_path / "push"), dataclasses.replace(blessed, data=seen), keep=5)
    news = find_new_data(spanned(config, span))
    assert news.is_new is is_new
    assert is_new or news.text == (
        "nothing new: the registry has a model that was made from span 2"
    )


@pytest.mark.parametrize(("back_to", "is_new"), [((1,), False), ((1, 3, 1), False), ((), True)])
def test_on_an_empty_root_a_rollback_is_not_undone_by_the_same_model_again(
    config, tmp_path, back_to, is_new
):
    push_dir = str(tmp_path / "push")
    for span in (1, 3) if back_to else (3, 1):  # the spans of other data began at 1 again
        model, blessed = fake_model(tmp_path / f"model-{span}"), blessed_record()
        seen = dataclasses.replace(blessed.data, spans=(span,))
        push(model, push_dir, dataclasses.replace(blessed, data=seen), keep=5)
    for version in back_to:
        rollback(push_dir, version)
    assert find_new_data(spanned(config, "3")).is_new is is_new


def test_a_newer_yt8ms_version_that_a_rollback_passed_over_is_no_hindrance(config, tmp_path):
    push_dir = str(tmp_path / "push")
    for span in (1, 2):
        model, blessed = fake_model(tmp_path / f"model-{span}"), blessed_record()
        seen = dataclasses.replace(blessed.data, spans=(span,))
        push(model, push_dir, dataclasses.replace(blessed, data=seen), keep=5)
    rollback(push_dir, 1)
    record = tmp_path / "push" / "2" / RECORD_FILE
    record.write_text(json.dumps({**json.loads(record.read_text()), "format": 99}))
    assert not find_new_data(spanned(config, "1")).is_new
    assert find_new_data(spanned(config, "3")).is_new


@pytest.mark.parametrize(
    ("verdict", "stale", "is_new"),
    [
        (Verdict.REJECTED, False, False),
        (Verdict.UP_TO_DATE, False, False),
        (Verdict.REJECTED, True, True),
        (Verdict.FAILED, False, True),
    ],
)
def test_on_an_empty_root_the_registry_knows_what_the_last_retraining_judged(
    config, monkeypatch, verdict, stale, is_new
):
    record = RunRecord(
        run_id="one",
        started=10 * DAY,
        verdict=verdict,
        stale=stale,
        source_digest=source_digest(windowed(config).data),
        push_dir=config.pusher.push_dir,
    )
    ran = []

    def run_pipeline(*_):
        ran.append(1)
        return RunResult(dataclasses.replace(record, started=(9 + len(ran)) * DAY))

    monkeypatch.setattr(retrain_command, "run_pipeline", run_pipeline)
    command = ["retrain", "smoke", f"--set={SPLITS}", "--data", config.data.root]
    command += ["--root", config.root, "--push", config.pusher.push_dir, "--quiet"]
    assert yt8m(command) == record.exit_code
    assert yt8m(command) == (record.exit_code if is_new else 4)
    assert len(ran) == 1 + is_new
    if not is_new:
        assert f"run one ({verdict.value}) was made from span 3" in find_new_data(config).text
        assert alarm(config, day=16) == ""
        assert "10.0 days" in alarm(config, day=20)


def test_what_the_registry_knows_of_other_data_leaves_these_new(config):
    other = source_digest(spanned(config, "2").data)
    record = RunRecord(run_id="one", started=1.0, verdict=Verdict.REJECTED, source_digest=other)
    remember_judged(dataclasses.replace(record, push_dir=config.pusher.push_dir))
    assert find_new_data(windowed(config)).is_new
    Path(config.pusher.push_dir, JUDGED_FILE).write_text("")
    assert find_new_data(spanned(config, "2")).is_new


DAY = 86400.0


def alarm(config, *, day):
    retrain = dataclasses.replace(config.retrain, alarm_days=7.0)
    config = dataclasses.replace(config, retrain=retrain)
    return stale_data(config, source_digest(windowed(config).data), now=day * DAY)


@pytest.mark.parametrize("experiment_of", ["last:1", "last:2", "2"])
def test_experiments_on_a_schedules_root_are_no_sign_of_new_data(config, experiment_of):
    schedules = RunRecord(
        run_id="1",
        started=10 * DAY,
        verdict=Verdict.PUSHED,
        source_digest=source_digest(windowed(config).data),
    )
    digest = source_digest(spanned(config, experiment_of).data)
    experiment = RunRecord(run_id="2", started=19 * DAY, source_digest=digest)
    for record in (schedules, experiment):
        write_record(Layout(config.root), record)
    assert alarm(config, day=16) == ""
    assert "10.0 days" in alarm(config, day=20)


@pytest.mark.parametrize("later", [[], [3], [2], ["rollback"]])
def test_on_an_empty_root_neither_are_those_that_pushed_nor_rollbacks(config, tmp_path, later):
    push_dir = str(tmp_path / "push")

    def pushed(day, span):
        created = f"1970-01-{day + 1:02}T00:00:00+00:00"
        model = fake_model(tmp_path / f"model-{day}")
        seen = dataclasses.replace(blessed_record().data, spans=(span,), manifest_digest=str(span))
        version = push(model, push_dir, dataclasses.replace(blessed_record(), data=seen), keep=5)
        file = Path(version.path, RECORD_FILE)
        record = dataclasses.replace(parse_record(file.read_text()), created=created)
        file.write_text(record.to_json())

    pushed(1, 2)
    pushed(10, 3)
    for what in later:
        rollback(push_dir, 1) if what == "rollback" else pushed(19, what)
    assert alarm(config, day=16) == ""
    assert "10.0 days" in alarm(config, day=20)


@pytest.fixture
def dated(config, tmp_path):
    """The first two spans as days."""
    days = ("2026-11-19", "2026-11-20")
    for number, day in enumerate(days, 1):
        (tmp_path / f"data/span-{number}").rename(tmp_path / "data" / day)
    day = "{YYYY}-{MM}-{DD}"
    splits = {"train": (f"{day}/train*",), "eval": (f"{day}/validate*",)}
    data = dataclasses.replace(config.data, splits=splits, span="last:2")
    return dataclasses.replace(config, data=data)


def test_spans_that_are_dates_are_shown_as_dates(dated, tmp_path, capsys):
    days = "2026-11-19 (20776), 2026-11-20 (20777)"
    assert find_new_data(dated).text == f"retraining on spans {days}"
    record = RunRecord(run_id="one", started=1.0, config=to_dict(dated))
    write_record(Layout(dated.root), record)
    write_record(Layout(dated.root), dataclasses.replace(record, run_id="two", config={}))
    remember(tmp_path, dated, started=1.0, spans="20776,20777")
    remember(tmp_path, dated, run_id="two", started=1.0, spans="1")
    assert yt8m(["history", "--root", dated.root]) == 0
    header, _, two, one = capsys.readouterr().out.splitlines()
    at, end = header.index("spans"), header.index("GAP")
    assert [one[at:end].strip(), two[at:end].strip()] == [days, "1"]
    assert yt8m(["history", "--root", dated.root, "--json"]) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [run["spans"] for run in runs] == ["1", "20776,20777"]


def test_a_file_that_arrives_late_is_new(config, tmp_path):
    remember(tmp_path, windowed(config))
    shard = sorted((tmp_path / "data" / "span-3").glob("train*"))[0]
    (shard.parent / "train9999.tfrecord").write_bytes(shard.read_bytes())
    assert find_new_data(windowed(config)).is_new


@pytest.mark.parametrize(
    ("span", "expected"), [("latest", "last:2"), ("1", "1"), ("last:3", "last:3")]
)
def test_the_window_gives_way_to_spans_that_are_named(config, span, expected):
    wide = dataclasses.replace(config, retrain=dataclasses.replace(config.retrain, window=2))
    assert windowed(spanned(wide, span)).data.span == expected


@pytest.mark.parametrize("warm", [True, False])
def test_a_retraining_starts_from_the_newest_model_unless_told_not_to(config, warm):
    told = dataclasses.replace(config, retrain=dataclasses.replace(config.retrain, warm_start=warm))
    assert retraining_config(told).trainer.start_from_base is warm
    assert retraining_config(told).data.span == "last:1"


def test_a_single_run_is_in_prometheus_file_without_a_schedule(tmp_path):
    layout = Layout(tmp_path)
    config = load_config("smoke", [f"root={tmp_path}", 'name=a "b"'])
    record = RunRecord(
        run_id="a",
        started=5.0,
        seconds=2.5,
        verdict=Verdict.REJECTED,
        metrics={"gap": 0.71},
        version=0,
    )
    write_record(layout, record)
    write_metrics(config)
    lines = Path(layout.schedule_metrics).read_text().splitlines()
    values = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    labels = f'pipeline="a \\"b\\"",root="{tmp_path}"'
    assert values == {
        f"yt8m_run_start_timestamp_seconds{{{labels}}}": "5",
        f"yt8m_run_seconds{{{labels}}}": "2.5",
        f"yt8m_run_exit_code{{{labels}}}": "3",
        f'yt8m_run_metric{{{labels},metric="gap"}}': "0.71",
        f"yt8m_run_version{{{labels}}}": "0",
    }
