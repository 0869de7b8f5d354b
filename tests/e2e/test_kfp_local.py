"""The compiled pipeline in kfp's own local DockerRunner, the newest there is: opt-in.

YT8M_KFP_PYTHON names the Python of an environment with the newest kfp and docker, which do not fit
beside TFX 1.16. With that alone kfp does all that it does, but for starting containers; with
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

pytestmark = [pytest.mark.e2e, pytest.mark.real]
SCRIPT = Path(__file__).parents[1] / "testbed" / "kubeflow" / "kfp_local_run.py"
CLASSES = 20


@pytest.fixture
def kfp_python() -> str:
    python = os.environ.get("YT8M_KFP_PYTHON", "")
    if not python:
        pytest.skip("no environment with the newest kfp; name its Python with YT8M_KFP_PYTHON")
    return python


@pytest.fixture(params=["processes", "containers"])
def how(request: pytest.FixtureRequest) -> tuple[str, list[str]]:
    """The image, and what the script is told beside."""
    if request.param == "processes":
        return "registry/yt8m:1", ["--processes", sys.executable]
    image = os.environ.get("YT8M_IMAGE", "")
    if not image or shutil.which("docker") is None:
        pytest.skip("no Docker, or no image for it; build one and name it with YT8M_IMAGE")
    return image, []


def test_kfps_own_runner_takes_the_pipeline_from_records_to_a_pushed_model(
    kfp_python: str, how: tuple[str, list[str]], tmp_path: Path
) -> None:
    image, told = how
    data = make_dataset(tmp_path / "data", train=600, eval=200, classes=CLASSES)
    push_dir, spec = tmp_path / "push", tmp_path / "pipeline.yaml"
    push_dir.mkdir()
    compiled = ["kubeflow", "compile", "smoke", "--image", image, "--root", "s3://bucket/yt8m"]
    settings = (f"features.num_classes={CLASSES}", "trainer.max_steps=40", "trainer.batch_size=64")
    for setting in settings:
        compiled += ["--set", setting]
    assert run([*compiled, "--out", str(spec), "--quiet"]) == 0
    command = [kfp_python, str(SCRIPT), str(spec), str(tmp_path / "root"), *told]
    for mounted in (data, push_dir):
        command += ["--mount", str(mounted)]
    for parameter in (f"data_root={data}", f"push_dir={push_dir}", "gap_threshold=0.05"):
        command += ["--param", parameter]
    done = subprocess.run(command, capture_output=True, text=True, timeout=800, check=False)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-4000:]
    assert (push_dir / "1" / "saved_model.pb").exists()
    assert list((tmp_path / "root").rglob("report.html"))
