"""Roles in types: found, left out and replaced, wherever a value stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

import pytest

from yt8m.schemas.config_tree import ConfigNode, from_dict, to_dict
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.limits import PositiveInt
from yt8m.schemas.roles import (
    Bookkeeping,
    Content,
    FilePath,
    OutputPath,
    OwnCode,
    Placement,
    ResultNeutral,
    SourcePath,
    fields_with,
    replaced,
    without,
)


@dataclass(frozen=True, kw_only=True)
class Wheel(ConfigNode):
    name: Literal["wheel"] = "wheel"
    spokes: PositiveInt = 3
    drawing: Annotated[str, SourcePath(Content.FILE)] = "wheel.svg"


@dataclass(frozen=True, kw_only=True)
class Sledge(ConfigNode):
    name: Literal["sledge"] = "sledge"
    builder: Annotated[str, OwnCode()] = "my.shop.build"


@dataclass(frozen=True, kw_only=True)
class Place(ConfigNode):
    town: str = "Leuven"


@dataclass(frozen=True, kw_only=True)
class Cart(ConfigNode):
    under: Wheel | Sledge = field(default_factory=Wheel)
    wheels: tuple[Wheel, ...] = ()
    spares: dict[str, Wheel] = field(default_factory=dict)
    log_every: Annotated[PositiveInt, Bookkeeping(in_step=True)] = 10
    built_in: Annotated[Place | None, Placement()] = None
    bill: Annotated[str, OutputPath()] = "bill.txt"
    colour: str = "red"


CART = Cart(
    wheels=(Wheel(), Wheel(drawing="small.svg")),
    spares={"left": Wheel(drawing="left.svg")},
    built_in=Place(),
)


def test_fields_with_a_role_are_found_in_unions_lists_and_mappings():
    found = {f.path: f.value for f in fields_with(CART, SourcePath)}
    assert found == {
        "under.drawing": "wheel.svg",
        "wheels[0].drawing": "wheel.svg",
        "wheels[1].drawing": "small.svg",
        "spares.left.drawing": "left.svg",
    }
    assert [f.path for f in fields_with(Cart(under=Sledge()), OwnCode)] == ["under.builder"]


def test_a_base_role_finds_those_derived_from_it_and_a_node_is_one_field():
    assert {f.path for f in fields_with(Cart(), FilePath)} == {"under.drawing", "bill"}
    found = {f.path: f.role.in_step for f in fields_with(CART, ResultNeutral)}
    assert found == {"log_every": True, "built_in": False}


def test_what_has_none_of_the_roles_is_left_in_its_plain_form():
    assert without(CART) == to_dict(CART)
    assert without(CART, ResultNeutral, FilePath) == {
        "under": {"name": "wheel", "spokes": 3},
        "wheels": [{"name": "wheel", "spokes": 3}] * 2,
        "spares": {"left": {"name": "wheel", "spokes": 3}},
        "colour": "red",
    }


def test_replaced_values_leave_everything_else_as_it_is():
    changed = replaced(CART, FilePath, lambda path: f"/home/{path}")
    assert {f.value for f in fields_with(changed, FilePath)} == {
        "/home/wheel.svg",
        "/home/small.svg",
        "/home/left.svg",
        "/home/bill.txt",
    }
    assert without(changed, FilePath) == without(CART, FilePath)


def test_own_code_names_the_modules_of_its_value():
    (builder,) = fields_with(Sledge(), OwnCode)
    assert builder.role.modules(builder.value) == ("my.shop",)
    assert builder.role.modules("") == ()


def test_limits_hold_beside_a_role():
    with pytest.raises(ConfigError, match="log_every = 0: must be 1 or more"):
        from_dict(Cart, {"log_every": 0})
    assert from_dict(Cart, {"built_in": {"town": "Ghent"}}).built_in == Place(town="Ghent")


@dataclass(frozen=True)
class Crate:
    FORMAT: ClassVar[int] = 4
    cart: Cart
    label: Annotated[str, SourcePath(Content.FILE)] = "label.txt"


def test_constants_of_a_class_are_no_fields():
    assert without(Crate(Cart(colour="blue")), SourcePath)["cart"]["colour"] == "blue"
    assert [f.path for f in fields_with(Crate(Cart()), SourcePath)] == [
        "cart.under.drawing",
        "label",
    ]
    assert replaced(Crate(Cart()), SourcePath, str.upper).label == "LABEL.TXT"
