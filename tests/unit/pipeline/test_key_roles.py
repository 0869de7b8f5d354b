"""Every key of the configuration does what its role says, and nothing else.

A value that differs from the default is made for each key from its type; the keys of a run, of a
training, of a task on Kubeflow and the agreement between processes then tell whether it counts.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib
import json
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
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
from yt8m.schemas.config_tree import bare, from_dict, members_by_tag, to_dict, type_hints
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
    role_of,
)

# Of a type's values one at least is allowed and not the default.
CANDIDATES: dict[Any, tuple[Any, ...]] = {
    bool: (True, False),
    int: (3, 8, 25, 120, 4096),
    float: (0.5, 0.25, -0.5, 3.0, 30.0, 5000.0),
    str: (
        "other",
        "a.b.C",
        "2026-11-20",
        "--x=1",
        "/there",
        "/elsewhere",
        "chief=1,worker=2",
        "a=b",
        "1Gi",
        "eval",
    ),
    Any: (3,),
}
# What a key needs in other places, by the beginning of its path.
BESIDE: dict[str, dict[str, Any]] = {
    "data.splits": {"data": {"splits": {"train": ["x"], "eval": ["y"]}}},
    "trainer.model": {"data": {"level": "frame"}},
    "trainer.heads": {
        "data": {"level": "segment"},
        "evaluator": {"vocabulary": "v.csv"},
        "trainer": {"network": "a.b.C"},
    },
    "trainer.inputs.bucket": {
        "data": {"level": "frame"},
        "trainer": {"model": {"name": "rnn"}, "inputs": {"bucket_batches": 2}},
    },
}
# Values that a type does not tell.
VALUES: dict[str, Any] = {
    "data.splits": {"train": ["other"], "eval": ["y"]},
    "data.divide.buckets": {"train": 7, "eval": 1},
    "infra_check.batch_sizes": [1, 4],
    "tuner.search": {"name": "hyperband"},
    "trainer.evaluation.idle_limit_s": 5000.0,
    "tuner.trial": {"trainer.num_epochs": 2},
    "tuner.space": {"trainer.seed": {"choice": [1, 2]}},
}
REQUIRED: dict[str, dict[str, Any]] = {
    "TunerConfig": {"space": {"trainer.batch_size": {"choice": [16, 32]}}},
    "RangeConfig": {"choice": [16, 32]},
    "SliceConfig": {"by": "num_labels", "edges": [2]},
    "Threshold": {"metric": "gap", "minimum": 0.5},
    "Mount": {"path": "/there", "claim": "c"},
}
# Alone they can have no other value, or one that another key decides.
FIXED = {
    "features.names",  # as many as sizes
    "features.sizes",
    "tuner.space.linear",  # or choice
    "tuner.space.log",
    "tuner.space.step",
    "trainer.backend.mounts.secret",  # or claim
    "evaluator.slices.feature",  # or edges
}
# Of a mapping to nodes: what is always there, and the key of the node that changes.
MAPPINGS = {"roles": ({"chief": {}}, "worker"), "space": ({}, "trainer.batch_size")}


@dataclasses.dataclass(frozen=True)
class Key:
    """A key that may be set, and the role that it or a node above it has."""

    path: str
    role: KeyRole | None
    hint: Any
    place: Callable[[Mapping[str, Any]], Any]  # the tree with these values beside the key's
    default: Mapping[str, Any]  # the same without the key

    def trees(self) -> Iterator[dict[str, Any]]:
        """The tree without the key, then those with values for it."""
        yield self.place(self.default)
        known = [VALUES[self.path]] if self.path in VALUES else []
        for value in [*known, *candidates(self.hint)]:
            yield self.place({**self.default, self.path.rpartition(".")[2]: value})


def keys(cls: type, role: KeyRole | None, path: str, place: Callable[[Any], Any]) -> Iterator[Key]:
    for name, hint in type_hints(cls).items():
        if name == "name" and typing.get_origin(hint) is Literal:
            continue
        here, own = f"{path}.{name}" if path else name, role_of(hint, KeyRole) or role
        default = required(cls)
        if not dataclasses.is_dataclass(bare(hint)):
            yield Key(here, own, hint, place, default)
        for below, inner in nodes(hint, name):
            yield from keys(below, own, here, _within(place, default, name, inner))


def _within(
    place: Callable[[Any], Any], others: Mapping[str, Any], name: str, inner: Callable[[Any], Any]
) -> Callable[[Any], Any]:
    return lambda values: place({**others, name: inner(values)})


def nodes(hint: Any, name: str) -> Iterator[tuple[type, Callable[[Any], Any]]]:
    hint = bare(hint)
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        yield hint, lambda values: values
    elif members := members_by_tag(hint):
        for tag, member in members.items():
            yield member, lambda values, tag=tag: {"name": tag, **values}
    elif origin is tuple:
        for cls, inner in nodes(args[0], name):
            yield cls, lambda values, inner=inner: [inner(values)]
    elif origin is dict:
        for cls, inner in nodes(args[1], name):
            others, key = MAPPINGS[name]
            yield cls, _within(lambda values: values, others, key, inner)
    elif origin in (typing.Union, types.UnionType):
        for part in args:
            yield from nodes(part, name)


def required(cls: type) -> dict[str, Any]:
    if cls.__name__ in REQUIRED:
        return REQUIRED[cls.__name__]
    hints = type_hints(cls)
    return {
        field.name: next(candidates(hints[field.name]))
        for field in dataclasses.fields(cls)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }


def candidates(hint: Any) -> Iterator[Any]:
    hint = bare(hint)
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if members := members_by_tag(hint):
        yield from ({"name": tag, **required(cls)} for tag, cls in members.items())
    elif origin is Literal:
        yield from args
    elif origin is tuple:
        yield from ([value] for value in candidates(args[0]))
        yield []
    elif origin is dict:
        yield from ({name: value} for value in candidates(args[1]) for name in ("chief", "train"))
    elif origin in (typing.Union, types.UnionType):
        for part in args:
            yield from candidates(part) if part is not type(None) else [None]
    elif isinstance(hint, type) and issubclass(hint, enum.Enum):
        yield from (member.value for member in hint)
    elif isinstance(hint, type) and dataclasses.is_dataclass(hint):
        yield required(hint)
    else:
        yield from CANDIDATES[hint]


def pair(key: Key) -> tuple[PipelineConfig, PipelineConfig] | None:
    """Two configurations that differ in `key` alone."""
    beside: dict[str, Any] = {}
    for path in sorted(BESIDE):
        if key.path.startswith(path):
            beside = BESIDE[path]
    made: list[PipelineConfig] = []
    for tree in key.trees():
        try:
            made.append(from_dict(PipelineConfig, overlay(PipelineConfig, beside, tree)))
        except ConfigError:
            continue
        if to_dict(made[0]) != to_dict(made[-1]):
            return made[0], made[-1]
    return None


KEYS = [*keys(PipelineConfig, None, "", lambda values: values)]
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
    # Code, and what paths lead to, are the same for all keys here; other tests are about them.
    task_cache = "yt8m.kubeflow.container.task_cache"
    monkeypatch.setattr(f"{task_cache}.content_digest", lambda content, path: "content")
    monkeypatch.setattr(f"{task_cache}.code_digest", lambda *paths: "code")
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
    assert (first[1] == other[1]) is path.startswith("evaluator.")


@pytest.mark.parametrize("path", [path for path, _ in declared_with(PipelineConfig, OwnCode)])
def test_changed_code_of_the_users_own_is_another_run(path, values, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    module = tmp_path / "roles_own_code.py"
    value: Any = "roles_own_code.thing"
    if path == "evaluator.metrics":
        value = [value]
    if path == "evaluator.eval_config":
        value = 'metrics_specs { metrics { class_name: "X" module: "roles_own_code" } }'
    config = with_value(values, path, value)
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
    with pytest.raises(ConfigError, match=rf"{path}: there is no module roles_own_code"):
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
