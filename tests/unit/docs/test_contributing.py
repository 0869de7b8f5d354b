"""CONTRIBUTING's ways to add something, walked by what was added before."""

import re
import typing

import pytest
from docs_blocks import ROOT, files_of

from yt8m.components.metrics import METRICS
from yt8m.components.models.config import LossName, ModelConfig
from yt8m.components.storage.schemes import BACKENDS
from yt8m.components.trainer.backend_config import BackendConfig

WAYS = (
    "A model",
    "A loss",
    "A metric",
    "A plot of the report",
    "A step",
    "A storage scheme",
    "A backend of the trainer",
)
# Of Trainer and Transform the executor is TFX's own.
STEPS = sorted(path.parent.name for path in (ROOT / "components").glob("*/executor.py"))


def text_of(path: str) -> str:
    return (ROOT / path).read_text()


@pytest.mark.parametrize("way", WAYS)
def test_a_way_is_six_files_at_most_and_they_are_there(way):
    files = files_of(way)
    assert 3 <= len(files) <= 6
    assert [name for name in files if not list(ROOT.glob(name))] == []


@pytest.mark.parametrize("model", typing.get_args(ModelConfig), ids=lambda model: model().name)
def test_every_model_is_in_the_files_of_its_way(model):
    config, _, network, page, _ = files_of("A model")
    assert f"class {model.__name__}(" in text_of(config)
    assert f"{model.__name__}()" in text_of(network)
    assert f"| `{model().name}` |" in text_of(page)


@pytest.mark.parametrize("loss", [name for name in LossName if name is not LossName.OWN])
def test_every_loss_is_in_the_files_of_its_way(loss):
    config, losses, page, tests = files_of("A loss")
    assert f'{loss.name} = "{loss.value}"' in text_of(config)
    assert f"LossName.{loss.name}" in text_of(losses)
    assert loss.value in text_of(page)
    assert f"LossName.{loss.name}" in text_of(tests)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_every_metric_is_in_the_files_of_its_way(metric):
    catalogue, page, _ = files_of("A metric")
    assert f'"{metric.title}"' in text_of(catalogue)
    assert f"| `{metric.name}` | {metric.meaning} |" in text_of(page)


def test_every_plot_is_in_the_files_of_its_way():
    plots, templates, _ = files_of("A plot of the report")
    functions = re.findall(r"^def ([a-z]\w*)\(", text_of(plots), flags=re.M)
    called = [re.findall(r"plots\.(\w+)\(", path.read_text()) for path in ROOT.glob(templates)]
    assert sorted(functions) == sorted(name for names in called for name in names)


@pytest.mark.parametrize("step", STEPS)
def test_every_step_is_in_the_files_of_its_way(step):
    *own, config, graph, layers = files_of("A step")
    assert all((ROOT / name.replace("*", step)).is_file() for name in own)
    for name in (config, graph):
        assert f"yt8m.components.{step}." in text_of(name)
    assert re.search(rf"^    .*\b{step}\b", text_of(layers), flags=re.M)


@pytest.mark.parametrize("scheme", [name for name in BACKENDS if name])
def test_every_storage_scheme_is_in_the_files_of_its_way(scheme):
    backends, table, tests = files_of("A storage scheme")
    name = type(BACKENDS[scheme]).__name__
    classes = [path for path in ROOT.glob(backends) if f"class {name}(" in path.read_text()]
    assert len(classes) == 1
    assert f'"{scheme}": {name}()' in text_of(table)
    server = f"{classes[0].stem}_server"
    assert any(server in path.read_text() for path in ROOT.glob(tests))


@pytest.mark.parametrize("backend", typing.get_args(BackendConfig), ids=lambda b: b().name)
def test_every_backend_is_in_the_files_of_its_way(backend):
    config, own, choice, *_ = files_of("A backend of the trainer")
    assert backend.__name__ in text_of(config)
    classes = "\n".join(path.read_text() for path in ROOT.glob(own))
    assert "def run(self, job: TrainingJob, environ: Mapping[str, str]) -> None:" in classes
    chosen = text_of(choice)
    assert backend.__name__ in chosen or backend().name in ("tfjob", "jobset")  # the last resort
