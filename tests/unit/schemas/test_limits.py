"""Limits in the types of fields: every one is reached, and says path, value and what is allowed."""

import dataclasses
import typing
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import pytest

from yt8m.components.extras.synthetic.spec import DatasetSpec
from yt8m.kubeflow.config import PlatformConfig
from yt8m.pipeline.config import PipelineConfig
from yt8m.schemas.config_tree import (
    ConfigNode,
    from_dict,
    members_by_tag,
    require,
    to_dict,
    type_hints,
)
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.limits import (
    AbsolutePath,
    Fraction,
    Limit,
    OptionalDottedPath,
    PositiveFloat,
    PositiveInt,
    at_least,
    below,
    matches,
    not_empty,
)

# Each kind of value has one that some limit refuses: too small, too large, of another form.
CANDIDATES: dict[type, tuple[Any, ...]] = {
    int: (-(10**9), -1, 0, 1, 10**9),
    float: (-1e9, -1.0, 0.0, 1.0, 2.0, 1e9),
    str: ("", " ", "a/b", "no form at all", "--runner=x"),
    tuple: ((), (0.5,)),
    dict: ({},),
}


@dataclass(frozen=True, kw_only=True)
class Part(ConfigNode):
    size: PositiveInt = 1


@dataclass(frozen=True, kw_only=True)
class Machine(ConfigNode):
    share: Fraction = 0.5
    rate: Annotated[float, at_least(0), below(1)] = 0.5
    often: Literal[0] | Annotated[int, at_least(20)] = 0
    pause_s: PositiveFloat | None = None
    label: Annotated[str, matches(r"[a-z]+", "small letters")] = "a"
    where: AbsolutePath = "/"
    hook: OptionalDottedPath = ""
    counts: tuple[PositiveInt, ...] = ()
    by_name: dict[str, PositiveInt] = field(default_factory=dict)
    tags: Annotated[tuple[str, ...], not_empty("at least one tag")] = ("x",)
    part: Part = field(default_factory=Part)
    low: int = 0
    high: int = 9

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.low <= self.high, "low", self.low, f"at most high ({self.high})")


REFUSED = [
    ("share", 1.5, "share = 1.5: must be between 0 and 1"),
    ("rate", 1, "rate = 1.0: must be 0 or more and below 1"),
    ("often", 3, "often = 3: must be 0, or 20 or more"),
    ("often", "x", "often = 'x': must be 0, or a whole number"),
    ("pause_s", 0, "pause_s = 0.0: must be above 0, or null"),
    ("label", "A1", "label = 'A1': must be small letters"),
    ("where", "here", "where = 'here': must be an absolute path, beginning with /"),
    ("hook", "word", "hook = 'word': must be a dotted path such as package.module.name"),
    ("counts", [1, 0], "counts[1] = 0: must be 1 or more"),
    ("by_name", {"a": 0}, "by_name.a = 0: must be 1 or more"),
    ("tags", [], "tags = []: must be at least one tag"),
    ("part", {"size": 0}, "part.size = 0: must be 1 or more"),
    ("low", 10, "low = 10: must be at most high (9)"),
]


@pytest.mark.parametrize(("name", "value", "message"), REFUSED)
def test_value_out_of_its_limits_is_refused(name, value, message):
    with pytest.raises(ConfigError) as error:
        from_dict(Machine, {name: value}, path="machine")
    assert error.value.problems == (f"machine.{message}",)


def test_every_value_of_a_node_is_checked_before_anything_is_said():
    wrong = {"share": 7, "rate": "x", "part": {"size": 0, "sise": 1}, "low": 10}
    with pytest.raises(ConfigError) as error:
        from_dict(Machine, wrong)
    assert [problem.partition(" ")[0].rstrip(":") for problem in error.value.problems] == [
        "share",
        "rate",
        "part.sise",
        "part.size",
    ]


