"""The record of a run, on disk and back."""

import dataclasses
import datetime
import json
import shutil
from pathlib import Path

import pytest

from yt8m.cli.main import run as yt8m
from yt8m.components.artifacts.run_record import NodeRecord, RunRecord, Verdict
from yt8m.pipeline.python.runs import runs
from yt8m.pipeline.run_record import (
    begin_record,
    next_run_id,
    read_record,
    read_run_records,
    record_named,
    write_record,
)
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.errors import UserError

RECORD = RunRecord(
    run_id="20260301-1",
    started=1.0,
    nodes=(NodeRecord(name="ExampleGen"), NodeRecord(name="Trainer")),
)


def test_a_record_comes_back_as_it_was_written(tmp_path):
    record = dataclasses.replace(
        RECORD,
        verdict=Verdict.PUSHED,
        version=3,
        metrics={"gap": 0.5},
        spans=(1, 2),
        config={"a": {"b": 1}},
    )
    write_record(Layout(tmp_path), record)
    assert read_record(Layout(tmp_path), RECORD.run_id) == record


def test_records_come_newest_first_and_broken_ones_are_passed_over(tmp_path):
    layout = Layout(tmp_path)
    for name in ("20260301-1", "20260302-1", "20260303-1"):
        begin_record(layout, dataclasses.replace(RECORD, run_id=name))
    Path(layout.run("20260303-1"), "run.json").write_text('{"run_id": ')
    assert [record.run_id for record in read_run_records(layout)] == ["20260302-1", "20260301-1"]
    assert Path(layout.newest).resolve().name == "20260303-1"


def test_the_link_to_the_newest_run_holds_where_the_root_is_moved(tmp_path):
    begin_record(Layout(tmp_path / "here"), RECORD)
    (tmp_path / "here").rename(tmp_path / "there")
    assert Path(Layout(tmp_path / "there").newest, "run.json").is_file()


def test_a_failure_by_what_was_given_ends_as_a_mistake_in_it_does():
    record = RunRecord(run_id="r", started=0.0, verdict=Verdict.FAILED)
    assert record.exit_code == 1
    assert dataclasses.replace(record, given_wrong=True).exit_code == 2


def test_a_run_is_the_newest_whatever_the_clock_says(tmp_path):
    layout = Layout(tmp_path)
    now = datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)
    made = []
    for days in (0, 0, -400, 3, -1):
        run_id = next_run_id(layout, now + datetime.timedelta(days=days))
        begin_record(layout, dataclasses.replace(RECORD, run_id=run_id))
        made.append(run_id)
    assert made[0] == "20260301-120000-000000"
    assert made[3] == "20260304-120000-000000"
    assert [record.run_id for record in read_run_records(layout)] == made[::-1]


def test_a_directory_of_somebody_elses_among_the_runs_disturbs_no_run_id(tmp_path):
    layout = Layout(tmp_path)
    Path(layout.runs, "zzz").mkdir(parents=True)
    now = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)
    assert next_run_id(layout, now) == "20260301-000000-000000"


def test_a_record_by_a_yt8m_that_knew_fewer_keys_claims_nothing():
    known = json.loads(RunRecord(run_id="a", started=1.0, verdict=Verdict.PUSHED).to_json())
    keys = {field.name for field in dataclasses.fields(RunRecord)} - {"run_id", "started"}
    old = {key: value for key, value in known.items() if key not in keys}
    record = RunRecord.from_json(json.dumps(old))
    claimed = {key for key in keys if getattr(record, key)}
    assert claimed == {"verdict"}
    assert record.verdict is Verdict.RUNNING


