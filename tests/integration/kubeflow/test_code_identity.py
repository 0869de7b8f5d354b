"""Code of the user's own that lies in the image alone: whoever compiled the pipeline had none."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from yt8m.components.declaration import Step
from yt8m.kubeflow.config import PlatformConfig
from yt8m.kubeflow.container.code_identity import CONFIGS, identify_code
from yt8m.kubeflow.container.task_cache import find_cached_result
from yt8m.kubeflow.parameter_text import restored_all
from yt8m.kubeflow.spec.compile import Target, compile_config
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.graph import create_pipeline  # every step is declared then  # noqa: F401
from yt8m.schemas.config_tree import ConfigNode, from_dict
from yt8m.schemas.roles import OwnCode, declared_with

# One file a part; `helper` is what each of them imports.
PARTS = {
    "own_transform": "import own_transform_helper\n\ndef vectors(features):\n    return 1.5\n",
    "own_network": (
        "import own_loss\nimport own_network_helper\n\nclass Net:\n    def __init__(self):\n"
        "        self.width = 128\n"
    ),
    "own_loss": "import own_loss_helper\n\ndef own_loss(p, q):\n    return 1.5 * p - q\n",
    "own_searched": "import own_searched_helper\n\nclass Net:\n    width = 128\n",
    "own_metric": "import own_metric_helper\n\ndef recall(rows):\n    return rows > 15\n",
    "own_filter": "import own_filter_helper\n\ndef keep(record):\n    return len(record) > 15\n",
}
HELPER = "LIMIT = 15\n\ndef clip(x):\n    return x if x < LIMIT else 15\n"
# One line of a part is another one.
MUTATIONS = {
    "a number": ("{part}", "1", "2"),
    "a comment": ("{part}", "\n\n", "\n# told apart by text\n"),
    "a constant of a file that it imports": ("{part}_helper", "LIMIT = 15", "LIMIT = 16"),
    "an operator of a file that it imports": ("{part}_helper", "x < LIMIT", "x <= LIMIT"),
}
DEPENDANTS = {
    "own_transform": {"Transform", "Tuner", "Trainer"},
    "own_network": {"Tuner", "Trainer"},
    "own_loss": {"Tuner", "Trainer"},
    "own_searched": {"Tuner", "Trainer"},
    "own_metric": {"Evaluator"},
    "own_filter": {"ExampleGen"},
}
CONFIG = {
    "data": {"ingest": "rewrite", "rewrite": {"keep": "own_filter.keep"}},
    "transform": {"function": "own_transform.vectors"},
    "trainer": {"network": "own_network.Net"},
    "tuner": {
        "space": {"trainer.network": {"choice": ["own_network.Net", "own_searched.Net"]}},
    },
    "evaluator": {"metrics": ["own_metric.recall"]},
    "gate": {"gap_threshold": 0.5},
}


@pytest.fixture(scope="module")
def tasks() -> dict[str, tuple[str, dict[str, Any]]]:
    """Executor and parameters by task, compiled where there is no code of the user's own."""
    target = Target(image="here", root="s3://bucket/root", platform=PlatformConfig())
    spec = compile_config(from_dict(PipelineConfig, CONFIG), target).pipeline
    defaults = spec["root"]["inputDefinitions"]["parameters"]
    found = {}
    for name, task in spec["root"]["dag"]["tasks"].items():
        arguments = spec["deploymentSpec"]["executors"][f"{name}_executor"]["container"]["args"]
        found[name] = (
            arguments[arguments.index("--executor") + 1],
            restored_all(
                {
                    key: value["runtimeValue"]["constant"]
                    if "runtimeValue" in value
                    else defaults[value["componentInputParameter"]]["defaultValue"]
                    for key, value in task["inputs"]["parameters"].items()
                }
            ),
        )
    return found


@pytest.fixture
def image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of the image in which Python finds the user's own code."""
    folder = tmp_path / "image"
    folder.mkdir()
    for part, text in PARTS.items():
        (folder / f"{part}.py").write_text(text)
        (folder / f"{part}_helper.py").write_text(HELPER)
    monkeypatch.syspath_prepend(str(folder))
    importlib.invalidate_caches()
    return folder


def identities(tasks: dict[str, tuple[str, dict[str, Any]]], work_dir: Path) -> dict[str, str]:
    """What each task is known by: the place of its result, or of a task without one its code."""
    found = {}
    for name, (executor, parameters) in tasks.items():
        executor_input = {
            "inputs": {"parameterValues": dict(parameters)},
            "outputs": {"outputFile": "/nowhere/out"},
        }
        identify_code(executor, executor_input)
        result = find_cached_result(executor, executor_input, {"YT8M_WORK_DIR": str(work_dir)})
        values = executor_input["inputs"]["parameterValues"]
        found[name] = str(result._directory) if result else values.get("code_version", "")
    return found


@pytest.mark.parametrize("mutation", MUTATIONS)
@pytest.mark.parametrize("part", PARTS)
def test_another_line_in_the_image_is_another_task_for_exactly_what_depends_on_it(
    part: str, mutation: str, tasks: Any, image: Path, tmp_path: Path
) -> None:
    before = identities(tasks, tmp_path)
    assert before == identities(tasks, tmp_path)
    name, old, new = MUTATIONS[mutation]
    file = image / f"{name.format(part=part)}.py"
    text = file.read_text()
    file.write_text(text.replace(old, new, 1))
    assert file.read_text() != text
    after = identities(tasks, tmp_path)
    assert {name for name in tasks if before[name] != after[name]} == DEPENDANTS[part]


def test_code_of_the_compiling_machine_counts_for_no_task(
    tasks: Any, image: Path, tmp_path: Path
) -> None:
    def other(text: str) -> str:
        values = json.loads(text)
        return json.dumps({**values, "code_version": "of another checkout"})

    compiled_elsewhere = {
        name: (
            executor,
            {
                key: "of another checkout"
                if key == "code_version"
                else other(value)
                if key == "custom_config"
                else value
                for key, value in parameters.items()
            },
        )
        for name, (executor, parameters) in tasks.items()
    }
    assert identities(compiled_elsewhere, tmp_path) == identities(tasks, tmp_path)


def test_every_step_that_names_code_of_the_users_own_is_known_by_it() -> None:
    named = {
        f"{step.EXECUTOR_SPEC.executor_class.__module__}.Executor": (name, kind)
        for step in Step.__subclasses__()
        if step.__module__.startswith("yt8m.")
        for name, kind in step.PARAMETERS.items()
        if isinstance(kind, type)
        and issubclass(kind, ConfigNode)
        and [*declared_with(kind, OwnCode)]
    }
    assert named == {executor: ("config", kind) for executor, kind in CONFIGS.items()}
