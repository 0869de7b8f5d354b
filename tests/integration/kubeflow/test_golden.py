"""What is compiled today is what was reviewed; and compiling needs neither network nor patience."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from golden_specs import CASES, GOLDEN, compile_case
from yt8m_runs import yt8m

from yt8m.cli.main import run
from yt8m.kubeflow.spec.workflow_size import status_bytes
from yt8m.pipeline.presets import list_presets

_OFFLINE = """
import socket, sys
def refuse(self, address, *rest):
    raise OSError(f"no network in this test: {address}")
socket.socket.connect = socket.socket.connect_ex = refuse
socket.getaddrinfo = refuse
from yt8m.cli.main import main
main(sys.argv[1:])
"""


@pytest.mark.parametrize("name", CASES)
def test_the_compiled_spec_is_the_reviewed_one(name):
    expected = (GOLDEN / name).read_text()
    assert compile_case(name) == expected, "if this is meant: `make golden`, and review the diff"


def test_compiling_needs_no_network_and_gives_the_same_twice(tmp_path):
    words = ["kubeflow", "compile", "smoke", "--image", "i:1", "--root", "s3://b/r", "--out"]
    once, again = tmp_path / "a.yaml", tmp_path / "b.yaml"
    command = [sys.executable, "-c", _OFFLINE, *words, str(once)]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    assert yt8m(*words, again).returncode == 0
    assert once.read_bytes() == again.read_bytes()


# With one claim, as the recorded run of smoke, whose size this arithmetic predicts: see
# `test_whole_record.py`. Argo keeps 1 MiB, and a run with retries has more nodes.
@pytest.mark.parametrize("preset", [preset.name for preset in list_presets()])
def test_a_run_of_every_preset_has_less_than_600_kb_of_status(preset, tmp_path):
    platform, out = tmp_path / "cluster.yaml", tmp_path / "pipeline.yaml"
    platform.write_text("kubeflow: {work_dir: /v/work, volumes: [{claim: yt8m, path: /v}]}\n")
    words = ["kubeflow", "compile", preset, "--image", "registry.example.org/team/yt8m:1"]
    words += ["--root", "s3://bucket/yt8m", "--platform", str(platform), "--out", str(out)]
    assert run([*words, "--quiet"]) == 0
    spec, pods = yaml.safe_load_all(out.read_text())
    assert status_bytes(spec, pods) < 600_000


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--root", "/mnt/x"], "defaultPipelineRoot"),
        (["--root", "s3://b/r", "--image", ""], "--image"),
        (["--root", "s3://b/r", "--set", "name=Not_Legal!"], "illegal"),
        (["--root", "s3://b/r", "--set", "trainer.max_step=1"], "did you mean max_steps"),
        (["--root", "s3://b/r", "--set", "gate.gap_threshold=null"], "gate.mode: none"),
        (["--root", "s3://b/r", "--set", "data.root=/home/kim/data"], "on no volume that pods"),
    ],
)
def test_what_cannot_run_is_refused_with_a_reason_and_nothing_is_written(
    words, says, tmp_path, capsys
):
    out = tmp_path / "pipeline.yaml"
    base = ["kubeflow", "compile", "smoke", "--out", str(out), "--image", "i:1"]
    assert run([*base, *words]) == 2
    assert says in capsys.readouterr().err
    assert not out.exists()


def test_the_reviewed_specs_say_what_runs_need():
    documents = list(yaml.safe_load_all((GOLDEN / "frame_dbof.yaml").read_text()))
    spec, platform = documents
    assert spec["schemaVersion"] == "2.1.0"
    assert spec["defaultPipelineRoot"] == "s3://bucket/yt8m"
    tasks = spec["root"]["dag"]["tasks"]
    uncached = {n for n, t in tasks.items() if not t["cachingOptions"]["enableCache"]}
    assert uncached == {"ExampleGen", "Baseline", "Evaluator"}
    executors = platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"]
    assert executors["Trainer_executor"]["nodeSelector"] == {"labels": {"pool": "gpu"}}
    asking = [
        label
        for label, executor in spec["deploymentSpec"]["executors"].items()
        if "YT8M_TRAINER_BACKEND" in {v["name"] for v in executor["container"].get("env", [])}
    ]
    assert len(asking) == 1  # the first task tries out the training job
    assert Path(GOLDEN / "smoke.yaml").read_text().count("\n---\n") == 0


def test_one_document_on_request_is_the_same_pipeline_without_what_pods_mount(tmp_path, capsys):
    """Vertex AI's client reads one YAML document, and stops at a second."""
    platform, out = tmp_path / "cluster.yaml", tmp_path / "pipeline.yaml"
    platform.write_text("kubeflow: {volumes: [{claim: c, path: /mnt}], environment: {A: b}}")
    words = ["kubeflow", "compile", "smoke", "--image", "i:1", "--root", "gs://b/r"]
    words += ["--platform", str(platform), "--out", str(out)]
    assert run(words) == 0
    (pipeline, _) = yaml.safe_load_all(out.read_text())
    assert run([*words, "--one-document"]) == 0
    assert "the file omits pvcMount" in capsys.readouterr().err
    assert yaml.safe_load(out.read_text()) == pipeline


def test_the_configuration_is_not_overwritten(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "pipeline.yaml"  # the default of --out
    file.write_text("base: smoke\n")
    words = ["kubeflow", "compile", "pipeline.yaml", "--image", "i:1", "--root", "s3://b/r"]
    assert run(words) == 2
    assert "--out pipeline.yaml: the command reads this file" in capsys.readouterr().err
    assert file.read_text() == "base: smoke\n"
