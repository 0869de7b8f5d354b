"""What SECURITY.md says of the code: no data that can carry code is read, no shell is started."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from yt8m.schemas import config_layers

ROOT = Path(__file__).parents[3]
SOURCES = sorted(
    path
    for place in ("components", "pipeline", "schemas", "kubeflow")
    for path in (ROOT / place).rglob("*.py")
)
CARRY_CODE = {"pickle", "cPickle", "cloudpickle", "dill", "marshal", "shelve", "joblib"}
# Keras' own format may hold lambdas; a SavedModel is read with TensorFlow alone.
KERAS_LOADERS = {"load_model", "model_from_json", "model_from_config", "load_weights"}


def unsafe(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.split(".")[0] in CARRY_CODE)
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in CARRY_CODE:
            yield str(node.module)
        if isinstance(node, ast.Call):
            yield from unsafe_call(node)


def unsafe_call(node: ast.Call) -> Iterator[str]:
    called = ast.unparse(node.func)
    given = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
    if called in ("eval", "exec") or called.endswith(("os.system", "os.popen")):
        yield called
    if called.endswith("np.load") and given.get("allow_pickle") != "False":
        yield f"{called} without allow_pickle=False"
    if called.endswith("yaml.load") and given.get("Loader") != "_NoDoubles":
        yield f"{called} with another loader"
    if given.get("shell") == "True":
        yield f"{called} in a shell"
    if "keras" in called and called.rpartition(".")[2] in KERAS_LOADERS:
        yield called


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_source_file_reads_nothing_that_can_carry_code(path: Path) -> None:
    assert list(unsafe(ast.parse(path.read_text()))) == []


@pytest.mark.parametrize(
    "text",
    [
        "import pickle",
        "from dill import loads",
        "np.load(path)",
        "yaml.load(text, Loader=yaml.Loader)",
        "subprocess.run(text, shell=True)",
        "tf_keras.models.load_model(path)",
        "eval(text)",
    ],
)
def test_what_could_carry_code_is_noticed(text: str) -> None:
    assert list(unsafe(ast.parse(text)))


def test_yaml_is_read_by_a_loader_that_makes_no_objects() -> None:
    assert issubclass(config_layers._NoDoubles, yaml.SafeLoader)
    with pytest.raises(config_layers.ConfigError):
        config_layers.parse_yaml("!!python/object/apply:os.system [true]", source="here")
