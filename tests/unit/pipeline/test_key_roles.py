"""Every key of the configuration does what its role says, and nothing else.

Each key has another value in turn (`tests/support/config_keys.py`); the keys of a run, of a
training, of a task on Kubeflow and the agreement between processes then tell whether it counts.
"""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Annotated, Any

import pytest
from config_keys import FIXED, KEYS, Key, beside, pair
from config_reference import PAGE, with_reference
from records import make_dataset

from yt8m.components.example_gen.config import DataConfig
from yt8m.components.trainer.config import CheckpointConfig, TrainerConfig
from yt8m.components.trainer.job import TrainingJob
from yt8m.kubeflow.container.task_cache import find_cached_result
from yt8m.pipeline import cache_keys
from yt8m.pipeline.cache_keys import fingerprint, resolve_external_inputs
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.run.preflight import preflight
from yt8m.pipeline.run.runner import with_absolute_paths
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.config_layers import overlay
from yt8m.schemas.config_tree import from_dict, to_dict, type_hints
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.roles import (
    Bookkeeping,
    Content,
    FilePath,
    Judging,
    KeyRole,
    OfExport,
    OwnCode,
    Placement,
    ResultNeutral,
    SourcePath,
    declared_with,
    fields_with,
)

IDS = [key.path for key in KEYS]


def job(config: PipelineConfig) -> TrainingJob:
    return TrainingJob(
        manifest="m",
        checkpoint_dir="c",
        log_dir="l",
        export_dir="e",
        transform=config.transform.function,
        level=config.data.level,
        features=config.features,
        trainer=config.trainer,
    )


TASKS = {
    "tfx.components.trainer.executor.GenericExecutor": lambda config: {
        "custom_config": json.dumps({"config": to_dict(config.trainer)})
    },
    "tfx.components.tuner.executor.Executor": lambda config: {
        "custom_config": json.dumps(
            {"config": to_dict(config.trainer), "tuner": to_dict(config.tuner)}
        )
    },
    "yt8m.components.evaluator.executor.Executor": lambda config: {
        "config": json.dumps(to_dict(config.evaluator)),
        "gate": json.dumps(to_dict(config.gate)),
    },
}


def tasks(config: PipelineConfig) -> list[str]:
    found = []
    for executor, parameters in TASKS.items():
        if "tuner" in executor and config.tuner is None:
            continue
        executor_input = {
            "inputs": {"parameterValues": parameters(config)},
            "outputs": {"outputFile": "/nowhere/out"},
        }
        cached = find_cached_result(executor, executor_input, {"YT8M_WORK_DIR": "/nowhere"})
        found.append(str(cached and cached._directory))
    return found


def counts(key: Key, *, monkeypatch: pytest.MonkeyPatch) -> dict[str, bool]:
    """For what another value of `key` is another one."""
    # Code, libraries, and what paths lead to are the same for all keys; other tests look at them.
    task_cache = "yt8m.kubeflow.container.task_cache"
    monkeypatch.setattr(f"{task_cache}.content_digest", lambda content, path, key: "content")
    monkeypatch.setattr(f"{task_cache}.code_digest", lambda *paths: "code")
    monkeypatch.setattr(f"{task_cache}.version", lambda library: "version")
    monkeypatch.setattr(cache_keys, "code_digest", lambda *paths: json.dumps(paths))
    found = pair(key)
    assert found is not None
    first, other = found
    return {
        "run": cache_keys._run_key(first, {}) != cache_keys._run_key(other, {}),
        "training": job(first).key != job(other).key,
        "agreement": job(first).shared_settings != job(other).shared_settings,
        "task": tasks(first) != tasks(other),
    }


def test_every_key_has_another_value_here():
    assert {key.path for key in KEYS if pair(key) is None} == FIXED
    assert len(set(IDS)) > 280


TRIED = [key for key in KEYS if key.path not in FIXED]


def of_role(*roles: type[KeyRole]) -> Any:
    found = [key for key in TRIED if isinstance(key.role, roles)]
    assert found
    return pytest.mark.parametrize("key", found, ids=[key.path for key in found])


