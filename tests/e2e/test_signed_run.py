"""Runs that sign, demand signatures, and send their lineage to a server that never answers."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from key_pairs import KeyPair
from openlineage_schema import check_event
from yt8m_runs import QUICK, Place, generate, yt8m

from yt8m.components.artifacts.version_record import CARD_FILE, SIGNATURE_FILE, STATEMENT_FILE

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.needs("model_signing")]


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> KeyPair:
    return KeyPair(tmp_path_factory.mktemp("keys"), "ours")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, keys: KeyPair) -> Iterator[Place]:
    """A root with one run, which pushed."""
    folder = tmp_path_factory.mktemp("signed")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        settings = (
            *QUICK,
            "infra_check.enabled=true",
            f"registry.signing_key={keys.secret}",
            f"registry.trusted_key={keys.public}",
            "registry.require_signature=true",
            f"openlineage.file={folder / 'events.jsonl'}",
            f"openlineage.url=http://127.0.0.1:{silent.getsockname()[1]}/lineage",
            "openlineage.timeout_s=1",
        )
        data = generate(folder / "data")
        place = Place(data, folder / "root", folder / "push", settings=settings)
        done = place.run()
        assert done.returncode == 0, done.stderr
        yield place


def test_other_programs_verify_the_pushed_version_and_read_its_card(
    place: Place, keys: KeyPair
) -> None:
    version = place.push / "1"
    words = ["verify", "key", "--public_key", keys.public, "--signature", version / SIGNATURE_FILE]
    subprocess.run([sys.executable, "-m", "model_signing", *words, version], check=True)
    verified = yt8m("models", "verify", "--push", str(place.push), "--key", str(keys.public))
    assert verified.stdout.startswith("version 1: verified, signed"), verified.stdout

    card = (version / CARD_FILE).read_text()
    assert "\n## Serving\n" in card
    assert "\n### Gate\n" in card
    provenance = json.loads((version / STATEMENT_FILE).read_text())["predicate"]
    record = json.loads((version / "assets.extra" / "yt8m_record.json").read_text())
    (data,) = provenance["buildDefinition"]["resolvedDependencies"]
    assert data["digest"]["yt8mManifest"] == record["data"]["manifest_digest"]
    decision, infra_check = (p["annotations"] for p in provenance["runDetails"]["byproducts"])
    assert decision["metrics"]["gap"]["lower"] < decision["metrics"]["gap"]["upper"]
    assert infra_check["blessed"]


def test_events_tell_what_each_step_read_of_what_steps_before_it_wrote(place: Place) -> None:
    file = place.root.parent / "events.jsonl"
    events: list[dict[str, Any]] = [json.loads(line) for line in file.open()]
    first, *of_steps, last = events

    assert [check_event(event) >= 2 for event in events] == [True] * len(events)
    assert (first["eventType"], last["eventType"]) == ("START", "COMPLETE")
    assert first["run"]["runId"] == last["run"]["runId"]
    names = [event["job"]["name"].partition(".")[2] for event in of_steps]
    assert names[::2] == names[1::2]
    assert sorted(names[::2]) == sorted(place.states())
    written: set[str] = set()
    read: dict[str, set[str]] = {}
    for name, event in zip(names, of_steps, strict=True):
        read.setdefault(name, set()).update(one["name"] for one in event["inputs"])
        assert read[name] <= written
        written |= {one["name"] for one in event["outputs"]}
    assert len(read["Trainer"]) >= 2
    assert len(read["Report"]) >= 5


def test_an_address_that_never_answers_is_one_warning_of_a_run_that_pushed(place: Place) -> None:
    (record,) = place.records()
    log = (place.root / "logs" / record["run_id"] / "runner.log").read_text()

    assert record["verdict"] == "pushed"
    assert log.count("OpenLineage events did not reach http://127.0.0.1:") == 1


def test_a_run_takes_no_baseline_that_another_key_has_signed(place: Place, tmp_path: Path) -> None:
    KeyPair(tmp_path, "other").sign(place.push / "1")
    done = place.run("--set=trainer.max_steps=31")

    assert done.returncode == 2, done.stderr
    assert f"version 1 at {place.push}/1 is not trusted: its signature is not valid" in done.stdout
    assert place.versions() == [1]
