"""What is done to TFX's output, on a small spec written by hand; no TFX needed."""

import copy
import json
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
import yaml

from yt8m.components.trainer.config import TrainerConfig
from yt8m.components.trainer.kubernetes_config import TFJobBackend
from yt8m.kubeflow.config import (
    ConfigMapVariable,
    PlatformConfig,
    SecretVariable,
    Volume,
    load_platform,
)
from yt8m.kubeflow.container.run_parameters import with_texts
from yt8m.kubeflow.spec.compile import (
    Target,
    adapt,
    promote,
    set_defaults,
    shorten_parameters,
    spare_configuration,
    to_yaml,
    write_spec,
)
from yt8m.kubeflow.spec.lint import find_problems, lint
from yt8m.kubeflow.spec.paths import check_paths
from yt8m.kubeflow.spec.platform import add_platform, platform_fields
from yt8m.kubeflow.spec.workflow_size import METADATA, patch_bytes, status_bytes
from yt8m.kubeflow.spec_file import Spec, read_spec
from yt8m.pipeline.config import PipelineConfig
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.errors import ConfigError, UserError, Yt8mError
from yt8m.schemas.kubernetes import (
    EmptyDir,
    NodeRequirement,
    PodResources,
    SecurityContext,
    Toleration,
)

RUN_PARAMETERS = {
    "ExampleGen": ["data_root", "span"],
    "Baseline": ["push_dir"],
    "Evaluator": ["gap_threshold", "gap_change_threshold"],
    "Pusher": ["push_dir"],
}


def _constant(value):
    return {"runtimeValue": {"constant": value}}


def _task(name, parameters, after=()):
    task = {
        "componentRef": {"name": name},
        "taskInfo": {"name": name},
        "inputs": {"parameters": {k: _constant(v) for k, v in parameters.items()}},
    }
    return task | ({"dependentTasks": list(after)} if after else {})


@pytest.fixture
def spec():
    tasks = {
        "ExampleGen": _task("ExampleGen", {"data_root": "/data", "span": ""}),
        "Baseline": _task("Baseline", {"push_dir": "/push"}),
        "Evaluator": _task(
            "Evaluator", {"gap_threshold": "", "gap_change_threshold": ""}, ["ExampleGen"]
        ),
        "Pusher": _task("Pusher", {"push_dir": "/push"}, ["Evaluator"]),
    }
    container = {"image": "i:1", "command": ["python"], "args": ["{{$}}"]}
    return {
        "schemaVersion": "2.1.0",
        "pipelineInfo": {"name": "yt8m-test"},
        "defaultPipelineRoot": "s3://bucket/root",
        "components": {name: {"executorLabel": f"{name}_executor"} for name in tasks},
        "deploymentSpec": {
            "executors": {
                f"{name}_executor": {"container": copy.deepcopy(container)} for name in tasks
            }
        },
        "root": {"dag": {"tasks": tasks}},
    }


def test_a_sound_spec_has_no_problem(spec):
    promote(spec, RUN_PARAMETERS)
    assert list(find_problems(spec, add_platform(spec, PlatformConfig()))) == []


def _set(path, value):
    def change(spec):
        *way, last = path
        for key in way:
            spec = spec[key]
        spec[last] = value

    return change


_PUSHER = ("deploymentSpec", "executors", "Pusher_executor")


