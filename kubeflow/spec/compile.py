"""The pipeline as Kubeflow reads it: schema 2.1 YAML that the open-source backend really runs."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yt8m.components import storage
from yt8m.components.evaluator.thresholds import check_gate
from yt8m.components.example_gen.config import Ingest
from yt8m.components.trainer.kubernetes_config import KubernetesBackend
from yt8m.kubeflow.cluster_needs import ClusterNeeds, needs_of
from yt8m.kubeflow.config import (
    ACCOUNT_VARIABLE,
    BACKEND_VARIABLE,
    NEEDS_VARIABLE,
    OWN_MODULES_VARIABLE,
    PlatformConfig,
)
from yt8m.kubeflow.container.flags import SHORT_FLAGS, TFX_TYPES
from yt8m.kubeflow.container.run_parameters import COMPILED_VALUES, GATE_PARAMETERS
from yt8m.kubeflow.container.visualizations import add_visualizations
from yt8m.kubeflow.parameter_text import shortened
from yt8m.kubeflow.spec.lint import lint
from yt8m.kubeflow.spec.paths import check_paths
from yt8m.kubeflow.spec.platform import add_platform
from yt8m.kubeflow.spec.workflow_size import LIMIT_BYTES, status_bytes
from yt8m.kubeflow.spec_file import Spec
from yt8m.pipeline.beam import IN_PROCESS, in_this_process
from yt8m.pipeline.config import PipelineConfig
from yt8m.schemas.config_tree import to_dict
from yt8m.schemas.errors import ConfigError, Yt8mError
from yt8m.schemas.kubernetes import IMAGE_VARIABLE

if TYPE_CHECKING:
    from tfx.orchestration.pipeline import Pipeline

ENTRY_POINT = ("python", "-m", "yt8m.kubeflow.container.entrypoint")
_TFX_INPUTS = "--json_serialized_inputs_spec_args"
# Without a shared volume: what is kept here is lost with the pod.
POD_WORK_DIR = "/tmp/yt8m"
_HEADER = """\
# Pipeline {name}, compiled by `yt8m kubeflow compile` for {image}.
# Runs take: {parameters}.
# Upload it with `yt8m kubeflow upload`.
"""


@dataclass(frozen=True, kw_only=True)
class Target:
    """Target of a compilation."""

    image: str
    root: str  # of the artifacts, in an object store
    platform: PlatformConfig


def compile_config(config: PipelineConfig, target: Target) -> Spec:
    """The documents for `config`; nothing is looked up outside, and no network is used."""
    # Evaluator would refuse it as well, but after the training.
    problems = check_gate(config.gate, config.evaluator)
    if problems:
        raise ConfigError(problems)
    check_paths(config, target.platform)

    from yt8m.pipeline.cache_keys import ExternalInputs
    from yt8m.pipeline.graph import create_pipeline

    pipeline = create_pipeline(adapt(config, target), ExternalInputs())
    backend = config.trainer.backend
    variables = _own_modules(config.own_modules)
    if isinstance(backend, KubernetesBackend):  # it starts pods of the same image
        variables[IMAGE_VARIABLE] = target.image
    spec = compile_pipeline(pipeline, _with_variables(target, variables))
    node = to_dict(backend) if isinstance(backend, KubernetesBackend) else {}
    first = {BACKEND_VARIABLE: json.dumps(node)} if node else {}
    needs = needs_of(spec.pipeline, spec.platform, node)
    if needs != ClusterNeeds(claims=[]):
        first[NEEDS_VARIABLE] = needs.to_json()
    _pass_to_first(spec.pipeline, first)
    return spec


def _own_modules(modules: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Every task looks for the user's own code, so that the first says what the image lacks."""
    return {OWN_MODULES_VARIABLE: json.dumps(modules)} if modules else {}


def _with_variables(target: Target, variables: Mapping[str, str]) -> Target:
    """Add variables of every task; those of the platform file win."""
    environment = {**variables, **target.platform.environment}
    return replace(target, platform=replace(target.platform, environment=environment))


def adapt(config: PipelineConfig, target: Target) -> PipelineConfig:
    """The configuration as it has to be where every component has a machine of its own.

    A directory of links would be uploaded by the launcher as copies of all data, so the examples
    stay where they are and are referred to. `root` is left with what outlives a run (checkpoints,
    what was verified before), which lies on a shared volume; artifacts go to `target.root`.
    """
    _check_backend(config, target)
    data = config.data
    if data.ingest is Ingest.LINK:
        data = replace(data, ingest=Ingest.REFERENCE)
    root = target.platform.work_dir or POD_WORK_DIR
    return replace(config, name=config.name.replace("_", "-"), root=root, data=data)


