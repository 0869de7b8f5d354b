"""How to log in: precedence, and secrets that never show."""

import os
import pwd

import pytest

from yt8m.kubeflow.server.connection import Connection, Secret, load_connection
from yt8m.schemas.errors import ConfigError, UserError

HOST = {"host": "http://localhost:8080/"}


def test_flags_beat_environment_beats_file(tmp_path):
    file = tmp_path / "kubeflow.yaml"
    file.write_text("host: http://file\nnamespace: file\nexperiment: file\n")
    environ = {"YT8M_KUBEFLOW_HOST": "http://environment", "YT8M_KUBEFLOW_NAMESPACE": "environment"}
    connection = load_connection({"host": "http://flag"}, environ, str(file))
    assert (connection.host, connection.namespace, connection.experiment) == (
        "http://flag",
        "environment",
        "file",
    )


def test_a_token_by_flag_replaces_a_token_file_of_the_environment():
    connection = load_connection(
        {**HOST, "token": "abc"}, {"YT8M_KUBEFLOW_TOKEN_FILE": "/nowhere"}, ""
    )
    assert connection.bearer().read() == "abc"


def test_a_token_file_is_read_at_every_use_because_tokens_are_renewed(tmp_path):
    file = tmp_path / "token"
    file.write_text("first\n")
    token = load_connection({**HOST, "token_file": str(file)}, {}).bearer()
    assert token.read() == "first"
    file.write_text("second\n")
    assert token.read() == "second"


def test_a_missing_or_empty_token_file_is_named(tmp_path):
    file = tmp_path / "token"
    token = load_connection({**HOST, "token_file": str(file)}, {}).bearer()
    with pytest.raises(UserError, match=str(file)):
        token.read()
    file.write_text("\n")
    with pytest.raises(UserError, match="empty"):
        token.read()


def test_the_service_accounts_token_is_where_kubeflow_mounts_it():
    with pytest.raises(UserError, match="/var/run/secrets/kubeflow/pipelines/token"):
        load_connection({**HOST, "service_account": True}, {}).bearer().read()


@pytest.mark.parametrize("show", [repr, str, "{}".format])
def test_no_secret_is_ever_printed(show):
    assert "s3cret" not in show(Secret("s3cret"))
    assert "s3cret" not in show(Connection(host="http://h", token="s3cret", cookie="s3cret"))


def test_a_wrong_file_is_refused_without_showing_its_secrets(tmp_path):
    file = tmp_path / "kubeflow.yaml"
    for text in ("token: s3cret\nhosts: x\n", "token: [s3cret\n", "token: 5550123\nhots: h\n"):
        file.write_text(text)
        with pytest.raises((ConfigError, UserError)) as error:
            load_connection(HOST, {}, str(file))
        assert "s3cret" not in str(error.value)
        assert "5550123" not in str(error.value)


def test_no_host_and_a_host_without_scheme_say_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(UserError, match="--host http://localhost:8080"):
        load_connection({}, {}, "")
    with pytest.raises(UserError, match=r"kubeflow\.example\.org: no URL .* http://localhost:8080"):
        load_connection({"host": "kubeflow.example.org"}, {}, "")


@pytest.mark.parametrize("where", ["flag", "environment"])
def test_the_address_for_links_is_checked_as_well(where):
    url = "localhost:8080"
    flags = {**HOST, "ui_host": url} if where == "flag" else HOST
    environ = {} if where == "flag" else {"YT8M_KUBEFLOW_UI_HOST": url}
    with pytest.raises(UserError, match=r"--ui-host localhost:8080: no URL .*write it like"):
        load_connection(flags, environ)


def test_a_file_that_was_named_must_exist():
    with pytest.raises(UserError, match="does not exist"):
        load_connection(HOST, {}, "/nowhere/kubeflow.yaml")


@pytest.mark.parametrize(
    ("given", "environ", "owner"),
    [
        ({"owner": "nightly  job"}, {"USER": "anna"}, "nightly job"),
        ({}, {"YT8M_KUBEFLOW_OWNER": "ci", "USER": "anna"}, "ci"),
        ({}, {"LOGNAME": "anna", "USER": "bert"}, "anna"),
        ({}, {"USER": "bert"}, "bert"),
        ({}, {}, pwd.getpwuid(os.getuid()).pw_name),
    ],
)
def test_the_owner_is_who_is_named_or_the_login(given, environ, owner):
    assert load_connection({**HOST, **given}, environ).owner == owner


def test_a_user_without_a_name_is_known_by_its_number(monkeypatch):
    monkeypatch.setattr("os.getuid", lambda: 987654)
    assert load_connection(HOST, {}).owner == "user 987654"


@pytest.mark.parametrize(
    "text", [b"s3cret\nof two lines", b"s3cret \xe2\x86\x92", b"s3cret\xff", b"s3cret\x00"]
)
def test_what_cannot_be_a_header_is_refused_without_being_shown(tmp_path, text):
    """The library that sends it would quote it."""
    file = tmp_path / "token"
    file.write_bytes(text)
    secrets = [Secret(file=str(file), what="token")]
    if text.isascii():
        secrets.append(Secret(text.decode(), what="token"))
    for secret in secrets:
        with pytest.raises(UserError, match="must be one line of printable ASCII") as error:
            secret.read()
        assert "s3cret" not in str(error.value)


def test_the_line_end_of_a_given_token_is_none_of_it():
    """`token: |` in YAML has one."""
    assert Secret("s3cret\n").read() == "s3cret"


def test_a_connection_file_that_cannot_be_read_and_a_missing_ca_file_are_named(tmp_path):
    file = tmp_path / "kubeflow.yaml"
    file.write_bytes(b"host: http://h\xff")
    with pytest.raises(UserError, match=r"kubeflow\.yaml is not YAML"):
        load_connection(HOST, {}, str(file))
    with pytest.raises(UserError, match="Is a directory"):
        load_connection(HOST, {}, str(tmp_path))
    with pytest.raises(UserError, match=r"--ca-file /nowhere/ca\.pem"):
        load_connection({**HOST, "ca_file": "/nowhere/ca.pem"}, {})