@pytest.mark.parametrize(
    ("change", "where", "says"),
    [
        (_set(("schemaVersion",), "2.0.0"), "schemaVersion", "2.1.0 alone"),
        (_set(("pipelineInfo",), {"name": "x" * 64}), "pipelineInfo.name", "63"),
        (_set(("pipelineSpec",), {}), "pipelineSpec", "Vertex"),
        (_set(("defaultPipelineRoot",), ""), "defaultPipelineRoot", "--root"),
        (_set(("defaultPipelineRoot",), "/mnt/x"), "defaultPipelineRoot", "s3://"),
        (_set(("components", "Pusher", "metadata"), None), "components.Pusher.metadata", "null"),
        (_set((*_PUSHER, "container", "args"), ["a", None]), "args[1]", "null"),
        (_set(_PUSHER, {"resolver": {}}), "Pusher_executor.resolver", "not implemented"),
        (_set((*_PUSHER, "container", "lifecycle"), {}), "container.lifecycle", "never run"),
        (_set((*_PUSHER, "container", "image"), ""), "container.image", "--image"),
        (_set((*_PUSHER, "container", "command"), []), "container.command", "needs one"),
        (
            _set(
                (*_PUSHER, "container", "command"),
                ["tfx.orchestration.kubeflow.v2.container.kubeflow_v2_run_executor"],
            ),
            "container.command",
            "untyped",
        ),
        (_set((*_PUSHER, "container", "args"), ["x" * 200_000]), "args[0]", "too long"),
        (
            # Quotes of JSON within JSON are longer than they look: 100 kB of these are not taken.
            _set(
                ("root", "dag", "tasks", "Pusher", "inputs", "parameters", "config"),
                {"runtimeValue": {"constant": json.dumps([f"span-{i}/*" for i in range(9000)])}},
            ),
            "Pusher.inputs.parameters",
            "of file patterns write fewer",
        ),
        (
            _set(("root", "dag", "tasks", "Pusher", "dependentTasks"), ["Ghost"]),
            "Pusher.dependentTasks",
            "Ghost",
        ),
        (
            _set(
                ("root", "dag", "tasks", "Pusher", "inputs", "parameters", "x"),
                {"componentInputParameter": "ghost"},
            ),
            "Pusher.inputs.parameters.x",
            "no input 'ghost'",
        ),
        (
            _set(
                ("root", "dag", "tasks", "Pusher", "inputs", "parameters", "x"),
                {"runtimeValue": {"runtimeParameter": "y"}},
            ),
            "Pusher.inputs.parameters.x",
            "2.0",
        ),
        (
            _set(
                ("root", "dag", "tasks", "Pusher", "inputs", "artifacts"),
                {"m": {"taskOutputArtifact": {"producerTask": "Ghost"}}},
            ),
            "Pusher.inputs.artifacts.m",
            "Ghost",
        ),
    ],
)
def test_what_the_backend_refuses_is_refused_with_its_place(spec, change, where, says):
    change(spec)
    problems = list(find_problems(spec, {}))
    assert [p for p in problems if where in p[0] and says in p[1]], problems
    with pytest.raises(ConfigError, match=says):
        lint(spec, {})


def test_a_platform_for_an_executor_that_is_not_there_is_refused(spec):
    platform = {"platforms": {"kubernetes": {"deploymentSpec": {"executors": {"ghost": {}}}}}}
    (problem,) = find_problems(spec, platform)
    assert problem == ("platforms.kubernetes.deploymentSpec.executors.ghost", "no such executor")


def _platform(**pod):
    executors = {"Pusher_executor": pod}
    return {"platforms": {"kubernetes": {"deploymentSpec": {"executors": executors}}}}


@pytest.mark.parametrize(
    ("pod", "says"),
    [
        ({"pvcMount": [{"constant": "team.data", "mountPath": "/d"}]}, "claim 'team.data'"),
        ({"pvcMount": [{"constant": "c" * 64, "mountPath": "/d"}]}, "at most 63"),
        (
            {"pvcMount": [{"constant": "c", "mountPath": path} for path in ("/a", "/b")]},
            "claim 'c' twice",
        ),
        ({"pvcMount": [{"constant": "c", "mountPath": "/s3/x"}]}, "/s3/x: the launcher keeps"),
        ({"secretAsVolume": [{"secretName": "s", "mountPath": "/minio"}]}, "/minio: the launcher"),
    ],
)
def test_a_mount_that_no_pod_could_have_is_refused(spec, pod, says):
    (problem,) = find_problems(spec, _platform(**pod))
    assert "Pusher_executor" in problem[0]
    assert says in problem[1]