@of_role(ResultNeutral)
def test_bookkeeping_and_placement_change_no_key(key, monkeypatch):
    in_step = key.role.in_step
    if key.path == "trainer.start_new_model":  # a task that wipes is never the same
        monkeypatch.setattr("yt8m.kubeflow.container.task_cache._values", lambda *_: iter(()))
    assert counts(key, monkeypatch=monkeypatch) == {
        "run": False,
        "training": False,
        "agreement": in_step,
        "task": False,
    }


@of_role(OfExport)
def test_what_is_exported_is_another_model_of_the_same_training(key, monkeypatch):
    assert counts(key, monkeypatch=monkeypatch) == {
        "run": True,
        "training": False,
        "agreement": True,
        "task": True,
    }


@of_role(Judging)
def test_what_judges_is_not_what_makes_a_model(key, monkeypatch):
    judges = key.path.startswith(("evaluator.", "gate."))
    assert counts(key, monkeypatch=monkeypatch) == {
        "run": False,
        "training": False,
        "agreement": False,
        "task": judges,
    }


@of_role(type(None))
def test_a_key_without_a_role_makes_another_model(key, monkeypatch):
    found = counts(key, monkeypatch=monkeypatch)
    trains = key.path.startswith(("trainer", "features")) or key.path == "data.level"
    assert found["run"]
    assert (found["training"], found["agreement"]) == (trains, trains)
    if key.path.startswith(("trainer", "tuner")):
        assert found["task"]