@pytest.mark.parametrize("content", ["", '{"run_id": '])
def test_a_run_whose_record_is_empty_or_cut_off_is_named(tmp_path, capsys, content):
    layout = Layout(tmp_path)
    for name in ("20260301-1", "20260302-1"):
        begin_record(layout, dataclasses.replace(RECORD, run_id=name))
    broken = Path(layout.run("20260302-1"), "run.json")
    broken.write_text(content)
    Path(layout.runs, "zzz").mkdir()  # somebody else's
    for command in (["history"], ["report", "--all"]):
        assert yt8m([*command, "--root", str(tmp_path)]) == 0
        said = " ".join(capsys.readouterr().err.split())
        assert f"record of run 20260302-1 cannot be used: {broken} is damaged" in said
        assert "restore it from a copy, or remove its directory" in said
        assert "zzz" not in said
    assert yt8m(["history", "--root", str(tmp_path), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [run["run_id"] for run in answer["runs"]] == ["20260301-1"]
    assert [str(broken) in problem for problem in answer["problems"]] == [True]
    assert yt8m(["report", "20260302-1", "--root", str(tmp_path)]) == 2
    assert f"{broken} is damaged" in " ".join(capsys.readouterr().err.split())


def test_a_root_that_was_copied_with_its_links_followed_takes_new_runs(tmp_path):
    former, layout = Layout(tmp_path / "former"), Layout(tmp_path / "copied")
    begin_record(former, RunRecord(run_id="1", started=1.0))
    shutil.copytree(former.root, layout.root)
    assert not Path(layout.newest).is_symlink()
    begin_record(layout, RunRecord(run_id="2", started=2.0))
    assert Path(layout.newest).resolve() == Path(layout.run("2"))


def test_the_newest_run_is_not_an_older_one_where_its_record_is_damaged(tmp_path, capsys):
    layout = Layout(tmp_path)
    for name in ("20260301-1", "20260302-1"):
        begin_record(layout, dataclasses.replace(RECORD, run_id=name, verdict=Verdict.PUSHED))
    broken = Path(layout.run("20260302-1"), "run.json")
    broken.write_text("{")
    for command in ("status", "report"):
        assert yt8m([command, "--root", str(tmp_path)]) == 2
        said = " ".join(capsys.readouterr().err.split())
        assert f"record of run 20260302-1 cannot be used: {broken} is damaged" in said
        assert said.endswith("or name an older run, such as 20260301-1")
    assert record_named(layout, "20260301-1").run_id == "20260301-1"
    Path(layout.run("20260301-1"), "run.json").write_text("{")
    with pytest.raises(UserError, match=r"or name an older run$"):
        record_named(layout, "")
    assert yt8m(["report", "--all", "--root", str(tmp_path)]) == 2
    assert "no run there has a record that can be read" in capsys.readouterr().err
    write_record(layout, dataclasses.replace(RECORD, run_id="20260303-1"))
    assert record_named(layout, "").run_id == "20260303-1"


def test_a_damaged_record_is_told_to_python_too(tmp_path):
    layout = Layout(tmp_path)
    for name in ("20260301-1", "20260302-1"):
        begin_record(layout, dataclasses.replace(RECORD, run_id=name, verdict=Verdict.PUSHED))
    Path(layout.run("20260302-1"), "run.json").write_text("{")
    with pytest.warns(UserWarning, match="record of run 20260302-1 cannot be used"):
        found = runs(tmp_path)
    assert [run.id for run in found] == ["20260301-1"]
    assert found["20260301-1"].id == "20260301-1"
    with pytest.raises(UserError, match="is damaged"):
        found["20260302-1"]
    with pytest.raises(UserError, match=r"no run elsewhere in .*; the newest are 20260301-1"):
        found["elsewhere"]


def test_a_metric_without_a_value_may_have_been_computed(tmp_path, capsys):
    """MAP is undefined where no class has a label."""
    begin_record(Layout(tmp_path), dataclasses.replace(RECORD, run_id="20260301-1"))
    assert yt8m(["history", "--root", str(tmp_path), "--metric", "map"]) == 2
    assert "none has computed it, or it is undefined" in capsys.readouterr().err
