"""The manifest of a version, byte for byte, and what no cluster would take."""

import dataclasses
import json

import pytest
import yaml
from docs_blocks import ROOT
from registry_models import blessed_record, fake_model

from yt8m.cli.main import run as yt8m
from yt8m.components.artifacts.version_record import VersionRecord
from yt8m.components.registry.kserve import ServiceRequest, inference_service
from yt8m.components.registry.push import push
from yt8m.components.registry.versions import Version
from yt8m.schemas.errors import EXIT_USER, UserError

GOLDEN = ROOT / "tests" / "golden" / "kserve" / "inference_service.yaml"
MEASURED = {"blessed": True, "serving": {"memory_mb": 700.3}}
ASKED = ServiceRequest(
    name="videos", namespace="team", service_account="models-reader", runtime_version="2.16.1"
)


def _version(path="s3://bucket/models/7", **record):
    return Version(number=7, path=path, record=VersionRecord(version=7, run_key="r1", **record))


def test_the_manifest_is_the_golden_one():
    manifest = inference_service(_version(infra_check=MEASURED), ASKED)
    assert yaml.safe_dump(manifest, sort_keys=False) == GOLDEN.read_text()


def test_what_nobody_measured_is_not_asked_for_and_what_nobody_named_is_left_out():
    manifest = inference_service(_version(), ServiceRequest(min_replicas=0))
    predictor = manifest["spec"]["predictor"]
    assert "resources" not in predictor["model"]
    assert "runtimeVersion" not in predictor["model"]
    assert "serviceAccountName" not in predictor
    assert "namespace" not in manifest["metadata"]
    assert predictor["minReplicas"] == 0


def test_the_version_keeps_its_number_below_the_servers_base_path():
    local = _version("/srv/models/7")
    manifest = inference_service(local, ServiceRequest(storage_uri="pvc://claim/models/7/"))
    (place,) = manifest["spec"]["predictor"]["storageUris"]
    assert place == {"uri": "pvc://claim/models/7", "mountPath": "/mnt/models/7"}


@pytest.mark.parametrize(
    ("path", "asked", "said"),
    [
        ("/srv/models/7", {}, r"/srv/models/7: KServe fetches models from gs://.*--storage-uri"),
        ("gs://b/7", {"storage_uri": "minio://b/7"}, r"--storage-uri minio://b/7: KServe fetches"),
        ("gs://b/7", {"name": "My_Model"}, r"--name My_Model: at most 63 lower-case"),
        ("gs://b/7", {"namespace": "-team"}, r"--namespace -team: at most 63 lower-case"),
        ("gs://b/7", {"runtime_version": "a b"}, r"--serving-version a b: must be an image's tag"),
    ],
)
def test_what_no_cluster_would_take_is_refused(path, asked, said):
    with pytest.raises(UserError, match=said):
        inference_service(_version(path), ServiceRequest(**asked))


def test_the_command_prints_it_or_writes_it(tmp_path, capsys):
    record = dataclasses.replace(blessed_record(), infra_check=MEASURED)
    push(fake_model(tmp_path / "model"), str(tmp_path / "models"), record)
    words = ["models", "manifest", "1", "--push", str(tmp_path / "models")]
    assert yt8m(words) == EXIT_USER
    assert "name the version's directory there with --storage-uri" in capsys.readouterr().err

    words += ["--storage-uri", "gs://bucket/models/1"]
    assert yt8m(words) == 0
    printed = yaml.safe_load(capsys.readouterr().out)
    memory = printed["spec"]["predictor"]["model"]["resources"]["limits"]["memory"]
    assert memory == "1051M"  # half as much again as was measured
    assert yt8m([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == printed
    out = tmp_path / "service.yaml"
    assert yt8m([*words, "--out", str(out)]) == 0
    assert yaml.safe_load(out.read_text()) == printed
    with pytest.raises(SystemExit) as end:
        yt8m([*words, "--min-replicas", "-1"])
    assert end.value.code == EXIT_USER
    assert "--min-replicas: -1: must be a whole number, 0 or more" in capsys.readouterr().err
