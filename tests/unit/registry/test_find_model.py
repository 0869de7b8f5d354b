"""`--model` may be a SavedModel, a TFX artifact with one, or a registry."""

import pytest
from registry_models import fake_model, push_fake

from yt8m.components.registry.find_model import find_model
from yt8m.components.registry.versions import DamagedVersionError


def test_a_model_and_an_artifact_with_one_are_taken_as_they_are(tmp_path):
    model = fake_model(tmp_path / "artifact" / "Format-Serving")
    assert find_model(model) == model
    assert find_model(str(tmp_path / "artifact")) == model


def test_of_a_registry_the_version_in_service_is_taken(tmp_path):
    push_dir = tmp_path / "push"
    for _ in range(3):
        version = push_fake(tmp_path, push_dir)
    assert find_model(str(push_dir)) == version.path
    foreign = fake_model(push_dir / "7")
    assert find_model(str(push_dir)) == foreign


def test_a_damaged_version_in_service_is_not_passed_over(tmp_path):
    push_dir = tmp_path / "push"
    push_fake(tmp_path, push_dir)
    version = push_fake(tmp_path, push_dir)
    (tmp_path / "push" / str(version.number) / "saved_model.pb").write_bytes(b"cut")
    with pytest.raises(DamagedVersionError, match=rf"version {version.number} in .*saved_model"):
        find_model(str(push_dir))


def test_what_is_neither_is_left_to_whoever_loads_it(tmp_path):
    assert find_model(str(tmp_path)) == str(tmp_path)
    assert find_model(str(tmp_path / "none")) == str(tmp_path / "none")