def test_a_root_without_a_bucket_is_refused(spec):
    spec["defaultPipelineRoot"] = "s3://"
    assert ("defaultPipelineRoot", "'s3://'; names no bucket (--root)") in find_problems(spec, {})


@pytest.mark.parametrize(
    "volumes",
    [
        (),
        (Volume(path="/mnt/other", claim="c"),),
        (Volume(path="/mnt/wor", claim="c"),),
        (Volume(path="/mnt", secret="s"),),
        (Volume(path="/mnt", claim="c", components=("Pusher",)),),
    ],
)
def test_a_work_dir_on_no_shared_volume_is_refused(spec, volumes):
    with pytest.raises(ConfigError, match=r"kubeflow\.work_dir: /mnt/work lies on no volume"):
        add_platform(spec, PlatformConfig(work_dir="/mnt/work", volumes=volumes))
    add_platform(
        spec, PlatformConfig(work_dir="/mnt/work", volumes=(Volume(path="/mnt", claim="c"),))
    )


def test_what_an_operator_changes_becomes_a_parameter_with_the_constant_as_default(spec):
    promote(spec, RUN_PARAMETERS)
    inputs = spec["root"]["inputDefinitions"]["parameters"]
    assert set(inputs) == {name for names in RUN_PARAMETERS.values() for name in names}
    assert inputs["push_dir"] == {"parameterType": "STRING", "defaultValue": "/push"}
    tasks = spec["root"]["dag"]["tasks"]
    for task in ("Baseline", "Pusher"):
        assert tasks[task]["inputs"]["parameters"]["push_dir"] == {
            "componentInputParameter": "push_dir"
        }


def _with_nodes(spec, gate, data):
    tasks = spec["root"]["dag"]["tasks"]
    tasks["Evaluator"]["inputs"]["parameters"]["gate"] = _constant(json.dumps(gate))
    tasks["ExampleGen"]["inputs"]["parameters"]["config"] = _constant(json.dumps(data))
    promote(spec, RUN_PARAMETERS)
    set_defaults(spec)
    return spec["root"]["inputDefinitions"]["parameters"]


def test_a_runs_parameters_show_what_was_compiled_and_thresholds_are_numbers(spec):
    gate = {"gap_threshold": 1, "gap_change_threshold": -0.01}
    inputs = _with_nodes(spec, gate, {"root": "/configured", "span": "latest"})
    assert inputs == {
        "data_root": {"parameterType": "STRING", "defaultValue": "/data"},  # from the constant
        "span": {"parameterType": "STRING", "defaultValue": "latest"},
        "push_dir": {"parameterType": "STRING", "defaultValue": "/push"},
        "gap_threshold": {"parameterType": "NUMBER_DOUBLE", "defaultValue": 1.0},
        "gap_change_threshold": {"parameterType": "NUMBER_DOUBLE", "defaultValue": -0.01},
    }
    assert isinstance(inputs["gap_threshold"]["defaultValue"], float)  # JSON's 1 would do as well
    declared = spec["components"]["Evaluator"]["inputDefinitions"]["parameters"]
    assert set(declared) == {"gap_threshold", "gap_change_threshold"}
    assert {p["parameterType"] for p in declared.values()} == {"NUMBER_DOUBLE"}


def test_a_threshold_that_the_gate_does_not_have_is_no_parameter_of_a_run(spec):
    gate = {"gap_threshold": None, "gap_change_threshold": 0.0}
    inputs = _with_nodes(spec, gate, {"root": "", "span": ""})
    assert "gap_threshold" not in inputs
    assert inputs["gap_change_threshold"]["defaultValue"] == 0.0
    given = spec["root"]["dag"]["tasks"]["Evaluator"]["inputs"]["parameters"]
    assert given["gap_threshold"] == _constant("")
    assert given["gap_change_threshold"] == {"componentInputParameter": "gap_change_threshold"}