@of_role(FilePath)
def test_a_path_means_the_same_from_every_directory_and_is_in_no_key(key, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for config in pair(key):
        absolute = with_absolute_paths(config)
        before = {field.path: field.value for field in fields_with(config, FilePath)}
        after = {field.path: field.value for field in fields_with(absolute, FilePath)}
        assert after[key.path] == (str(tmp_path / before[key.path]) if before[key.path] else "")
    assert not any(counts(key, monkeypatch=monkeypatch).values())


@pytest.fixture
def values(tmp_path):
    return {
        "root": str(tmp_path / "root"),
        "data": {"root": str(make_dataset(tmp_path / "data"))},
        "features": {"num_classes": 20},
        "gate": {"gap_threshold": 0.1, "min_examples": 1},
        "pusher": {"push_dir": str(tmp_path / "push")},
    }


def with_value(values: dict[str, Any], path: str, value: Any) -> PipelineConfig:
    tree: Any = value
    for name in reversed(path.split(".")):
        tree = {name: tree}
    needed = beside(path)
    if needed.get("data", {}).get("level") == "frame":
        frames = Path(values["root"]).with_name("frames")
        if not frames.exists():
            make_dataset(frames, level="frame")
        needed = {**needed, "data": {**needed["data"], "root": str(frames)}}
    if path.startswith("bulk_inferrer."):
        there = {"bulk_inferrer": {"split": "eval"}}  # these data have no others to predict
        needed = overlay(PipelineConfig, needed, there)
    tree = overlay(PipelineConfig, needed, tree)
    return from_dict(PipelineConfig, overlay(PipelineConfig, values, tree))


def make_vocabulary(place: Path, text: str) -> None:
    rows = [f"{number},1,/m/{number},{text} {number},Games,," for number in range(20)]
    columns = "Index,TrainVideoCount,KnowledgeGraphId,Name,Vertical1,Vertical2,Vertical3"
    place.write_text("\n".join([columns, *rows, ""]))


def make_records(place: Path, text: str) -> None:
    make_dataset(place)
    (place / f"train-{text}.tfrecord").write_bytes(next(place.glob("train*")).read_bytes())


def make_weights(place: Path, text: str) -> None:
    (place / "variables").mkdir(parents=True)
    (place / "variables" / "variables.index").write_text(text)


def make_model(place: Path, text: str) -> None:
    make_weights(place, text)
    (place / "saved_model.pb").write_text("graph")


CONTENTS = {
    Content.RECORDS: make_records,
    Content.FILE: make_vocabulary,
    Content.WEIGHTS: make_weights,
    Content.MODEL: make_model,
}
SOURCES = [pytest.param(*found, id=found[0]) for found in declared_with(PipelineConfig, SourcePath)]


@pytest.mark.parametrize(("path", "source"), SOURCES)
def test_a_source_that_is_not_there_is_found_before_a_run(path, source, values, tmp_path):
    place = tmp_path / "nowhere"
    with pytest.raises(ConfigError, match=str(place)):
        preflight(with_value(values, path, str(place)), {})
    CONTENTS[source.content](place, "some")
    preflight(with_value(values, path, str(place)), {})


@pytest.mark.parametrize(("path", "source"), SOURCES)
def test_other_content_at_the_same_place_is_another_run(path, source, values, tmp_path):
    config = with_value(values, path, str(tmp_path / "given"))
    found = []
    for folder, text in (("first", "some"), ("second", "some"), ("third", "other")):
        CONTENTS[source.content](tmp_path / folder, text)
        (tmp_path / folder).rename(tmp_path / "given")
        external = resolve_external_inputs(config, Layout(tmp_path / "root"))
        found.append((external.digest(path), external.run_key, fingerprint(config, external)))
        (tmp_path / "given").rename(tmp_path / folder)
    first, same, other = found
    if source.content is not Content.RECORDS:  # which are told apart by their time, too
        assert first == same
    assert first[0] != other[0]
    assert first[2] != other[2]
    assert (first[1] == other[1]) is path.startswith(("evaluator.", "bulk_inferrer."))


OWN = ("trainer.optimizer", "trainer.early_stopping", "trainer.evaluation.exporters")


@pytest.mark.parametrize("path", [path for path, _ in declared_with(PipelineConfig, OwnCode)])
def test_changed_code_of_the_users_own_is_another_run(path, values, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    module = tmp_path / "roles_own_code.py"
    value: Any = "roles_own_code.thing"
    if path in ("evaluator.metrics", "trainer.hooks", "trainer.metrics"):
        value = [value]
    place = path
    if path.replace("[]", "").startswith(OWN):  # in a node that is chosen by name
        place, _, name = path.replace("[]", "").rpartition(".")
        value = {"name": "own", name: value}
    if place.endswith("exporters"):
        value = [value]
    if path == "evaluator.eval_config":
        value = 'metrics_specs { metrics { class_name: "X" module: "roles_own_code" } }'
    if path.startswith("tuner."):
        space = {"trainer.batch_size": {"choice": [8, 16]}}
        values = with_value(values, "tuner", {"space": space})
        value = {"trainer.network": value if path == "tuner.trial" else {"choice": [value]}}
    config = with_value(to_dict(values), place, value)
    found = []
    for code in ("thing = 1\n", "thing = 2\n"):
        module.write_text(code)
        importlib.invalidate_caches()
        external = resolve_external_inputs(config, Layout(tmp_path / "root"))
        found.append((external.run_key, fingerprint(config, external)))
    assert found[0][1] != found[1][1]
    assert (found[0][0] == found[1][0]) is path.startswith("evaluator.")
    module.unlink()
    importlib.invalidate_caches()
    where = re.escape(path.replace("exporters[].", "exporters[0]."))
    with pytest.raises(ConfigError, match=f"{where}: there is no module roles_own_code"):
        preflight(config, {})


@pytest.mark.parametrize(
    ("cls", "name", "planted"),
    [
        (TrainerConfig, "seed", Annotated[int, Bookkeeping()]),
        (CheckpointConfig, "keep", int),
        (TrainerConfig, "warm_start", Annotated[str, Placement()]),
        (PipelineConfig, "data", Annotated[DataConfig, Judging()]),
    ],
)
def test_another_role_of_a_key_shows_in_the_reference(cls, name, planted, monkeypatch):
    page = PAGE.read_text(encoding="utf-8")
    monkeypatch.setitem(type_hints(cls), name, planted)
    assert with_reference(page) != page
