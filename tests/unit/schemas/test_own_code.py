"""The user's own modules: found in the working directory, and their content in the cache keys."""

import importlib
import json
import sys

import pytest

from yt8m.pipeline.presets import load_config
from yt8m.pipeline.run.preflight import preflight
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.own_code import fault_of, load_named, missing_module
from yt8m.schemas.roles import own_modules

OWN_METRIC = 'metrics_specs { metrics { class_name: "A" module: "own_m" } }'


@pytest.fixture
def package(tmp_path, monkeypatch):
    """my_parts/networks.py, which imports its neighbour and a file beside the package."""
    folder = tmp_path / "my_parts"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "networks.py").write_text(
        "from . import layers\nimport beside\nimport json\nVALUE = 1\n"
    )
    (folder / "layers.py").write_text("SIZE = 3\n")
    (folder / "unused.py").write_text("")
    (tmp_path / "beside.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    yield tmp_path
    for name in [n for n in sys.modules if n.partition(".")[0] in ("my_parts", "beside")]:
        del sys.modules[name]


def test_what_a_path_names_is_loaded_or_the_message_says_where_it_must_be(package):
    assert load_named("my_parts.networks.VALUE", "x = y") == 1
    assert missing_module("my_parts.networks") == missing_module("") == ""
    with pytest.raises(ConfigError, match=r"x = y: cannot be imported .*no attribute"):
        load_named("my_parts.networks.NOTHING", "x = y")
    with pytest.raises(ConfigError, match="on Kubeflow it must be in the image"):
        load_named("not_there.networks.Network", "x = y")


@pytest.mark.parametrize(
    ("ends", "why"),
    [
        ("raise RuntimeError('no\\nGPU')", "RuntimeError: no GPU"),
        ("import sys; sys.exit(0)", "SystemExit: 0"),
        ("import sys; sys.exit()", "SystemExit"),
        ("{}['width']", "KeyError: 'width'"),
    ],
)
def test_a_module_that_fails_or_ends_the_process_is_the_users_mistake(package, ends, why):
    (package / "my_parts" / "networks.py").write_text(f"VALUE = 1\n{ends}\n")
    with pytest.raises(ConfigError) as caught:
        load_named("my_parts.networks.VALUE", "x = y")
    place = package / "my_parts" / "networks.py"
    assert str(caught.value) == f"x = y: cannot be imported ({place}, line 2: {why})"


def test_a_missing_module_is_found_before_the_run_starts(tmp_path):
    config = load_config(
        "smoke",
        [
            f"root={tmp_path}",
            "trainer.network=not_there.Net",
            "transform.function=not_there.vectors",
            f"evaluator.eval_config={json.dumps(OWN_METRIC)}",
        ],
    )
    assert own_modules(config.evaluator) == ["own_m"]
    with pytest.raises(ConfigError) as caught:
        preflight(config, {})
    assert "trainer.network: there is no module not_there" in str(caught.value)
    assert "transform.function: there is no module not_there" in str(caught.value)
    assert "evaluator.eval_config: there is no module own_m" in str(caught.value)


@pytest.mark.parametrize("setting", ["trainer.network", "transform.function"])
def test_the_code_is_in_the_key_of_the_run(package, setting):
    from yt8m.pipeline.cache_keys import _run_key

    config = load_config("smoke", [f"{setting}=my_parts.networks.Net"])
    before = _run_key(config, {})
    plain = load_config("smoke")
    unchanged = _run_key(plain, {})
    (package / "my_parts" / "layers.py").write_text("SIZE = 4\n")
    assert _run_key(config, {}) != before
    assert _run_key(plain, {}) == unchanged


@pytest.mark.parametrize(
    ("lines", "line", "problem"),
    [
        (["import numpy, not_there.a"], 1, "there is no module not_there"),
        (["import json", "from not_there import a"], 2, "there is no module not_there"),
        (["def make():", "    return np.zeros(3)"], 2, "np is not defined; import it"),
        (["class Mine(Network):", "    pass"], 1, "Network is not defined; import it"),
        (["try:", "    import not_there", "except ImportError:", "    not_there = None"], 0, ""),
        (["def make():", "    import not_there", "    return not_there"], 0, ""),
        (["import sys", "sys.path.append('elsewhere')", "import not_there"], 0, ""),
        (["import beside  # which may do the same", "import not_there"], 0, ""),
        (["from json import *", "VALUE = loads('1')"], 0, ""),
        (["globals()['a'] = 1", "VALUE = a"], 0, ""),
        (["from __future__ import annotations", "def f(a: Later) -> Later: ..."], 0, ""),
        (["def f(a, *b, **c):", "    return [d for d in (a, b, c) if (e := d) and e]"], 0, ""),
        (["match json_of:", "    case {'a': a, **b} | [a, *b]: VALUE = (a, b, __file__)"], 0, ""),
    ],
)
def test_a_module_that_lacks_an_import_is_found_before_it_is_imported(
    package, lines, line, problem
):
    file = package / "own_m.py"
    text = "\n".join(["json_of = 1" if lines[0].startswith("match") else "", *lines, "USED = 1"])
    file.write_text(text)
    said = fault_of("own_m.USED")
    assert said.startswith(f"{file}, line {line + 1}: {problem}") if problem else said == ""