@pytest.mark.parametrize(("number", "text"), [(0.8, "0.8"), (1, "1"), (-0.005, "-0.005")])
def test_a_number_of_kubeflows_becomes_the_text_that_the_evaluator_takes(number, text):
    given = {"gap_threshold": number, "span": "3", "epochs": 2}
    assert with_texts(given) == {"gap_threshold": text, "span": "3", "epochs": 2}


def test_a_pipeline_without_such_a_parameter_or_with_two_values_is_refused(spec):
    other = copy.deepcopy(spec)
    del other["root"]["dag"]["tasks"]["Evaluator"]["inputs"]["parameters"]["gap_threshold"]
    with pytest.raises(Yt8mError, match=r"'gap_threshold' of Evaluator"):
        promote(other, RUN_PARAMETERS)
    spec["root"]["dag"]["tasks"]["Pusher"]["inputs"]["parameters"]["push_dir"] = _constant("/b")
    with pytest.raises(Yt8mError, match="different values"):
        promote(spec, RUN_PARAMETERS)


def test_the_report_is_given_only_what_pusher_has_not_put_on_record(spec):
    """Report reads the rest from the artifact that Pusher leaves."""
    tasks = spec["root"]["dag"]["tasks"]
    recorded = {"trainer": {"max_steps": 5}, "gate": {"mode": "enforce"}}
    whole = {**recorded, "gate": {"mode": "none"}, "notify": {"command": "mail"}}
    tasks["Pusher"]["inputs"]["parameters"]["configuration"] = _constant(json.dumps(recorded))
    tasks["Report"] = _task("Report", {"configuration": json.dumps(whole)}, ["Pusher"])
    spare_configuration(spec)
    left = tasks["Report"]["inputs"]["parameters"]["configuration"]["runtimeValue"]["constant"]
    assert json.loads(left) == {"gate": {"mode": "none"}, "notify": {"command": "mail"}}
    kept = tasks["Pusher"]["inputs"]["parameters"]["configuration"]
    assert kept == _constant(json.dumps(recorded))


