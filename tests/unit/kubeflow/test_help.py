"""What every command of this layer promises."""

import dataclasses

import pytest

from yt8m.cli.table import COMMANDS

MINE = [words for words in COMMANDS if words.startswith("kubeflow ")]


@pytest.mark.parametrize("words", MINE)
def test_every_command_has_a_dry_run_and_shows_examples(words):
    assert "dry_run" in {field.name for field in dataclasses.fields(COMMANDS[words])}
    examples = COMMANDS[words].__doc__.partition("examples:")[2]
    assert f"yt8m {words} " in examples


def test_there_are_thirteen_of_them():
    assert len(MINE) == 13
