"""Frozen dataclasses from plain values: what is accepted and refused, and how it is said."""

import enum
import json
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from yt8m.schemas.config_tree import flatten, from_dict, members_by_tag, require, to_dict
from yt8m.schemas.errors import EXIT_USER, ConfigError


class Light(enum.Enum):
    ON = "on"
    OFF = "off"
    AUTO = "auto"


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


@dataclass(frozen=True, kw_only=True)
class Cat:
    name: Literal["cat"] = "cat"
    lives: int = 9


@dataclass(frozen=True, kw_only=True)
class Dog:
    name: Literal["dog"] = "dog"
    weight_kg: float = 12.0

    def __post_init__(self) -> None:
        require(self.weight_kg > 0, "weight_kg", self.weight_kg, "above 0")


@dataclass(frozen=True, kw_only=True)
class House:
    rooms: int
    rent: float = 1.5
    is_sold: bool = False
    street: str = ""
    colour: Colour = Colour.RED
    floor: Literal["wood", "stone"] = "wood"
    light: Light = Light.AUTO
    garden: float | None = None
    doors: tuple[int, ...] = ()
    names: dict[str, tuple[str, ...]] = field(default_factory=dict)
    pet: Cat | Dog = field(default_factory=Cat)
    guard: Dog | None = None
    pets: tuple[Cat | Dog, ...] = ()


ACCEPTED = [
    ("rooms", 3, 3),
    ("rooms", 3.0, 3),
    ("rooms", "1e3", 1000),
    ("rent", 2, 2.0),
    ("rent", "1e-3", 0.001),
    ("rent", "5E+2", 500.0),
    ("colour", "green", Colour.GREEN),
    ("light", "off", Light.OFF),
    ("light", yaml.safe_load("off"), Light.OFF),
    ("light", yaml.safe_load("on"), Light.ON),
    ("garden", None, None),
    ("garden", 4, 4.0),
    ("doors", [1, 2], (1, 2)),
    ("names", {"a": ["x", "y"]}, {"a": ("x", "y")}),
    ("pet", {"name": "dog", "weight_kg": 3}, Dog(weight_kg=3.0)),
    ("guard", None, None),
    ("guard", {"weight_kg": 40}, Dog(weight_kg=40.0)),
    ("pets", [{"name": "cat"}, {"name": "dog"}], (Cat(), Dog())),
]


@pytest.mark.parametrize(("key", "plain", "value"), ACCEPTED)
def test_value_is_accepted_and_converted(key, plain, value):
    found = getattr(from_dict(House, {"rooms": 1, key: plain}), key)
    assert found == value
    assert type(found) is type(value)


REFUSED = [
    ("rooms", "three", "rooms = 'three': must be a whole number"),
    ("rooms", 2.5, "rooms = 2.5: must be a whole number"),
    ("rooms", True, "rooms = True: must be a whole number"),
    ("rooms", None, "rooms = None: must be a whole number"),
    ("rent", "cheap", "rent = 'cheap': must be a finite number"),
    ("rent", float("nan"), "rent = nan: must be a finite number"),
    ("rent", float("inf"), "rent = inf: must be a finite number"),
    ("rent", True, "rent = True: must be a finite number"),
    ("is_sold", "yes", "is_sold = 'yes': must be true or false"),
    ("is_sold", 1, "is_sold = 1: must be true or false"),
    ("street", 7, "street = 7: must be a text (quote it in YAML)"),
    ("colour", "grean", "colour = 'grean': must be one of red, green; did you mean green?"),
    ("colour", True, "colour = True: must be one of red, green"),
    ("floor", "glass", "floor = 'glass': must be one of wood, stone"),
    ("doors", 3, "doors = 3: must be a list"),
    ("doors", "12", "doors = '12': must be a list"),
    ("doors", [1, "x"], "doors[1] = 'x': must be a whole number"),
    ("names", ["a"], "names = ['a']: must be a mapping"),
    ("names", {"a": "x"}, "names.a = 'x': must be a list"),
    ("pet", {"name": "catt"}, "pet.name = 'catt': must be one of cat, dog; did you mean cat?"),
    ("pet", "cat", "pet = 'cat': must be a mapping with the key `name`, one of cat, dog"),
    ("pet", {"name": "cat", "live": 1}, "pet.live: unknown key; did you mean lives?"),
    ("pet", {"name": "dog", "weight_kg": -1}, "pet.weight_kg = -1.0: must be above 0"),
    ("guard", {"weight_kg": 0}, "guard.weight_kg = 0.0: must be above 0"),
    ("guard", 5, "guard = 5: must be a mapping of Dog's keys"),
    ("pets", [{"name": "cat"}, {"name": "cow"}], "pets[1].name = 'cow': must be one of cat, dog"),
    ("room", 3, "room: unknown key; did you mean rooms?"),
    ("zzzz", 3, "zzzz: unknown key; known: rooms, rent"),
]