def _check_backend(config: PipelineConfig, target: Target) -> None:
    backend = config.trainer.backend
    if not isinstance(backend, KubernetesBackend):
        return
    if not (backend.work_dir or target.platform.work_dir):
        raise ConfigError(
            f"trainer.backend: {backend.name} needs a directory that all pods share; set work_dir "
            "in the --platform file, and mount its volume with trainer.backend.mounts"
        )


def compile_pipeline(pipeline: Pipeline, target: Target) -> Spec:
    """TFX's compiler, then everything that the open-source backend needs besides."""
    from tfx.orchestration.kubeflow.v2.kubeflow_v2_dag_runner import (
        KubeflowV2DagRunner,
        KubeflowV2DagRunnerConfig,
    )

    from yt8m.components.declaration import Outside, RunTime, Step

    if not target.image:
        raise ConfigError("--image: name the container image (`make image` builds it)")
    runner = KubeflowV2DagRunner(
        config=KubeflowV2DagRunnerConfig(
            default_image=target.image,
            default_commands=list(ENTRY_POINT),
            use_pipeline_spec_2_1=True,
        )
    )
    try:
        spec: dict[str, Any] = runner.run(pipeline, write_out=False)["pipelineSpec"]
    except ValueError as error:
        raise ConfigError(f"TFX cannot compile this pipeline: {error}") from error
    spec["defaultPipelineRoot"] = target.root
    own = {
        "YT8M_WORK_DIR": target.platform.work_dir,
        ACCOUNT_VARIABLE: target.platform.service_account,
    }
    environment = {**{k: v for k, v in own.items() if v}, **target.platform.environment}
    steps = [component for component in pipeline.components if isinstance(component, Step)]
    promote(spec, {step.id: step.parameters_with(RunTime) for step in steps})
    set_defaults(spec)
    _pass_gate_values(spec)
    _pass_types(spec)
    _spare_beam_arguments(spec, pipeline)
    _shorten_types(spec)
    spare_configuration(spec)
    shorten_parameters(spec)
    add_visualizations(spec)  # after the types: TFX is to know nothing of them
    # A cached result does not show what is outside: last night's data again.
    _forbid_caching(spec, [step.id for step in steps if step.parameters_with(Outside)])
    platform = add_platform(spec, replace(target.platform, environment=environment))
    lint(spec, platform)
    size = status_bytes(spec, platform)
    if size > LIMIT_BYTES:
        raise ConfigError(
            f"the status of a run's Workflow would have {size} bytes, and Argo keeps at most "
            f"{LIMIT_BYTES}: write fewer file patterns, with * and ?, and fewer values of your own"
        )
    return Spec(pipeline=spec, platform=platform)


def write_spec(spec: Spec, path: str) -> None:
    """Write the YAML documents to `path`, all or nothing."""
    if not Path(path).absolute().parent.is_dir():
        raise ConfigError(f"--out {path}: no such directory")
    try:
        storage.write_text(path, to_yaml(spec))
    except OSError as error:
        raise ConfigError(f"--out {path}: {error.strerror}") from error


def to_yaml(spec: Spec) -> str:
    """The text of the file; the same content gives the same text."""
    import yaml

    executors = spec.pipeline["deploymentSpec"]["executors"].values()
    images = {e["container"]["image"] for e in executors if "container" in e}
    header = _HEADER.format(
        name=spec.name,
        image=", ".join(sorted(images)),
        parameters=", ".join(sorted(spec.parameters)),
    )
    documents = [_plain(spec.pipeline)] + ([_plain(spec.platform)] if spec.platform else [])
    text = io.StringIO()
    yaml.safe_dump_all(documents, text, sort_keys=True, width=100)
    return header + text.getvalue()


