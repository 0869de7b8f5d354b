"""CONTRIBUTING's way to a new step, walked: its six files, and nothing else, make a step of it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml
from docs_blocks import ROOT

from yt8m.kubeflow.parameter_text import restored

OWN_FILES = {
    "__init__.py": "",
    "config.py": """
from dataclasses import dataclass

from yt8m.schemas.config_tree import ConfigNode


@dataclass(frozen=True, kw_only=True)
class NotaryConfig(ConfigNode):
    \"\"\"Who signs the model.\"\"\"

    name: str = "nobody"  # of the notary
""",
    "component.py": """
from __future__ import annotations

from typing import Annotated

from tfx.types import standard_artifacts

from yt8m.components.declaration import Input, Output, Outside, RunTime, Step
from yt8m.components.notary.config import NotaryConfig
from yt8m.components.notary.executor import Executor


class Notary(Step, executor=Executor):
    config: NotaryConfig
    seal: Annotated[str, RunTime()] = "red"
    law_digest: Annotated[str, Outside()] = ""
    model: Input[standard_artifacts.Model]
    tuner_results: Input[standard_artifacts.TunerResults] | None = None

    deed = Output(standard_artifacts.String)
""",
    "executor.py": """
from tfx.dsl.components.base import base_executor


class Executor(base_executor.BaseExecutor):
    def Do(self, input_dict, output_dict, exec_properties):
        output_dict["deed"][0].value = exec_properties["config"] + exec_properties["seal"]
""",
}
# By file: a line, and what comes before it.
INSERTIONS = {
    "pipeline/config.py": {
        "from yt8m.components.pusher.config": (
            "from yt8m.components.notary.config import NotaryConfig"
        ),
        "    report: Annotated": "    notary: NotaryConfig | None = None",
    },
    "pipeline/graph.py": {
        "from yt8m.components.pusher.component": (
            "from yt8m.components.notary.component import Notary"
        ),
        "    report = Report(": (
            "    if config.notary is not None:\n"
            "        inputs = shipped.inputs_of(Notary)\n"
            "        shipped += Subgraph([Notary(config=config.notary, **inputs)])"
        ),
    },
}


def new_step(checkout: Path) -> Path:
    """A copy of the sources with the step."""
    for layer in ("schemas", "components", "pipeline", "kubeflow", "src"):
        unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(ROOT / layer, checkout / layer, symlinks=True, ignore=unwanted)
    (checkout / "components" / "notary").mkdir()
    for name, text in OWN_FILES.items():
        (checkout / "components" / "notary" / name).write_text(text.lstrip())
    for name, insertions in INSERTIONS.items():
        file = checkout / name
        text = file.read_text()
        for line, before in insertions.items():
            assert text.count(f"\n{line}") == 1, line
            text = text.replace(f"\n{line}", f"\n{before}\n{line}")
        file.write_text(text)
    return checkout


def run(checkout: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    return subprocess.run(
        command, cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )


def test_a_step_of_six_files_is_configured_connected_and_compiled(tmp_path: Path) -> None:
    checkout = new_step(tmp_path)
    settings = ("--set", 'notary={"name": "Kim"}')
    done = run(
        checkout, sys.executable, "-m", "yt8m", "kubeflow", "compile", "smoke", *settings,
        "--image", "registry/yt8m:1", "--root", "s3://bucket/root", "--out", "out.yaml",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    spec = next(yaml.safe_load_all((checkout / "out.yaml").read_text()))
    task = spec["root"]["dag"]["tasks"]["Notary"]
    parameters = task["inputs"]["parameters"]
    assert json.loads(parameters["config"]["runtimeValue"]["constant"]) == {"name": "Kim"}
    assert len(parameters["code_version"]["runtimeValue"]["constant"]) == 16
    assert parameters["seal"] == {"componentInputParameter": "seal"}
    assert spec["root"]["inputDefinitions"]["parameters"]["seal"]["defaultValue"] == "red"
    assert task["inputs"]["artifacts"] == {
        "model": {"taskOutputArtifact": {"outputArtifactKey": "model", "producerTask": "Trainer"}}
    }
    assert task["cachingOptions"] == {"enableCache": False}
    pusher = spec["root"]["dag"]["tasks"]["Pusher"]["inputs"]["parameters"]["configuration"]
    record = json.loads(restored(pusher["runtimeValue"]["constant"]))
    assert record["notary"] == {"name": "Kim"}


def test_the_import_rules_name_a_folder_that_they_do_not_know(tmp_path: Path) -> None:
    checkout, rules = new_step(tmp_path), (ROOT / ".importlinter").read_text()
    program = str(Path(sys.executable).with_name("lint-imports"))
    for text, code in ((rules, 1), (rules.replace("| pusher |", "| pusher | notary |"), 0)):
        (checkout / ".importlinter").write_text(text)
        done = run(checkout, program, "--no-cache")
        assert done.returncode == code, done.stdout
        assert ("yt8m.components.notary" in done.stdout) is bool(code)