def test_pods_get_what_the_platform_file_says(spec):
    platform = PlatformConfig(
        resources={
            "default": PodResources(cpu="500m", memory="2G", memory_request="1G"),
            "Pusher": PodResources(gpus=2),
        },
        volumes=(
            Volume(path="/data", claim="yt8m"),
            Volume(path="/secret", secret="s3", components=("Pusher",)),
            Volume(path="/settings", config_map="settings", components=("Pusher",)),
            Volume(
                path="/dev/shm",
                empty_dir=EmptyDir(medium="Memory", size="8Gi"),
                components=("Pusher",),
            ),
        ),
        config_maps=(ConfigMapVariable(config_map="settings", key="zone", variable="ZONE"),),
        labels={"Pusher": {"kueue.x-k8s.io/queue-name": "nightly"}},
        annotations={"Pusher": {"cost/team": "videos"}},
        timeout_s={"Pusher": 600},
        security=SecurityContext(run_as_user=10001),
        secrets=(SecretVariable(secret="s3", key="id", variable="AWS_ACCESS_KEY_ID"),),
        node_selector={"Pusher": {"pool": "gpu"}},
        node_affinity={"Pusher": (NodeRequirement(key="gpu", values=("a100", "h100")),)},
        tolerations={"Pusher": (Toleration(key="gpu", effect="NoSchedule"),)},
        environment={"TF_CPP_MIN_LOG_LEVEL": "1"},
        image_pull_secrets=("registry",),
        image_pull_policy="Always",
    )
    document = add_platform(spec, platform)
    executors = document["platforms"]["kubernetes"]["deploymentSpec"]["executors"]
    containers = {k: v["container"] for k, v in spec["deploymentSpec"]["executors"].items()}
    assert containers["Baseline_executor"]["resources"] == {
        "cpuLimit": 0.5,
        "cpuRequest": 0.5,
        "memoryLimit": 2.0,
        "memoryRequest": 1.0,
    }
    assert containers["Pusher_executor"]["resources"] == {
        "accelerator": {"type": "nvidia.com/gpu", "count": "2"}
    }
    assert containers["Pusher_executor"]["env"] == [
        {"name": "TF_CPP_MIN_LOG_LEVEL", "value": "1"},
        {"name": "YT8M_GPUS", "value": "2"},
    ]
    assert containers["Baseline_executor"]["env"] == [
        {"name": "TF_CPP_MIN_LOG_LEVEL", "value": "1"}
    ]
    assert executors["Pusher_executor"] == {
        "pvcMount": [{"constant": "yt8m", "mountPath": "/data"}],
        "secretAsVolume": [{"secretName": "s3", "mountPath": "/secret"}],
        "secretAsEnv": [
            {
                "secretName": "s3",
                "keyToEnv": [{"secretKey": "id", "envVar": "AWS_ACCESS_KEY_ID"}],
            }
        ],
        "imagePullSecret": [{"secretName": "registry"}],
        "imagePullPolicy": "Always",
        "nodeSelector": {"labels": {"pool": "gpu"}},
        "nodeAffinity": [
            {"matchExpressions": [{"key": "gpu", "operator": "In", "values": ["a100", "h100"]}]}
        ],
        "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "configMapAsVolume": [{"configMapName": "settings", "mountPath": "/settings"}],
        "configMapAsEnv": [
            {
                "configMapName": "settings",
                "keyToEnv": [{"configMapKey": "zone", "envVar": "ZONE"}],
            }
        ],
        "emptyDirMounts": [
            {
                "volumeName": "empty-dev-shm",
                "mountPath": "/dev/shm",
                "medium": "Memory",
                "sizeLimit": "8Gi",
            }
        ],
        "podMetadata": {
            "labels": {"kueue.x-k8s.io/queue-name": "nightly"},
            "annotations": {"cost/team": "videos"},
        },
        "activeDeadlineSeconds": 600,
        "securityContext": {"runAsUser": 10001, "runAsNonRoot": True},
    }
    assert "secretAsVolume" not in executors["Baseline_executor"]
    assert "nodeSelector" not in executors["Baseline_executor"]


def test_what_one_document_alone_would_leave_out_is_known(spec):
    assert platform_fields(add_platform(spec, PlatformConfig())) == set()
    claim = Volume(path="/x", claim="c", components=("Pusher",))
    platform = PlatformConfig(volumes=(claim,), image_pull_policy="Always")
    assert platform_fields(add_platform(spec, platform)) == {"pvcMount", "imagePullPolicy"}


def test_a_component_that_is_not_in_the_pipeline_is_named(spec):
    platform = PlatformConfig(
        resources={"Trainr": PodResources()},
        volumes=(Volume(path="/x", claim="c", components=("P",)),),
    )
    with pytest.raises(ConfigError) as error:
        add_platform(spec, platform)
    assert "kubeflow.resources: no component 'Trainr'" in str(error.value)
    assert "kubeflow.volumes: no component 'P'" in str(error.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("volumes: []\n", "one key `kubeflow:`"),
        ("kubeflow:\n  volums: []\n", "did you mean volumes"),
        ("kubeflow:\n  volumes: [{path: data, claim: c}]\n", "an absolute path"),
        ("kubeflow:\n  volumes: [{path: /d, claim: c, secret: s}]\n", "not two of them"),
        ("kubeflow:\n  resources: {default: {memory: 4GB}}\n", "16Gi"),
        ("kubeflow:\n  image_pull_policy: always\n", "Always"),
        ("kubeflow: [\n", "not YAML"),
    ],
)
def test_a_wrong_platform_file_says_where_and_what(tmp_path, text, says):
    file = tmp_path / "cluster.yaml"
    file.write_text(text)
    with pytest.raises(UserError, match=says):
        load_platform(str(file))