def promote(spec: dict[str, Any], run_parameters: Mapping[str, Sequence[str]]) -> None:
    """Make the parameters that a run may set, listed by task, inputs of the pipeline in `spec`.

    `create_pipeline` knows nothing of Kubeflow and compiles them as constants; the constant becomes
    the default of the input. Tasks that have a parameter of the same name take the same input.
    """
    inputs = spec["root"].setdefault("inputDefinitions", {}).setdefault("parameters", {})
    tasks = spec["root"]["dag"]["tasks"]
    for name in dict.fromkeys(name for names in run_parameters.values() for name in names):
        places = [
            _place(tasks, task, name) for task in run_parameters if name in run_parameters[task]
        ]
        defaults = {str(place["runtimeValue"]["constant"]) for place in places}
        if len(defaults) != 1:
            raise Yt8mError(f"{name} is compiled with different values: {sorted(defaults)}")
        inputs[name] = {"parameterType": "STRING", "defaultValue": defaults.pop()}
        for place in places:
            place.clear()
            place["componentInputParameter"] = name


def _place(tasks: Mapping[str, Any], task: str, parameter: str) -> dict[str, Any]:
    try:
        place: dict[str, Any] = tasks[task]["inputs"]["parameters"][parameter]
    except KeyError:
        raise Yt8mError(
            f"the pipeline has no parameter {parameter!r} of {task}, which a run may set"
        ) from None
    if not isinstance(place.get("runtimeValue", {}).get("constant"), str):
        raise Yt8mError(f"{task}.{parameter} is not a text that a run could replace: {place}")
    return place


def set_defaults(spec: Mapping[str, Any]) -> None:
    """Give the parameters of a run the values that were compiled, and thresholds their type.

    Kubeflow's form then shows what a run would take, and refuses a threshold that is no number. A
    threshold that the gate does not have is no parameter.
    """
    inputs = spec["root"].get("inputDefinitions", {}).get("parameters", {})
    tasks = spec["root"]["dag"]["tasks"]
    for name, compiled in COMPILED_VALUES.items():
        if name not in inputs:
            continue
        value = json.loads(_place(tasks, compiled.task, compiled.node)["runtimeValue"]["constant"])
        default = value[compiled.key]
        given = _parameters(spec, compiled.task)
        if name not in GATE_PARAMETERS:
            inputs[name]["defaultValue"] = inputs[name]["defaultValue"] or default
        elif default is None:
            del inputs[name]
            given[name] = {"runtimeValue": {"constant": ""}}
        else:
            inputs[name] = {"parameterType": "NUMBER_DOUBLE", "defaultValue": float(default)}
            _declared(spec, compiled.task)[name] = {"parameterType": "NUMBER_DOUBLE"}


def _parameters(spec: Mapping[str, Any], task: str) -> dict[str, Any]:
    """The parameters that a task is given."""
    inputs = spec["root"]["dag"]["tasks"][task].setdefault("inputs", {})
    given: dict[str, Any] = inputs.setdefault("parameters", {})
    return given


def _declared(spec: Mapping[str, Any], task: str) -> dict[str, Any]:
    """The parameters that a task's component declares."""
    component = spec["components"][spec["root"]["dag"]["tasks"][task]["componentRef"]["name"]]
    inputs = component.setdefault("inputDefinitions", {})
    declared: dict[str, Any] = inputs.setdefault("parameters", {})
    return declared


def _pass_gate_values(spec: Mapping[str, Any]) -> None:
    """Hand the gate's values to the first task, too, whose container refuses unreachable ones.

    They may be typed into Kubeflow's form, where nothing checks them before the Evaluator.
    """
    first = _first_task(spec)
    known = spec["root"].get("inputDefinitions", {}).get("parameters", {})
    for name in GATE_PARAMETERS:
        if name in known:
            kind = {"parameterType": known[name]["parameterType"]}
            _declared(spec, first).setdefault(name, kind)
            _parameters(spec, first).setdefault(name, {"componentInputParameter": name})


def _pass_to_first(spec: Mapping[str, Any], variables: Mapping[str, str]) -> None:
    """Let the first task find out what later ones would miss."""
    component = spec["root"]["dag"]["tasks"][_first_task(spec)]["componentRef"]["name"]
    label = spec["components"][component]["executorLabel"]
    container = spec["deploymentSpec"]["executors"][label]["container"]
    given = [{"name": name, "value": value} for name, value in variables.items()]
    if given:
        container["env"] = [*container.get("env", []), *given]


def _first_task(spec: Mapping[str, Any]) -> str:
    """Of the tasks that wait for none the first by name: the same one, in whatever order they come.

    That is Baseline, which no cache skips.
    """
    tasks = spec["root"]["dag"]["tasks"]
    return min(name for name in tasks if not tasks[name].get("dependentTasks"))


