"""Pipelines composed with kfp's DSL of ours and of others' steps, in kfp's own local DockerRunner.

kfp does all that it does, but for starting containers: their commands run as processes. With
YT8M_IMAGE, an image that the Docker daemon has (`make image`), it starts them too.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from records import make_dataset

from yt8m.cli.main import run

pytestmark = pytest.mark.e2e
SCRIPTS = Path(__file__).parents[1] / "testbed" / "kubeflow"
CLASSES = 20


@pytest.fixture(
    scope="module", params=["processes", pytest.param("containers", marks=pytest.mark.real)]
)
def how(request: pytest.FixtureRequest) -> tuple[str, list[str]]:
    """The image, and what the script is told beside."""
    if request.param == "processes":
        return "registry/yt8m:1", ["--processes", sys.executable]
    image = os.environ.get("YT8M_IMAGE", "")
    if not image or shutil.which("docker") is None:
        pytest.skip("no Docker, or no image for it; build one and name it with YT8M_IMAGE")
    return image, []


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("kfp") / "data"
    return make_dataset(place, train=600, eval=200, classes=CLASSES)


@pytest.fixture(scope="module")
def composed(how: tuple[str, list[str]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with `steps.yaml` and `whole.yaml`, which kfp has compiled."""
    place = tmp_path_factory.mktemp("compiled")
    words = ["kubeflow", "compile", "smoke", "--image", how[0], "--root", "s3://bucket/yt8m"]
    settings = (f"features.num_classes={CLASSES}", "trainer.max_steps=40", "trainer.batch_size=64")
    for setting in settings:
        words += ["--set", setting]
    assert run([*words, "--out", str(place / "pipeline.yaml"), "--quiet"]) == 0
    names = ("pipeline", "steps", "whole")
    python("kfp_own_pipeline.py", *(str(place / f"{name}.yaml") for name in names))
    return place


def python(script: str, *words: str) -> str:
    """What the script, one of an environment with kfp, prints."""
    command = [sys.executable, "-W", "ignore", str(SCRIPTS / script), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=800, check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-4000:]
    return done.stdout + done.stderr


def run_locally(
    spec: Path, root: Path, told: list[str], mounts: list[Path], **given: object
) -> str:
    words = [str(spec), str(root), *told]
    for mounted in mounts:
        words += ["--mount", str(mounted)]
    for name, value in given.items():
        words += ["--param", f"{name}={value}"]
    return python("kfp_local_run.py", *words)


def test_steps_of_ours_feed_a_component_of_anothers(
    how: tuple[str, list[str]], composed: Path, data: Path, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    said = run_locally(composed / "steps.yaml", root, how[1], [data], data_root=data)
    (directory,) = {split.parents[1] for split in root.rglob("FeatureStats.pb")}
    size = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
    assert size > 1000
    assert f"bytes {size}" in said


@pytest.mark.slow  # eleven steps, each a new process with TFX
def test_our_whole_pipeline_is_a_component_from_records_to_a_pushed_model(
    how: tuple[str, list[str]], composed: Path, data: Path, tmp_path: Path
) -> None:
    push_dir = tmp_path / "push"
    push_dir.mkdir()
    given = {"data_root": data, "push_dir": push_dir}
    root = tmp_path / "root"
    run_locally(composed / "whole.yaml", root, how[1], [data, push_dir], **given)
    assert (push_dir / "1" / "saved_model.pb").exists()
    assert list(root.rglob("report.html"))
