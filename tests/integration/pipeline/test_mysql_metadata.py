"""Metadata on a MariaDB server, a private one that the test starts and ends."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from pathlib import Path

import pytest
from requirements import program
from tiny_pipeline import create_tiny_pipeline

from yt8m.pipeline.config import MetadataConfig, MySqlConfig
from yt8m.pipeline.metadata import MlmdLineage, check_metadata, connection_config, open_store

pytestmark = pytest.mark.needs("mariadbd")
PASSWORD = "quite secret"
DATABASE, USER = "yt8m_metadata", "yt8m"
_ADMIN_S = 60


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A MySqlConfig that leads to a running server with an empty database."""
    folder = tmp_path_factory.mktemp("mariadb")
    data, sock = folder / "data", folder / "s"
    who = [f"--user={Path.home().owner()}"] if os.geteuid() == 0 else []
    subprocess.run(
        [
            program("mariadb-install-db"),
            "--no-defaults",
            f"--datadir={data}",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            *who,
        ],
        check=True,
        capture_output=True,
        timeout=_ADMIN_S,
    )
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    command = [program("mariadbd"), "--no-defaults", f"--datadir={data}", f"--socket={sock}"]
    command += [f"--port={port}", "--bind-address=127.0.0.1", *who]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        _prepare(sock, process, folder / "log")
        yield MySqlConfig(port=port, database=DATABASE, user=USER)
    finally:
        process.terminate()
        process.wait(timeout=_ADMIN_S)


def _prepare(sock: Path, process: subprocess.Popen, log: Path) -> None:
    statements = (
        f"CREATE DATABASE {DATABASE};"
        f"CREATE USER '{USER}'@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';"
        f"GRANT ALL ON {DATABASE}.* TO '{USER}'@'127.0.0.1';"
    )
    client = [program("mariadb"), "--no-defaults", f"--socket={sock}", "--user=root"]
    deadline = time.monotonic() + _ADMIN_S
    while True:
        done = subprocess.run(client, input=statements, text=True, capture_output=True, check=False)
        if done.returncode == 0:
            return
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, done.stderr
        time.sleep(0.2)


@pytest.fixture
def password(monkeypatch):
    monkeypatch.setenv("YT8M_METADATA_PASSWORD", PASSWORD)


def test_a_pipeline_runs_and_is_cached_with_its_metadata_on_the_server(tmp_path, server, password):
    from yt8m.pipeline.run.engine import run_pipeline

    config = MetadataConfig(mysql=server)
    assert check_metadata(config, tmp_path / "unused.db") == []
    for run_id in ("one", "two"):
        pipeline = create_tiny_pipeline(tmp_path)
        pipeline.metadata_connection_config = connection_config(config, tmp_path / "unused.db")
        run_pipeline(pipeline, run_id=run_id, engine="beam", observer=Silent())
    known = MlmdLineage(open_store(config, tmp_path / "unused.db"))
    known.note("two", {"verdict": "pushed"})
    assert all(known.executions(run_id) for run_id in ("one", "two"))
    assert [e.state for e in known.executions("two")] == ["CACHED", "CACHED"]
    assert list(known.notes()) == [("two", {"verdict": "pushed"})]
    assert not (tmp_path / "unused.db").exists()


def test_a_wrong_password_is_named_before_anything_starts(tmp_path, server, monkeypatch):
    monkeypatch.setenv("YT8M_METADATA_PASSWORD", "wrong")
    (problem,) = check_metadata(MetadataConfig(mysql=server), tmp_path / "unused.db")
    # MLMD's client does not say what the server answered, so the message lists what to look at.
    assert f"{USER}@127.0.0.1:{server.port}/{DATABASE} cannot be used" in problem
    assert "YT8M_METADATA_PASSWORD" in problem
    assert "wrong" not in problem


class Silent:
    """An observer that wants to know nothing."""

    def started(self, node):
        pass

    def finished(self, node, *, execution_id, cached):
        pass

    def failed(self, node, error):
        raise error