def _pass_types(spec: Mapping[str, Any]) -> None:
    """Tell our entry point the types of artifacts, which drivers and kfp's local runner hide.

    TFX's own argument for it repeats the whole of the component's definition.
    """
    for component in spec["components"].values():
        executor = spec["deploymentSpec"]["executors"].get(component.get("executorLabel"), {})
        if "container" not in executor:
            continue
        inputs, outputs = (component.get(f"{side}Definitions", {}) for side in ("input", "output"))
        words = {
            "inputs": [f"{key}={_short(title)}" for key, title in _titles(inputs)],
            "outputs": [f"{key}={_short(title)}" for key, title in _titles(outputs)],
            "integers": [
                name
                for name, parameter in inputs.get("parameters", {}).items()
                if parameter["parameterType"] == "NUMBER_INTEGER"
            ],
        }
        args = executor["container"]["args"]
        if _TFX_INPUTS in args:
            place = args.index(_TFX_INPUTS)
            del args[place : place + 2]
        args[:] = [SHORT_FLAGS.get(word, word) for word in args]
        for name, listed in words.items():
            if listed:
                args += [f"--{name}", " ".join(sorted(listed))]


def _short(title: str) -> str:
    return title.removeprefix(TFX_TYPES)


def _titles(definitions: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    import yaml

    for key, declared in definitions.get("artifacts", {}).items():
        yield key, yaml.safe_load(declared["artifactType"]["instanceSchema"])["title"]


def _spare_beam_arguments(spec: Mapping[str, Any], pipeline: Pipeline) -> None:
    """Take out Beam's arguments that say nothing; TFX writes all of them into every container.

    Executors without Beam would ignore them, and the entry point knows those of its own process.
    """
    from tfx.dsl.components.base.executor_spec import BeamExecutorSpec

    given = [str(word) for word in pipeline.beam_pipeline_args]
    known = IN_PROCESS if in_this_process(given) else ()
    for component in pipeline.components:
        spared = known if isinstance(component.executor_spec, BeamExecutorSpec) else given
        label = spec["components"][component.id]["executorLabel"]
        container = spec["deploymentSpec"]["executors"][label].get("container", {})
        args = container.get("args", [])
        args[:] = [word for word in args if word not in spared]


def _shorten_types(spec: Mapping[str, Any]) -> None:
    """Leave the title of each type, for Kubeflow's driver and launcher read nothing else."""
    for component in spec["components"].values():
        for side in ("input", "output"):
            definitions = component.get(f"{side}Definitions", {})
            for key, title in _titles(definitions):
                declared = definitions["artifacts"][key]["artifactType"]
                declared["instanceSchema"] = f"title: {title}"


def spare_configuration(spec: Mapping[str, Any]) -> None:
    """Leave out of Report's configuration what Pusher is given, too, and hands on to it."""
    tasks = spec["root"]["dag"]["tasks"]
    whole, recorded = (
        tasks.get(name, {}).get("inputs", {}).get("parameters", {}).get("configuration", {})
        for name in ("Report", "Pusher")
    )
    if "runtimeValue" not in whole or "runtimeValue" not in recorded:
        return
    known = json.loads(recorded["runtimeValue"]["constant"])
    nodes = json.loads(whole["runtimeValue"]["constant"])
    others = {name: node for name, node in nodes.items() if known.get(name) != node}
    whole["runtimeValue"]["constant"] = json.dumps(others)


def shorten_parameters(spec: Mapping[str, Any]) -> None:
    """Write constants in fewer bytes: a Workflow's status repeats them (`workflow_size.py`)."""
    for task in spec["root"]["dag"]["tasks"].values():
        for given in task.get("inputs", {}).get("parameters", {}).values():
            constant = given.get("runtimeValue", {}).get("constant")
            if isinstance(constant, str):
                given["runtimeValue"]["constant"] = shortened(constant)


def _forbid_caching(spec: Mapping[str, Any], tasks: Sequence[str]) -> None:
    for name in tasks:
        spec["root"]["dag"]["tasks"][name]["cachingOptions"] = {"enableCache": False}


def _plain(value: Any) -> Any:
    """Without anchors: YAML would write an object that is used twice as a reference."""
    if isinstance(value, Mapping):
        return {key: _plain(below) for key, below in value.items()}
    return [_plain(below) for below in value] if isinstance(value, list) else value