def test_node_made_in_code_keeps_its_limits_too():
    with pytest.raises(ConfigError, match=r"^share = 2\.0: must be between 0 and 1\n"):
        Machine(share=2, often=3)
    with pytest.raises(ConfigError, match=r"^low = 10: must be at most high"):
        dataclasses.replace(Machine(), low=10)


def test_zero_or_many_takes_both_and_null_switches_off():
    assert from_dict(Machine, {"often": 0}).often == 0
    assert from_dict(Machine, {"often": 20, "pause_s": None}).often == 20


def limited(hint: Any, path: str) -> Iterator[tuple[str, Any, tuple[Limit, ...], tuple[Any, ...]]]:
    """Path, type and limits of all that a type limits, and what leads to it: keys and places."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        limits = tuple(marker for marker in args[1:] if isinstance(marker, Limit))
        if limits:
            yield path, args[0], limits, ()
        args = args[:1]
        origin, args = typing.get_origin(args[0]), typing.get_args(args[0])
    if origin is tuple:
        yield from ((*rest, (0, *way)) for *rest, way in limited(args[0], f"{path}[0]"))
    elif origin is dict:
        yield from ((*rest, ("key", *way)) for *rest, way in limited(args[1], f"{path}.key"))
    elif not members_by_tag(hint):
        for part in args if origin is not Literal else ():
            yield from limited(part, path)


def nodes(cls: type, seen: set[type]) -> set[type]:
    """Every node of a tree."""
    if cls not in seen:
        seen.add(cls)
        for hint in type_hints(cls).values():
            for part in parts(hint):
                nodes(part, seen)
    return seen


def parts(hint: Any) -> Iterator[type]:
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        yield hint
    for part in typing.get_args(hint):
        yield from parts(part)


def literals(hint: Any) -> tuple[Any, ...]:
    return typing.get_args(hint) if typing.get_origin(hint) is Literal else ()


NODES = sorted(
    nodes(PipelineConfig, set()) | nodes(PlatformConfig, set()), key=lambda cls: cls.__name__
)
LIMITED = [
    pytest.param(cls, name, *found, id=f"{cls.__name__}.{found[0]}")
    for cls in NODES
    for name, hint in type_hints(cls).items()
    for found in limited(hint, name)
]


def test_the_walk_finds_the_limits():
    assert len(LIMITED) > 80
    assert DatasetSpec not in NODES


@pytest.mark.parametrize("cls", NODES)
def test_every_node_keeps_the_limits_of_its_types(cls):
    assert issubclass(cls, ConfigNode)


@pytest.mark.parametrize(("cls", "name", "path", "hint", "limits", "way"), LIMITED)
def test_every_limit_is_reached_and_named_with_path_value_and_range(
    cls, name, path, hint, limits, way
):
    kind = typing.get_origin(hint) or hint
    besides = [value for part in typing.get_args(type_hints(cls)[name]) for value in literals(part)]
    wrong = [
        value
        for value in CANDIDATES[kind]
        if value not in besides and not all(limit.holds(value) for limit in limits)
    ]
    assert wrong, f"no candidate is out of {limits}"
    allowed = " and ".join(limit.allowed for limit in limits)
    required = {
        f.name: "/x"
        for f in dataclasses.fields(cls)
        if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    }
    for value in wrong:
        for step in reversed(way):
            value = [value] if step == 0 else {step: value}
        with pytest.raises(ConfigError) as error:
            from_dict(cls, {**required, name: value}, path="some.node")
        told = [p for p in error.value.problems if p.startswith(f"some.node.{path} = ")]
        assert len(told) == 1
        assert allowed in told[0]
        with pytest.raises(ConfigError) as error:
            cls(**{**required, name: value})
        assert any(p.startswith(f"{path} = ") and allowed in p for p in error.value.problems)


@pytest.mark.parametrize("cls", [PipelineConfig, PlatformConfig])
def test_defaults_are_within_their_limits(cls):
    assert from_dict(cls, to_dict(cls())) == cls()
