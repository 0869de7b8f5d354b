"""The compiled documents in the words of kfp's own messages: a field that they lack is an error."""

from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import yaml
from golden_specs import CASES, GOLDEN
from google.protobuf import json_format
from kfp.pipeline_spec.pipeline_spec_pb2 import PipelineDeploymentConfig, PipelineSpec

# Known to the backend since 2.1, the last since 2.17, and not yet to the kfp-kubernetes that fits
# beside TFX 1.16.
NEWER = {"imagePullPolicy", "imagePullSecret", "securityContext"}


def _kubernetes_messages():
    """The package around this module imports kfp, which is not installed."""
    name = "kubernetes_executor_config_pb2"
    (folder,) = find_spec("kfp.kubernetes").submodule_search_locations
    spec = spec_from_file_location(name, Path(folder, f"{name}.py"))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


KubernetesExecutorConfig = _kubernetes_messages().KubernetesExecutorConfig


def documents(name):
    spec, *rest = yaml.safe_load_all((GOLDEN / name).read_text())
    return spec, (rest[0] if rest else {"platforms": {}})


@pytest.mark.parametrize("name", CASES)
def test_the_pipeline_is_a_pipeline_spec(name):
    spec, _ = documents(name)
    message = json_format.ParseDict(spec, PipelineSpec())
    assert set(message.root.dag.tasks) == set(spec["root"]["dag"]["tasks"])


@pytest.mark.parametrize("name", CASES)
def test_every_executor_is_one_with_a_container(name):
    spec, _ = documents(name)
    for label, executor in spec["deploymentSpec"]["executors"].items():
        message = json_format.ParseDict(executor, PipelineDeploymentConfig.ExecutorSpec())
        assert message.WhichOneof("spec") == "container", label


def test_what_pods_get_is_said_in_kubeflows_words():
    spec, platform = documents("frame_dbof.yaml")
    trainer = spec["deploymentSpec"]["executors"]["Trainer_executor"]
    container = json_format.ParseDict(trainer, PipelineDeploymentConfig.ExecutorSpec()).container
    assert (container.resources.cpu_limit, container.resources.cpu_request) == (8, 8)
    assert container.resources.memory_limit == pytest.approx(32 * 2**30 / 1e9)
    assert container.resources.accelerator.count == 1
    pods = platform["platforms"]["kubernetes"]["deploymentSpec"]["executors"]
    for label, pod in pods.items():
        assert label in spec["deploymentSpec"]["executors"]
        known = {key: value for key, value in pod.items() if key not in NEWER}
        message = json_format.ParseDict(known, KubernetesExecutorConfig())
        assert [mount.mount_path for mount in message.pvc_mount] == ["/mnt/yt8m"]
    config = json_format.ParseDict(
        {k: v for k, v in pods["Trainer_executor"].items() if k not in NEWER},
        KubernetesExecutorConfig(),
    )
    assert dict(config.node_selector.labels) == {"pool": "gpu"}
    assert dict(config.pod_metadata.labels) == {"kueue.x-k8s.io/queue-name": "nightly"}
    assert config.active_deadline_seconds == 86400
    assert config.config_map_as_env[0].key_to_env[0].env_var == "ZONE"
    (secret,) = config.secret_as_env
    assert secret.key_to_env[0].env_var == "AWS_ACCESS_KEY_ID"


def test_a_field_that_kubeflow_does_not_know_is_noticed():
    with pytest.raises(json_format.ParseError, match="mountpath"):
        json_format.ParseDict({"pvcMount": [{"mountpath": "/x"}]}, KubernetesExecutorConfig())
