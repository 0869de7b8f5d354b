"""The compiled pipeline through Kubeflow's own driver and launcher, given as programs.

KFP_DRIVER and KFP_LAUNCHER name them: `make test-kubeflow`. See CONTRIBUTING.
"""

import os
from pathlib import Path

import boto3
import pytest
from kfp_programs import CLAIM, CLASSES, NAMES, Walk, compile_smoke, kubeflow_services
from kube_control_plane import control_plane
from ml_metadata.metadata_store import MetadataStore
from ml_metadata.proto import metadata_store_pb2 as mlmd
from records import make_dataset

pytestmark = [
    pytest.mark.real,
    pytest.mark.timeout(1800),
    pytest.mark.needs("control plane", "ip", "network namespaces", "root"),
]
DRAWN = {
    "ClassificationMetrics": {"ui_roc_curve"},
    "HTML": {"ui_report"},
    "Markdown": {"ui_verdict", "ui_outcome"},
    "Metrics": {"ui_metrics"},
}


def _program(variable):
    given = os.environ.get(variable, "")
    if not given:
        pytest.skip(
            f"{variable} names no program: make test-kubeflow KFP_DRIVER=... KFP_LAUNCHER=..."
        )
    return Path(given).resolve(strict=True)


def _metadata(directory):
    config = mlmd.ConnectionConfig()
    config.sqlite.filename_uri = str(directory / "mlmd.db")
    return MetadataStore(config)


def _states(store):
    """Of every execution in the metadata store, by the name of its task."""
    states = mlmd.Execution.State
    return {
        found.custom_properties["task_name"].string_value or "root": states.Name(
            found.last_known_state
        )
        for found in store.get_executions()
    }


def _check_drawn(store):
    """Kubeflow's interface finds its four types, with what it reads of each, as it reads it."""
    kinds = {title: store.get_artifacts_by_type(f"system.{title}") for title in DRAWN}
    for title, artifacts in kinds.items():
        names = [a.custom_properties["display_name"].string_value for a in artifacts]
        assert sorted(names) == sorted(DRAWN[title])
    curve = kinds["ClassificationMetrics"][0].custom_properties["confidenceMetrics"].struct_value
    points = curve["list"]
    assert len(points) > 1
    for point in points:
        assert set(point) == {"confidenceThreshold", "falsePositiveRate", "recall"}
        assert all(0 <= value <= 1 for value in point.values())
    assert kinds["Metrics"][0].custom_properties["gap"].double_value > 0
    for page in [*kinds["HTML"], *kinds["Markdown"]]:  # one file, at the artifact's address itself
        bucket, _, key = page.uri.removeprefix("s3://").partition("/")
        assert boto3.client("s3").get_object(Bucket=bucket, Key=key)["ContentLength"] > 0


def test_two_runs_push_a_model_and_find_it_up_to_date(tmp_path):
    driver, launcher = _program("KFP_DRIVER"), _program("KFP_LAUNCHER")
    volume, services = tmp_path / "volume", tmp_path / "services"
    make_dataset(volume / "data", train=600, eval=200, classes=CLASSES)
    services.mkdir()
    file = compile_smoke(volume)
    place = tmp_path / "cluster"
    with (
        control_plane(place, claims={CLAIM: volume}, names=NAMES) as cluster,
        kubeflow_services(cluster, services),
    ):
        first, second = (Walk(cluster, driver, launcher, volume, f"run-{n}") for n in (1, 2))
        first.run(file, {})
        store = _metadata(services)
        states = _states(store)
        assert set(states.values()) - {states["root"]} == {"COMPLETE"}
        _check_drawn(store)
        assert (volume / "models/1/saved_model.pb").exists()
        second.run(file, {})
    assert [p.name for p in (volume / "models").iterdir() if p.name.isdigit()] == ["1"]
    assert "done before with the same inputs" in second.logs["Trainer"]
