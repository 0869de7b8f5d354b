"""Secrets that are planted wherever one can be written are found in nothing that a run leaves."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from key_pairs import KeyPair
from yt8m_runs import QUICK, environment, generate, yt8m

from yt8m.components.registry.signature import signature_problems
from yt8m.pipeline.presets import preset_values

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

OF_THE_HOOK = "planted-in-the-webhook"
ENVIRONMENT = {
    "AWS_SECRET_ACCESS_KEY": "planted-aws-key",
    "AWS_SESSION_TOKEN": "planted-aws-token",
    "YT8M_METADATA_PASSWORD": "planted-mysql-password",
    "YT8M_KUBEFLOW_TOKEN": "planted-kubeflow-token",
    "YT8M_SIGNING_PASSWORD": "planted-signing-password",
    "YT8M_OPENLINEAGE_TOKEN": "planted-openlineage-token",
    "HTTPS_PROXY": "http://user:planted-proxy-password@127.0.0.1:9",
}
PLANTED = (
    OF_THE_HOOK,
    *(
        f"planted-{part}"
        for part in ("aws", "mysql", "kubeflow", "proxy", "signing", "openlineage")
    ),
)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate(tmp_path_factory.mktemp("data"))


def configuration(folder: Path) -> tuple[str, Path]:
    """A file with a hook whose arguments are a secret, and what the hook leaves."""
    told = folder / "told.json"
    code = f"import sys; open({str(told)!r}, 'w').write(sys.stdin.read())"
    file = folder / "mine.json"
    hook = {"command": [sys.executable, "-c", code, OF_THE_HOOK]}
    values = preset_values()["smoke"]
    file.write_text(json.dumps({**values, "notify": hook}))
    return str(file), told


def found_in(text: bytes, secrets: Sequence[bytes] = ()) -> list[str]:
    planted = [secret.encode() for secret in PLANTED]
    return [secret.decode("latin-1") for secret in (*planted, *secrets) if secret in text]


def secrets_of(keys: KeyPair) -> list[bytes]:
    """The private number in several forms, and each line of its file, which a password locks."""
    number = keys.private_key.private_numbers().private_value
    plain = number.to_bytes(32, "big")
    forms = [plain, plain.hex().encode(), base64.b64encode(plain), str(number).encode()]
    return [*forms, *keys.secret.read_bytes().splitlines()[1:-1]]


def command_lines() -> bytes:
    return subprocess.run(["ps", "-axww", "-o", "args"], capture_output=True, check=True).stdout


@pytest.mark.needs("model_signing")
def test_no_planted_secret_is_in_a_file_a_line_or_a_process_of_a_run(
    tmp_path: Path, data: Path
) -> None:
    file, told = configuration(tmp_path)
    root, push, events = tmp_path / "root", tmp_path / "push", tmp_path / "events.jsonl"
    keys = KeyPair(tmp_path, "locked", password=ENVIRONMENT["YT8M_SIGNING_PASSWORD"])
    secrets = secrets_of(keys)
    words = ["run", file, "--data", data, "--root", root, "--push", push]
    settings = [
        *QUICK,
        f"registry.signing_key={keys.secret}",
        f"openlineage.file={events}",
        "openlineage.url=http://127.0.0.1:9/lineage",  # nobody listens: an error of the token's
    ]
    done = threading.Event()
    seen: list[str] = []

    def watch() -> None:
        while not done.wait(0.2):
            # The hook itself is started with its arguments, for the time that it takes.
            lines = [line for line in command_lines().splitlines() if b"told.json" not in line]
            seen.extend(found_in(b"\n".join(lines), secrets))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        ended = yt8m(
            *map(str, words),
            *(f"--set={setting}" for setting in settings),
            env=environment(**ENVIRONMENT),
        )
    finally:
        done.set()
        watcher.join()
    assert ended.returncode == 0, ended.stderr
    assert json.loads(told.read_text())["verdict"] == "pushed"
    assert found_in((ended.stdout + ended.stderr).encode(), secrets) == []
    assert seen == []
    assert not signature_problems(str(push / "1"), keys.trust)
    files = [path for place in (root, push) for path in place.rglob("*") if path.is_file()]
    assert len(files) > 50  # the metadata store is one of them
    contents = {str(path): path.read_bytes() for path in (events, *files)}
    assert {
        path: found for path, text in contents.items() if (found := found_in(text, secrets))
    } == {}


def test_no_planted_secret_is_in_a_compiled_pipeline(tmp_path: Path) -> None:
    file, _ = configuration(tmp_path)
    out = tmp_path / "pipeline.yaml"
    places = ["data.root=s3://bucket/data", "pusher.push_dir=s3://bucket/push"]
    words = ["compile", file, "--out", str(out), "--image", "yt8m:1", "--root", "s3://bucket/root"]
    settings = [f"--set={place}" for place in places]
    ended = yt8m("kubeflow", *words, *settings, env=environment(**ENVIRONMENT))
    assert ended.returncode == 0, ended.stderr
    assert found_in(out.read_bytes()) == []


@pytest.mark.parametrize("option", ["--data", "--root", "--push"])
def test_a_password_in_an_address_is_refused_and_not_repeated(
    tmp_path: Path, data: Path, option: str
) -> None:
    places = {"--data": str(data), "--root": str(tmp_path / "r"), "--push": str(tmp_path / "p")}
    places[option] = f"s3://user:{OF_THE_HOOK}@bucket/path"
    ended = yt8m("run", "smoke", *(word for pair in places.items() for word in pair))
    assert ended.returncode == 2, ended.stderr
    assert "an address holds no user and password" in ended.stderr + ended.stdout
    assert found_in((ended.stdout + ended.stderr).encode()) == []
