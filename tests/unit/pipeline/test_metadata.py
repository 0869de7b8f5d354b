"""The metadata database: what is ours is used, what is not is named and left alone."""

import sqlite3
from pathlib import Path

import pytest

from yt8m.pipeline.config import MetadataConfig, MySqlConfig
from yt8m.pipeline.metadata import check_metadata, connection_config, open_store
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.errors import ConfigError, UserError


@pytest.fixture
def database(tmp_path):
    return tmp_path / "metadata.db"


@pytest.fixture
def own(database):
    from ml_metadata import MetadataStore

    store = MetadataStore(connection_config(MetadataConfig(), database))
    store.get_contexts()
    return database


def test_nothing_there_and_an_empty_file_are_fine(database):
    assert check_metadata(MetadataConfig(), database) == []
    database.touch()
    assert check_metadata(MetadataConfig(), database) == []


def test_a_database_that_mlmd_made_is_fine(own):
    assert check_metadata(MetadataConfig(), own) == []
    assert open_store(MetadataConfig(), own).get_executions() == []


def _text(path):
    path.write_text("this is a diary, not a database\n" * 20)


def _foreign(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")


@pytest.mark.parametrize(
    ("make", "said"), [(_text, "is not a SQLite database"), (_foreign, "another program")]
)
def test_what_is_not_ours_is_named_and_not_touched(database, make, said):
    make(database)
    before = database.read_bytes(), database.stat().st_mtime_ns
    (problem,) = check_metadata(MetadataConfig(), database)
    assert said in problem
    assert str(database) in problem
    assert (database.read_bytes(), database.stat().st_mtime_ns) == before


@pytest.mark.parametrize("at", [0.3, 0.6, 0.95])
def test_a_database_that_is_cut_off_is_called_damaged_and_not_touched(own, at):
    whole = own.read_bytes()
    own.write_bytes(whole[: int(len(whole) * at)])
    before = own.read_bytes()
    (problem,) = check_metadata(MetadataConfig(), own)
    assert "is damaged" in problem
    assert own.read_bytes() == before


def test_a_database_with_an_overwritten_page_is_called_damaged(own):
    content = bytearray(own.read_bytes())
    page = int.from_bytes(content[16:18], "big")
    content[page : 2 * page] = b"\xff" * page
    own.write_bytes(content)
    (problem,) = check_metadata(MetadataConfig(), own)
    assert "is damaged" in problem


@pytest.mark.parametrize("name", ["week%20", "run #1", "really?", "ü ö"])
def test_the_database_is_found_below_every_name(own, tmp_path, name):
    place = tmp_path / "odd" / name
    place.mkdir(parents=True)
    moved = own.rename(place / own.name)
    assert check_metadata(MetadataConfig(), moved) == []
    moved.write_bytes(moved.read_bytes()[:5000])
    (problem,) = check_metadata(MetadataConfig(), moved)
    assert "is damaged" in problem
    assert [path.name for path in (tmp_path / "odd").iterdir()] == [name]


def test_opening_a_store_that_no_run_made_says_so_and_makes_none(database):
    with pytest.raises(UserError, match="no run was started"):
        open_store(MetadataConfig(), database)
    assert not database.exists()


def test_a_server_that_does_not_answer_is_named_with_what_to_look_at(database, free_port):
    config = MetadataConfig(mysql=MySqlConfig(port=free_port))
    (problem,) = check_metadata(config, database)
    assert f"127.0.0.1:{free_port}" in problem
    assert "YT8M_METADATA_PASSWORD" in problem


def test_the_password_comes_from_the_environment_alone(database):
    config = MetadataConfig(mysql=MySqlConfig(password_env="SECRET"))
    connection = connection_config(config, database, {"SECRET": "x y"})
    assert connection.mysql.password == "x y"
    with pytest.raises(ConfigError, match=r"mysql\.password: unknown key"):
        from_dict(MetadataConfig, {"mysql": {"password": "x"}})


@pytest.fixture
def free_port():
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def test_a_user_without_a_home_is_told_what_a_root_in_an_object_store_needs(monkeypatch):
    def nobody(*args):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nobody)
    with pytest.raises(UserError, match="set HOME or XDG_STATE_HOME"):
        Layout("s3://bucket/root", environ={})
    assert Layout("s3://bucket/root", environ={"XDG_STATE_HOME": "/state"}).database