def test_a_platform_file_that_is_not_there_or_no_text_is_named(tmp_path):
    with pytest.raises(UserError, match="/nowhere"):
        load_platform("/nowhere/cluster.yaml")
    (tmp_path / "x.yaml").write_bytes(b"kubeflow: \xff")
    with pytest.raises(UserError, match=r"x\.yaml is not YAML"):
        load_platform(str(tmp_path / "x.yaml"))


def test_the_same_content_gives_the_same_file_and_the_same_version(spec, tmp_path):
    platform = add_platform(spec, PlatformConfig(volumes=(Volume(path="/x", claim="c"),)))
    file = tmp_path / "pipeline.yaml"
    one = Spec(pipeline=spec, platform=platform)
    write_spec(one, str(file))
    again = json.loads(json.dumps(spec))
    assert file.read_text() == to_yaml(Spec(pipeline=again, platform=platform))
    assert read_spec(str(file)).version_name == one.version_name
    assert "&id" not in file.read_text()


def test_the_version_does_not_depend_on_the_library_that_compressed_a_parameter(spec, monkeypatch):
    compress, texts, versions = zlib.compress, set(), set()
    spec["root"]["dag"]["tasks"]["Pusher"] = _task("Pusher", {"schema": "feature {}\n" * 100})
    for level in (0, 9):
        monkeypatch.setattr(zlib, "compress", lambda data, _, n=level: compress(data, n))
        once = copy.deepcopy(spec)
        shorten_parameters(once)
        texts.add(json.dumps(once))
        versions.add(Spec(pipeline=once).version_name)
    assert len(texts) == 2
    assert len(versions) == 1


def test_a_place_that_cannot_be_written_is_said(spec):
    with pytest.raises(ConfigError, match="--out /nowhere"):
        write_spec(Spec(pipeline=spec), "/nowhere/pipeline.yaml")


def test_links_become_references_where_every_component_has_its_own_machine():
    target = Target(image="i", root="s3://b/r", platform=PlatformConfig())
    config = adapt(PipelineConfig(), target)
    assert config.data.ingest.value == "reference"


def test_what_outlives_a_run_lies_on_the_shared_volume_not_in_the_object_store():
    shared = Target(image="i", root="s3://b/r", platform=PlatformConfig(work_dir="/mnt/work"))
    assert adapt(PipelineConfig(), shared).root == "/mnt/work"
    assert adapt(PipelineConfig(name="frame_dbof"), shared).name == "frame-dbof"


def test_training_on_many_pods_without_a_shared_directory_is_refused():
    config = PipelineConfig(trainer=TrainerConfig(backend=TFJobBackend()))
    alone = Target(image="i", root="s3://b/r", platform=PlatformConfig())
    with pytest.raises(ConfigError, match="work_dir"):
        adapt(config, alone)
    shared = Target(image="i", root="s3://b/r", platform=PlatformConfig(work_dir="/mnt/work"))
    assert adapt(config, shared).trainer == config.trainer


_CUT_OFF = "pipelineInfo: {name: x}\nroot: {}\n"  # the end of a real one is schemaVersion


@pytest.mark.parametrize(
    "text",
    [
        *("a: [", "just text", "{}", "", "5", "- a", "pipelineInfo: 3\nroot: []\n", _CUT_OFF),
        _CUT_OFF + "schemaVersion: 2.1.0\n---\n- no platform\n",
    ],
)
def test_a_file_that_is_no_compiled_pipeline_is_refused(tmp_path, text):
    file = tmp_path / "x.yaml"
    file.write_text(text)
    with pytest.raises(UserError, match=str(file)):
        read_spec(str(file))


