"""Models are written to new and empty directories, and over exports; nothing else is replaced."""

import pytest

from yt8m.components import storage
from yt8m.components.artifacts.version_record import RECORD_FILE
from yt8m.components.export.target import check_target
from yt8m.schemas.errors import UserError

EXPORTED = {
    "assets/vocabulary.txt",
    "assets.extra/tf_serving_warmup_requests",
    "assets.extra/yt8m_export.json",
    "batching_params.pbtxt",
    "fingerprint.pb",
    "variables/variables.index",
}


@pytest.fixture
def place(tmp_path):
    (tmp_path / "empty").mkdir()
    for name in ("export/saved_model.pb", "registry/1/saved_model.pb", f"registry/1/{RECORD_FILE}"):
        storage.write_text(str(tmp_path / name), "")
    for name in ("file", "notes/b", "notes/a", "notes/c", "notes/d"):
        storage.write_text(str(tmp_path / name), "precious")
    return tmp_path


@pytest.mark.parametrize("name", ["new", "new/2", "empty", "export"])
def test_new_and_empty_directories_and_exports_are_taken(place, name):
    check_target(str(place / name), models=[str(place / "registry" / "1")])


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("file", "is a file"),
        ("notes", r"holds other files \(a, b, c, ...\)"),
        ("registry", r"holds other files \(1\)"),
        ("registry/1", "is a version of a registry"),
        ("registry/2", "is a version of a registry"),
    ],
)
def test_what_is_no_export_is_named(place, name, why):
    with pytest.raises(UserError, match=f"{place / name}: {why}; write to a new directory"):
        check_target(str(place / name))


@pytest.mark.parametrize("name", ["export", "export/", "export/below", "link", "link/below"])
def test_the_model_that_is_read_is_not_written_to_by_any_name(place, name):
    (place / "link").symlink_to("export")
    with pytest.raises(UserError, match=f"belongs to the model {place}/export"):
        check_target(f"{place}/{name}", models=[f"{place}/new", f"{place}/export"])


@pytest.mark.parametrize("name", ["notes.txt", "assets.extra/requests", "sub/data.csv"])
def test_an_export_with_a_file_of_somebodys_own_is_not_replaced(place, name):
    storage.write_text(str(place / "export" / name), "precious")
    with pytest.raises(UserError, match=rf"export: holds other files \({name}\)"):
        check_target(str(place / "export"))


@pytest.mark.parametrize("name", sorted(EXPORTED))
def test_every_file_of_an_export_may_be_replaced(place, name):
    storage.write_text(str(place / "export" / name), "")
    check_target(str(place / "export"))


@pytest.mark.parametrize("directory", ["empty", "export", "export/assets.extra"])
@pytest.mark.parametrize("name", [".DS_Store", "Thumbs.db", "desktop.ini"])
def test_files_of_file_managers_are_nobodys(place, directory, name):
    storage.write_text(str(place / directory / name), "")
    check_target(str(place / directory.partition("/")[0]))


def test_a_path_that_depends_on_the_working_directory_means_the_same(place, monkeypatch):
    monkeypatch.chdir(place)
    with pytest.raises(UserError, match="belongs to the model export"):
        check_target(str(place / "export" / "below"), models=["export"])


def test_addresses_are_compared_name_by_name():
    assert storage.is_within("s3://b/model/", "s3://b/model")
    assert storage.is_within("s3://b/model/1", "s3://b/model/")
    assert not storage.is_within("s3://b/model2", "s3://b/model")
    assert storage.is_same("s3://b/a/", "s3://b/a")
    assert not storage.is_same("s3://b/a", "/b/a")
