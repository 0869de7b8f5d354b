"""Options that follow from a dataclass: types, limits, choices, defaults, and the way back."""

import argparse
import enum
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import pytest

from yt8m.cli.arguments.options import (
    Arguments,
    Sets,
    Written,
    add_options,
    build,
    positional,
    settings_of,
    words_of,
)
from yt8m.cli.arguments.runs import RunArguments
from yt8m.cli.arguments.scoring import PredictArguments
from yt8m.schemas.limits import PositiveInt


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


def _pair(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split("-")))


@dataclass(frozen=True, kw_only=True)
class PlaceArguments(Arguments):
    GROUP: ClassVar[str] = "place"

    root: Annotated[str | None, Written("DIR"), Sets("root")] = None  # where it all goes


@dataclass(frozen=True, kw_only=True)
class PaintArguments(PlaceArguments):
    wall: Annotated[str, positional("WALL")]  # the wall
    coats: Annotated[PositiveInt, Written("N")] = 2  # layers of paint, 100 % each
    # the colour,
    # in words
    colour: Annotated[Colour | None, Sets("paint.colour")] = None
    tool: Literal["brush", "roller"]  # what it is done with
    dry: float = 0.5  # hours to wait
    again: bool = False  # do it once more
    also: tuple[str, ...] = ()  # another wall; may be repeated
    size: Annotated[tuple[int, ...], Written("A-B", parse=_pair)] = (1, 2)  # height and width


def parsed(*words: str) -> PaintArguments:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    add_options(parser, PaintArguments)
    return build(PaintArguments, parser.parse_args(words))


def test_values_have_the_types_of_their_fields():
    assert parsed("north", "--tool", "brush") == PaintArguments(wall="north", tool="brush")
    words = ["north", "--tool=roller", "--coats=3", "--colour=green", "--dry=2", "--again"]
    words += ["--also", "south", "--also=-x", "--size", "3-4", "--root", "here", "--quiet"]
    assert parsed(*words) == PaintArguments(
        wall="north",
        tool="roller",
        coats=3,
        colour=Colour.GREEN,
        dry=2.0,
        again=True,
        also=("south", "-x"),
        size=(3, 4),
        root="here",
        quiet=True,
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--tool", "brush"], "the following arguments are required: WALL"),
        (["north"], "the following arguments are required: --tool"),
        (["north", "--tool", "spoon"], "--tool: invalid choice: 'spoon'"),
        (["north", "--tool", "brush", "--colour", "RED"], "--colour: invalid choice: 'RED'"),
        (["--coats", "0"], "--coats: 0: must be a whole number, 1 or more"),
        (["--coats", "1.5"], "--coats: 1.5: must be a whole number, 1 or more"),
        (["--dry", "soon"], "--dry: soon: must be a number"),
    ],
)
def test_a_wrong_value_is_told_what_it_must_be(words, message, capsys):
    with pytest.raises(SystemExit):
        parsed(*words)
    assert message in capsys.readouterr().err


def test_comments_and_defaults_are_the_help():
    parser = argparse.ArgumentParser(prog="paint", formatter_class=argparse.RawTextHelpFormatter)
    add_options(parser, PaintArguments)
    lines = [" ".join(line.split()) for line in parser.format_help().splitlines()]
    assert "--coats N layers of paint, 100 % each (default: 2)" in lines
    assert "--colour {red,green} the colour, in words" in lines
    assert "--dry DRY hours to wait (default: 0.5)" in lines
    assert "--again do it once more" in lines
    assert lines.index("place:") < lines.index("--root DIR where it all goes")


def test_a_path_of_the_configuration_is_named_where_one_is_taken():
    assert "in --beam-option (beam.runner)" in _help_of(RunArguments)
    assert "(beam." not in _help_of(PredictArguments)


def _help_of(cls):
    parser = argparse.ArgumentParser()
    add_options(parser, cls)
    return " ".join(parser.format_help().split())


def test_settings_are_the_options_that_were_given():
    assert settings_of(parsed("north", "--tool", "brush")) == {}
    given = parsed("north", "--tool", "brush", "--colour", "red", "--root", "here")
    assert settings_of(given) == {"root": "here", "paint.colour": "red"}


@pytest.mark.parametrize(
    "words",
    [
        ["north", "--tool=brush"],
        ["north", "--tool=roller", "--coats=3", "--colour=red", "--again", "--also=a", "--also=-b"],
        ["north", "--tool=brush", "--dry=1.25", "--root=a b", "--json"],
    ],
)
def test_words_of_arguments_mean_these_arguments(words):
    assert parsed(*words_of(parsed(*words))) == parsed(*words)