_CLUSTER = PlatformConfig(
    work_dir="/mnt/yt8m/work",
    volumes=(
        Volume(path="/mnt/yt8m", claim="c"),
        Volume(path="/scratch", empty_dir=EmptyDir()),
    ),
)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/mnt/yt8m/vocabulary.csv", ""),
        ("/mnt/yt8m", ""),
        ("gs://bucket/vocabulary.csv", ""),
        ("/mnt/yt8m-other/vocabulary.csv", "lies on no volume that pods mount"),
        ("/scratch/vocabulary.csv", "lies on no volume that pods mount"),
        ("/home/kim/vocabulary.csv", r"there: /mnt/yt8m\)"),
        ("vocabulary.csv", "relative to a directory of this machine"),
    ],
)
def test_a_path_of_this_machine_is_refused_before_anything_is_compiled(path, says):
    config = from_dict(PipelineConfig, {"evaluator": {"vocabulary": path}})
    if not says:
        check_paths(config, _CLUSTER)
        return
    with pytest.raises(ConfigError, match=rf"^evaluator\.vocabulary: {path} .*{says}"):
        check_paths(config, _CLUSTER)


def test_what_pods_never_open_may_be_of_this_machine():
    config = from_dict(PipelineConfig, {"root": "run", "retrain": {"metrics_file": "x.prom"}})
    check_paths(config, _CLUSTER)


def test_paths_are_looked_at_without_tensorflow():
    script = (
        "import sys\n"
        "from yt8m.kubeflow.config import PlatformConfig\n"
        "from yt8m.kubeflow.spec.compile import Target, compile_config\n"
        "from yt8m.pipeline.config import PipelineConfig\n"
        "from yt8m.schemas.config_tree import from_dict\n"
        "from yt8m.schemas.errors import ConfigError\n"
        "values = {'data': {'root': '/here'}, 'gate': {'gap_threshold': 0.5}}\n"
        "config = from_dict(PipelineConfig, values)\n"
        "target = Target(image='i:1', root='s3://b/r', platform=PlatformConfig())\n"
        "try:\n"
        "    compile_config(config, target)\n"
        "except ConfigError as error:\n"
        "    print(error, 'tensorflow' in sys.modules, 'tfx' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "data.root: /here lies on no volume" in done.stdout, done.stderr
    assert done.stdout.endswith("False False\n")


GOLDEN = Path(__file__).parents[2] / "golden" / "kubeflow"


# Argo keeps 1 MiB at most, and a run with retries has more nodes than one without.
@pytest.mark.parametrize(("name", "most"), [("smoke.yaml", 600_000), ("frame_dbof.yaml", 680_000)])
def test_a_runs_workflow_stays_far_below_what_argo_keeps(name, most):
    spec, *rest = yaml.safe_load_all((GOLDEN / name).read_text())
    shorten_parameters(spec)
    assert status_bytes(spec, rest[0] if rest else {}) < most


# What the launcher's configuration said of the store, which is in every artifact of the record.
STORE = {
    "Provider": "s3",
    "Params": {
        "accessKeyKey": "access-key",
        "disableSSL": "true",
        "endpoint": "minio-service.kubeflow:9000",
        "forcePathStyle": "true",
        "fromEnv": "false",
        "maxRetries": "5",
        "region": "us-east-1",
        "secretKeyKey": "secret-key",
        "secretName": "mlpipeline-minio-artifact",
    },
}


def test_the_pod_that_kubeflows_driver_describes_is_as_large_as_the_arithmetic_says():
    """The bytes of pod-spec-patch that driver 2.17.0 wrote, and the spec that it was given."""
    record = json.loads((GOLDEN / "records" / "pod_spec_patches.json").read_text())
    store = json.dumps(STORE, separators=(",", ":"))
    metadata = {**METADATA, "store_session_info": store}
    counted = {
        task: patch_bytes(record["spec"], record["platform"], task, metadata)
        for task in record["bytes"]
    }
    assert counted == pytest.approx(record["bytes"], rel=0.05)