@pytest.mark.parametrize(("key", "plain", "message"), REFUSED)
def test_value_is_refused_with_its_path_and_what_is_allowed(key, plain, message):
    with pytest.raises(ConfigError) as error:
        from_dict(House, {"rooms": 1, key: plain})
    assert len(error.value.problems) == 1
    assert error.value.problems[0].startswith(message)
    assert error.value.exit_code == EXIT_USER


def test_missing_value_without_default_is_named():
    with pytest.raises(ConfigError, match=r"house\.rooms: missing"):
        from_dict(House, {}, path="house")


def test_all_problems_are_listed_at_once():
    with pytest.raises(ConfigError) as error:
        from_dict(House, {"rooms": "x", "rent": "y", "pet": {"name": "cat", "lives": "z"}})
    paths = [problem.partition(" ")[0] for problem in error.value.problems]
    assert paths == ["rooms", "rent", "pet.lives"]
    assert str(error.value).count("\n") == 2


def test_exponent_without_a_dot_in_yaml_is_a_number():
    text = yaml.safe_load("rent: 1e-3")
    assert text == {"rent": "1e-3"}  # YAML 1.1's reading, which nobody means
    assert from_dict(House, {"rooms": 1, **text}).rent == 0.001


PETS = st.one_of(
    st.builds(Cat, lives=st.integers()),
    st.builds(Dog, weight_kg=st.floats(min_value=0.1, max_value=99)),
)
HOUSES = st.builds(
    House,
    rooms=st.integers(),
    rent=st.floats(allow_nan=False, allow_infinity=False),
    is_sold=st.booleans(),
    street=st.text(),
    colour=st.sampled_from(Colour),
    floor=st.sampled_from(["wood", "stone"]),
    light=st.sampled_from(Light),
    garden=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    doors=st.lists(st.integers()).map(tuple),
    names=st.dictionaries(st.text(), st.lists(st.text()).map(tuple), max_size=3),
    pet=PETS,
    guard=st.none() | st.builds(Dog),
    pets=st.lists(PETS, max_size=3).map(tuple),
)


@given(HOUSES)
def test_json_and_yaml_round_trips_are_equal(house):
    plain = to_dict(house)
    assert from_dict(House, json.loads(json.dumps(plain))) == house
    assert from_dict(House, yaml.safe_load(yaml.safe_dump(plain))) == house
    assert to_dict(from_dict(House, plain)) == plain


def test_node_made_in_code_is_refused_with_the_same_words():
    with pytest.raises(ConfigError, match=r"weight_kg = -1\.0: must be above 0"):
        Dog(weight_kg=-1.0)


def test_flatten_gives_dotted_paths():
    assert flatten({"a": {"b": 1, "c": {}}, "d": [1]}) == {"a.b": 1, "a.c": {}, "d": [1]}


def test_members_of_a_union_are_told_by_name():
    assert members_by_tag(Cat | Dog) == {"cat": Cat, "dog": Dog}
    assert members_by_tag(Dog | None) == {}
    assert members_by_tag(int) == {}


def test_numbers_with_an_exponent_are_numbers_where_no_type_says_so():
    @dataclass(frozen=True, kw_only=True)
    class Own:
        arguments: dict[str, Any] = field(default_factory=dict)

    text = "{epsilon: 1e-5, rates: [1E+3, {a: -2.e-1}], name: 1e5x, kind: e, digits: '12'}"
    assert from_dict(Own, {"arguments": yaml.safe_load(text)}).arguments == {
        "epsilon": 1e-5,
        "rates": [1000.0, {"a": -0.2}],
        "name": "1e5x",
        "kind": "e",
        "digits": "12",
    }
