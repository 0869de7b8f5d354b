"""A teacher is in the keys of a run by its content; a run is up to date while its outputs exist."""

import shutil
from dataclasses import replace

import pytest
from records import make_dataset
from registry_models import fake_model, push_fake

from yt8m.components.artifacts.run_record import RunRecord, Verdict
from yt8m.pipeline.cache_keys import (
    find_up_to_date_run,
    fingerprint,
    resolve_external_inputs,
)
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.run.preflight import preflight
from yt8m.pipeline.run.runner import with_absolute_paths
from yt8m.pipeline.run_record import begin_record
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.errors import UserError


@pytest.fixture
def values(tmp_path):
    data = make_dataset(tmp_path / "data")
    return {
        "root": str(tmp_path / "root"),
        "data": {"root": str(data)},
        "features": {"num_classes": 20},
        "gate": {"gap_threshold": 0.1, "min_examples": 1},
        "trainer": {"teacher": {"saved_model": str(tmp_path / "teacher")}},
        "pusher": {"push_dir": str(tmp_path / "push")},
    }


def keys(values, tmp_path):
    config = from_dict(PipelineConfig, values)
    external = resolve_external_inputs(config, Layout(tmp_path / "root"))
    teacher = external.digest("trainer.teacher.saved_model")
    return teacher, external.run_key, fingerprint(config, external)


def test_another_teacher_under_the_same_path_is_another_run(values, tmp_path):
    model = fake_model(tmp_path / "teacher")
    first = keys(values, tmp_path)
    assert keys(values, tmp_path) == first
    (tmp_path / "teacher" / "variables" / "variables.index").write_bytes(b"others")
    other = keys(values, tmp_path)
    assert all(a != b for a, b in zip(first, other, strict=True)), model


def test_without_a_teacher_there_is_no_digest(values, tmp_path):
    del values["trainer"]
    assert keys(values, tmp_path)[0] == ""


def test_a_teacher_that_is_not_there_is_found_before_anything_starts(values):
    with pytest.raises(UserError, match=r"trainer\.teacher\.saved_model = .*neither a SavedModel"):
        preflight(from_dict(PipelineConfig, values), {})


@pytest.mark.parametrize("node", ["evaluator", "bulk_inferrer"])
def test_a_context_that_is_not_there_is_named_by_its_own_key(values, tmp_path, node):
    del values["trainer"]
    values["data"]["level"] = "frame"
    nowhere = str(tmp_path / "nowhere")
    config = from_dict(
        PipelineConfig, {**values, node: {"segments": "product", "context": nowhere}}
    )
    with pytest.raises(UserError, match=rf"^{node}\.context = '{nowhere}': neither a SavedModel"):
        resolve_external_inputs(config, Layout(tmp_path / "root"))


def test_its_path_means_the_same_from_every_directory(values, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values["trainer"]["teacher"]["saved_model"] = "teacher"
    config = with_absolute_paths(from_dict(PipelineConfig, values))
    assert config.trainer.teacher.saved_model == str(tmp_path / "teacher")


@pytest.fixture
def complete(values, tmp_path):
    """A run that pushed a model, as a second one of the same root finds it."""
    layout = Layout(tmp_path / "root")
    version = push_fake(tmp_path, tmp_path / "push")
    report = tmp_path / "report.html"
    for file in (layout.database, report):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    return RunRecord(
        run_id="20260301-1",
        started=1.0,
        fingerprint="same",
        verdict=Verdict.PUSHED,
        version=version.number,
        push_dir=str(tmp_path / "push"),
        report=str(report),
    )


def found(values, tmp_path, record):
    layout = Layout(tmp_path / "root")
    begin_record(layout, record)
    return find_up_to_date_run(layout, from_dict(PipelineConfig, values), "same")


def test_a_complete_run_of_the_same_inputs_is_up_to_date(values, tmp_path, complete):
    assert found(values, tmp_path, complete) == complete


@pytest.mark.parametrize(
    "change",
    [{"fingerprint": "other"}, {"verdict": Verdict.FAILED}, {"version": 7}, {"stale": True}],
)
def test_another_run_is_not(values, tmp_path, complete, change):
    assert found(values, tmp_path, replace(complete, **change)) is None


@pytest.mark.parametrize("gone", ["report.html", "push/1", "root/metadata.db"])
def test_a_run_whose_outputs_are_gone_is_not(values, tmp_path, complete, gone):
    path = tmp_path / gone
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert found(values, tmp_path, complete) is None
