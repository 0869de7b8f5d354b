"""A step's declaration: what TFX is given of it, and what is refused."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
from collections.abc import Mapping
from typing import Annotated, Any

import pytest
from docs_blocks import ROOT
from tfx import types
from tfx.dsl.components.base import base_beam_executor, base_executor, executor_spec
from tfx.types import standard_artifacts

from yt8m.components.declaration import Input, Output, Outside, RunTime, Step, custom_config
from yt8m.components.example_gen.config import DataConfig, Ingest, RewriteConfig
from yt8m.schemas.config_tree import from_dict, to_dict
from yt8m.schemas.features import FeatureConfig, Level

for file in sorted((ROOT / "components").glob("*/component.py")):
    importlib.import_module(f"yt8m.components.{file.parent.name}.component")
STEPS = [step for step in Step.__subclasses__() if step.__module__.startswith("yt8m.")]


class Reading(base_executor.BaseExecutor):
    """Reads all parameters but one."""

    def Do(self, input_dict: Any, output_dict: Any, exec_properties: dict[str, Any]) -> None:  # noqa: N802
        print(exec_properties["node"], exec_properties["level"])
        print(exec_properties.get("given"), exec_properties["threshold"])


class ReadingOnBeam(base_beam_executor.BaseBeamExecutor):
    """Runs on Beam."""

    def Do(self, input_dict: Any, output_dict: Any, exec_properties: dict[str, Any]) -> None:  # noqa: N802
        raise NotImplementedError


class Tried(Step, executor=Reading):
    """A step with every kind of attribute."""

    node: DataConfig
    level: Level = Level.FRAME
    given: Mapping[str, Any] = {}
    threshold: Annotated[str, RunTime()] = ""
    digest: Annotated[str, Outside()] = ""
    model: Input[standard_artifacts.Model]
    examples: Input[standard_artifacts.Examples] | None = None

    blessing = Output(standard_artifacts.ModelBlessing)
    statistics = Output(standard_artifacts.ExampleStatistics)


class TriedOnBeam(Step, executor=ReadingOnBeam):
    """A step without parameters."""

    schema = Output(standard_artifacts.Schema)


def channel(kind: type[types.Artifact]) -> types.Channel:
    return types.Channel(type=kind)


def unread_parameters(step: type[Step]) -> list[str]:
    """Parameters that no executor of ours looks up by name; digests are for TFX's cache alone."""
    executor = step.EXECUTOR_SPEC.executor_class
    read = set()
    for node in ast.walk(ast.parse(inspect.getsource(inspect.getmodule(executor)))):
        match node:
            case ast.Subscript(ast.Name("exec_properties" | "properties"), ast.Constant(name)):
                read.add(name)
            case ast.Call(
                ast.Attribute(ast.Name("exec_properties" | "properties"), "get"),
                [ast.Constant(name), *_],
            ):
                read.add(name)
    return sorted(set(step.PARAMETERS) - read - set(step.parameters_with(Outside)))


def test_tfx_is_given_a_specification_with_texts_and_typed_channels() -> None:
    model = channel(standard_artifacts.Model)
    step = Tried(node=DataConfig(root="/data"), given={"b": 1, "a": None}, model=model)
    assert step.id == "Tried"
    assert isinstance(step.spec, types.ComponentSpec)
    version = step.exec_properties.pop("code_version")
    assert len(version) == 16
    node = json.loads(step.exec_properties.pop("node"))
    assert from_dict(DataConfig, node) == DataConfig(root="/data")
    assert step.exec_properties == {
        "level": "frame",
        "given": '{"a": null, "b": 1}',
        "threshold": "",
        "digest": "",
    }
    assert {name: one.type for name, one in step.inputs.items()} == {
        "model": standard_artifacts.Model
    }
    assert {name: (one.type, one.producer_component_id) for name, one in step.outputs.items()} == {
        "blessing": (standard_artifacts.ModelBlessing, "Tried"),
        "statistics": (standard_artifacts.ExampleStatistics, "Tried"),
    }
    assert step.spec.is_optional_input("examples")
    assert not step.spec.is_optional_input("model")


def test_an_executor_of_beam_gets_beams_arguments() -> None:
    assert isinstance(TriedOnBeam().executor_spec, executor_spec.BeamExecutorSpec)
    assert type(Tried.EXECUTOR_SPEC) is executor_spec.ExecutorClassSpec


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"node": DataConfig()}, "missing a required argument: 'model'"),
        ({"model": channel(standard_artifacts.Model)}, "missing a required argument: 'node'"),
        (
            {"node": DataConfig(), "model": channel(standard_artifacts.Model), "modle": 1},
            "unexpected keyword argument 'modle'",
        ),
        ({"node": DataConfig(), "model": channel(standard_artifacts.Schema)}, "Argument model"),
    ],
)
def test_an_argument_that_does_not_fit_is_refused(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(TypeError, match=says):
        Tried(**arguments)


def test_the_version_of_the_code_follows_the_users_own(tmp_path, monkeypatch) -> None:
    (tmp_path / "own_filter.py").write_text("def keep(video): return True\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    node = DataConfig(ingest=Ingest.REWRITE, rewrite=RewriteConfig(keep="own_filter.keep"))
    model = channel(standard_artifacts.Model)

    def versions() -> list[str]:
        steps = [Tried(node=one, model=model) for one in (DataConfig(), node)]
        stock = custom_config("yt8m.schemas.features", "own_filter.keep", features=FeatureConfig())
        assert stock["features"] == to_dict(FeatureConfig())
        return [*(step.exec_properties["code_version"] for step in steps), stock["code_version"]]

    before = versions()
    (tmp_path / "own_filter.py").write_text("def keep(video): return False\n")
    assert [a == b for a, b in zip(before, versions(), strict=True)] == [True, False, False]


def test_a_step_of_a_name_that_another_has_is_refused() -> None:
    def declare(module: str) -> None:
        class Twin(Step, executor=Reading):
            __module__ = module

    declare("one")
    with pytest.raises(TypeError, match=r"two: the step Twin is declared in one already"):
        declare("two")


def test_roles_of_parameters_are_listed() -> None:
    assert (Tried.parameters_with(RunTime), Tried.parameters_with(Outside)) == (
        ["threshold"],
        ["digest"],
    )


@pytest.mark.parametrize("step", [Tried, *STEPS], ids=lambda step: step.__name__)
def test_an_executor_reads_every_parameter(step: type[Step]) -> None:
    assert unread_parameters(step) == []


def test_a_parameter_that_no_executor_reads_is_found() -> None:
    class Wasteful(Step, executor=Reading):
        node: DataConfig
        forgotten: str = ""

    assert unread_parameters(Wasteful) == ["forgotten"]
