"""A teacher is in the keys of a run by its content; one that is not there is found at once."""

import pytest
from records import make_dataset
from registry_models import fake_model

from yt8m.pipeline.cache_keys import fingerprint, resolve_external_inputs
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.run.preflight import preflight
from yt8m.pipeline.run.runner import with_absolute_paths
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


def test_its_path_means_the_same_from_every_directory(values, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values["trainer"]["teacher"]["saved_model"] = "teacher"
    config = with_absolute_paths(from_dict(PipelineConfig, values))
    assert config.trainer.teacher.saved_model == str(tmp_path / "teacher")
