"""What every command of this layer promises."""

import argparse
import importlib

import pytest

from yt8m.cli.table import COMMANDS

MINE = [c for c in COMMANDS if c.words.startswith("kubeflow ")]


@pytest.mark.parametrize("command", MINE, ids=lambda c: c.words)
def test_every_command_has_a_dry_run_and_shows_examples(command):
    module = importlib.import_module(command.module)
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    assert "--dry-run" in parser.format_help()
    examples = module.__doc__.partition("examples:")[2]
    assert f"yt8m {command.words} " in examples


def test_there_are_eight_of_them():
    assert len(MINE) == 8
