"""What is known of a configuration's values at run time."""

import enum
from dataclasses import dataclass, field, make_dataclass
from typing import Annotated, Literal

import pytest

from yt8m.kubeflow.config import PlatformConfig
from yt8m.pipeline.config import PipelineConfig
from yt8m.schemas.config_docs import MEANING, comments, describe, find, limits_text, type_text
from yt8m.schemas.limits import PositiveInt, at_least, below


class Taste(enum.Enum):
    """What it tastes of."""

    SWEET = "sweet"  # as sugar
    SALT = "salt"


@dataclass(frozen=True, kw_only=True)
class Cake:
    """Something baked.

    Only for those who read code.
    """

    name: Literal["cake"] = "cake"
    # How many pieces
    # it is cut into.
    pieces: PositiveInt = 8
    taste: Taste = Taste.SWEET  # of the whole

    def cut(self) -> int:
        return self.pieces  # no field


@dataclass(frozen=True, kw_only=True)
class Tart(Cake):
    """A flat cake."""

    name: Literal["tart"] = "tart"
    toppings: tuple[str, ...] = field(
        default_factory=lambda: ("apple",)
    )  # from the inside outwards


@dataclass(frozen=True, kw_only=True)
class Table:
    """Where one sits."""

    seats: int
    dish: Cake | Tart = field(default_factory=Cake)  # what is eaten
    taste: Taste = Taste.SALT
    plates: dict[str, Cake] = field(default_factory=dict)  # by guest
    more: tuple[Cake, ...] = ()  # if that is not enough


def test_meaning_is_the_comment_beside_or_above():
    assert comments(Tart) == {
        "name": "",
        "pieces": "How many pieces it is cut into.",
        "taste": "of the whole",
        "toppings": "from the inside outwards",
    }
    assert comments(Taste) == {"SWEET": "as sugar", "SALT": ""}


def test_nodes_are_listed_once_with_their_choice():
    found = [(node.path, node.choice, node.meaning) for node in describe(Table)]
    assert found[0] == ("", "", "Where one sits.")
    assert ("dish", "cake", "Something baked.") in found
    assert [path for path, _, _ in found] == ["", "dish", "dish", "plates.*", "more[]"]


def test_field_without_a_comment_means_what_its_type_says():
    by_path = {f.path: f for f in describe(Table)[0].fields}
    assert by_path["taste"].meaning == "What it tastes of."
    assert by_path["taste"].choices == {"sweet": "as sugar", "salt": ""}
    assert by_path["dish"].choices == {"cake": "Something baked.", "tart": "A flat cake."}
    assert (by_path["seats"].required, by_path["seats"].default_text) == (True, "(required)")
    assert by_path["dish"].default_text == "name: cake"


@dataclass(frozen=True, kw_only=True)
class Guest:
    """Somebody who eats."""

    taste: Taste | None = None
    cake: Cake | None = None
    numbers: tuple[int, ...] = ()
    name: str | None = None


def test_without_a_comment_only_types_of_our_own_say_what_a_field_means():
    assert {f.path: f.meaning for f in describe(Guest)[0].fields} == {
        "taste": "What it tastes of.",
        "cake": "Something baked.",
        "numbers": "",
        "name": "",
    }


def test_a_field_created_in_code_has_its_meaning_in_its_metadata():
    rate = field(default=0.5, metadata={MEANING: "Rate of decay"})
    made = make_dataclass("Made", [("rate", float, rate)], namespace={"__doc__": "Keras's Adam."})
    made.__module__ = __name__
    assert [f.meaning for f in describe(made)[0].fields] == ["Rate of decay"]


@pytest.mark.parametrize(
    ("hint", "kind", "limits"),
    [
        (int, "int", ""),
        (PositiveInt, "int", "1 or more"),
        (PositiveInt | None, "int or null", "1 or more"),
        (tuple[PositiveInt, ...], "list of int", "each 1 or more"),
        (dict[str, PositiveInt], "mapping of string to int", "each 1 or more"),
        (Annotated[float, at_least(0), below(1)], "float", "0 or more and below 1"),
        (Literal[0] | Annotated[int, at_least(20)], "0 or int", "20 or more"),
        (Literal["", "Always"], "one of (empty), Always", ""),
        (Taste | int, "one of sweet, salt or int", ""),
        (Cake | Tart, "mapping chosen by name", ""),
        (tuple[Cake, ...], "list of mapping", ""),
    ],
)
def test_types_and_limits_are_said_as_they_are_written_in_yaml(hint, kind, limits):
    assert (type_text(hint), limits_text(hint)) == (kind, limits)


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("dish.pieces", 2),
        ("plates.anna.pieces", 1),
        ("plates.*.pieces", 1),
        ("more.pieces", 1),
        ("more[3].pieces", 1),
        ("dish.none", 0),
        ("", 0),
    ],
)
def test_path_is_found_with_places_and_keys_or_without(path, values):
    assert len(find(describe(Table), path)[0]) == values


@pytest.mark.parametrize("cls", [PipelineConfig, PlatformConfig])
def test_every_value_of_the_configuration_has_a_meaning(cls):
    missing = [
        field.path for node in describe(cls) for field in node.fields if len(field.meaning) < 5
    ]
    assert missing == []
