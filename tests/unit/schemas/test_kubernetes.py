"""One grammar of quantities for the pods of components and for those of training jobs."""

import pytest

from yt8m.components.trainer.kubernetes_config import RoleConfig
from yt8m.kubeflow.config import PlatformConfig
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.kubernetes import parse_quantity

VALID = [
    ("4", 4),
    ("500m", 0.5),
    (".5", 0.5),
    ("2G", 2e9),
    ("1.5k", 1500),
    ("16Gi", 16 * 2**30),
    ("1e3", 1000),
]
INVALID = ["4GB", "16gi", "1K", "-1", "1 Gi", "m", "."]


@pytest.mark.parametrize(("text", "value"), VALID)
def test_quantities_mean_what_kubernetes_means(text, value):
    assert parse_quantity(text) == value


@pytest.mark.parametrize("text", INVALID)
def test_what_kubernetes_refuses_is_no_quantity(text):
    with pytest.raises(ValueError, match="not a Kubernetes quantity"):
        parse_quantity(text)


def _component(memory):
    return from_dict(
        PlatformConfig, {"resources": {"Trainer": {"memory": memory}}}, path="kubeflow"
    )


def _role(memory):
    return from_dict(RoleConfig, {"memory": memory}, path="trainer.backend.roles.chief")


@pytest.mark.parametrize("config", [_component, _role])
def test_a_component_and_a_training_job_take_the_same_quantities(config):
    for text, _ in VALID:
        config(text)
    for text in INVALID:
        with pytest.raises(ConfigError, match="16Gi"):
            config(text)
