"""Values laid over one another: mappings merge, lists are replaced, another member starts again."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

from yt8m.schemas.config_layers import (
    difference,
    overlay,
    overrides_of,
    parse_overrides,
    parse_yaml,
)
from yt8m.schemas.config_tree import from_dict, to_dict
from yt8m.schemas.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Adam:
    name: Literal["adam"] = "adam"
    rate: float = 0.1
    beta: float = 0.9


@dataclass(frozen=True, kw_only=True)
class Sgd:
    name: Literal["sgd"] = "sgd"
    rate: float = 0.1


@dataclass(frozen=True, kw_only=True)
class Training:
    name: str = "plain"  # a name that is no member's
    optimizer: Adam | Sgd = field(default_factory=Adam)
    other: Adam | None = None
    steps: tuple[int, ...] = ()
    splits: dict[str, tuple[str, ...]] = field(default_factory=dict)


CASES = [
    ({"a": 1, "b": 2}, {"b": 3}, {"a": 1, "b": 3}),
    ({"steps": [1, 2]}, {"steps": [3]}, {"steps": [3]}),
    ({"splits": {"a": [1]}}, {"splits": {"b": [2]}}, {"splits": {"a": [1], "b": [2]}}),
    (
        {"optimizer": {"name": "adam", "rate": 1, "beta": 2}},
        {"optimizer": {"rate": 3}},
        {"optimizer": {"name": "adam", "rate": 3, "beta": 2}},
    ),
    (
        {"optimizer": {"name": "adam", "rate": 1, "beta": 2}},
        {"optimizer": {"name": "adam", "rate": 3}},
        {"optimizer": {"name": "adam", "rate": 3, "beta": 2}},
    ),
    (
        {"optimizer": {"name": "adam", "rate": 1, "beta": 2}},
        {"optimizer": {"name": "sgd"}},
        {"optimizer": {"name": "sgd"}},
    ),
    ({"name": "a", "steps": [1]}, {"name": "b"}, {"name": "b", "steps": [1]}),
    ({"other": None}, {"other": {"rate": 2}}, {"other": {"rate": 2}}),
    ({"other": {"rate": 2}}, {"other": None}, {"other": None}),
    ({"optimizer": {"name": "adam"}}, {"optimizer": "sgd"}, {"optimizer": "sgd"}),
    ({}, {"unknown": {"x": 1}}, {"unknown": {"x": 1}}),
]


@pytest.mark.parametrize(("base", "over", "merged"), CASES)
def test_overlay(base, over, merged):
    kept = repr((base, over))
    assert overlay(Training, base, over) == merged
    assert repr((base, over)) == kept  # neither is changed


CHANGES = [
    ({}, {}),
    ({"steps": [1, 2]}, {"steps": [1, 2]}),
    ({"optimizer": {"name": "adam", "beta": 2.0}}, {"optimizer": {"beta": 2.0}}),
    ({"optimizer": {"name": "sgd", "rate": 0.1}}, {"optimizer": {"name": "sgd"}}),
    ({"other": {"rate": 0.1}}, {"other": {}}),
    ({"other": {"rate": 3.0}}, {"other": {"rate": 3.0}}),
    ({"splits": {"a": ["x"]}}, {"splits": {"a": ["x"]}}),
]


@pytest.mark.parametrize(("plain", "changes"), CHANGES)
def test_the_difference_laid_over_the_base_gives_the_values_again(plain, changes):
    base, over = to_dict(Training()), to_dict(from_dict(Training, plain))
    assert difference(Training, base, over) == changes
    assert from_dict(Training, overlay(Training, base, changes)) == from_dict(Training, plain)


@pytest.mark.parametrize(
    ("settings", "tree"),
    [
        (["a.b=1", "a.c=x"], {"a": {"b": 1, "c": "x"}}),
        (["a=1", "a=2"], {"a": 2}),
        (["a=[1, 2]", "b=null", "c=", "d=a=b"], {"a": [1, 2], "b": None, "c": None, "d": "a=b"}),
        (["a.name=x", "a.size=3"], {"a": {"name": "x", "size": 3}}),
        ([], {}),
    ],
)
def test_overrides_are_read_as_yaml(settings, tree):
    assert parse_overrides(settings) == tree


@pytest.mark.parametrize("setting", ["a", "=1", "a..b=1", ".a=1", ""])
def test_override_without_path_or_value_is_refused(setting):
    with pytest.raises(ConfigError, match=r"write it as a\.b=value"):
        parse_overrides([setting])


def test_override_that_is_not_yaml_is_refused():
    with pytest.raises(ConfigError, match="--set a="):
        parse_overrides(["a=[1, 2"])


def test_key_that_stands_twice_is_refused_with_its_line():
    with pytest.raises(ConfigError, match=r"run\.yaml, line 3: the key 'steps' is given twice"):
        parse_yaml("trainer:\n  steps: 1\n  steps: 2\n", source="run.yaml")


def test_yaml_fault_names_file_and_line():
    with pytest.raises(ConfigError, match=r"run\.yaml, line 3: expected"):
        parse_yaml("a: 1\nb: [1, 2\n", source="run.yaml")
    with pytest.raises(ConfigError, match=r"run\.yaml"):
        parse_yaml("a: \x01\n", source="run.yaml")


def test_yaml_cannot_run_code():
    with pytest.raises(ConfigError, match="could not determine a constructor"):
        parse_yaml("a: !!python/object/apply:os.system [echo]", source="run.yaml")


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.int64(3), 3),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.array([1, 2]), [1, 2]),
        ({"rate": np.float64(0.5), "steps": (np.int32(4),)}, {"rate": 0.5, "steps": [4]}),
        (Path("a/b.csv"), "a/b.csv"),
    ],
    ids=str,
)
def test_numbers_of_numpy_and_paths_are_values_as_python_s_own(value, plain):
    assert parse_overrides(overrides_of({"a.b": value})) == {"a": {"b": plain}}


@pytest.mark.parametrize("value", [object(), {1, 2}, {(1, 2): 3}])
def test_what_no_configuration_holds_is_named_by_its_path(value):
    with pytest.raises(ConfigError, match=r"a\.b: .*give numbers"):
        overrides_of({"a.b": value})
