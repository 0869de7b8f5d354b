"""docs/successor.md has a row for each feature of the systems before, and names what exists."""

import argparse
import re
import shlex

import pytest
from docs_blocks import ROOT, anchors

from yt8m.cli.arguments.options import add_options
from yt8m.cli.table import COMMANDS

PAGE = ROOT / "docs" / "successor.md"
ROWS = {"A": 147, "B": 60, "C": 78}
_ROW = re.compile(r"^\| ([ABC]\d+) \| (.+?) \| (.+?) \| (.*?) ?\|$", re.MULTILINE)
FOUND = {match[1]: match.groups()[1:] for match in _ROW.finditer(PAGE.read_text())}
_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\]\(([^)]+)\)")


def test_each_of_the_285_features_has_one_row_in_order():
    expected = [f"{letter}{n}" for letter, count in ROWS.items() for n in range(1, count + 1)]
    rows = [line for line in PAGE.read_text().splitlines() if re.match(r"\| [ABC]\d", line)]
    assert len(rows) == sum(ROWS.values())
    assert [row.split(" | ")[0].removeprefix("| ") for row in rows] == expected
    assert list(FOUND) == expected  # each with four columns


@pytest.mark.parametrize("letter", ROWS)
def test_the_page_of_each_row_is_there_with_its_section(letter):
    for row, (_, _, page) in FOUND.items():
        if row.startswith(letter):
            for target in _LINK.findall(page):
                name, _, anchor = target.partition("#")
                text = (PAGE.parent / name).read_text()
                assert not anchor or anchor in anchors(text), f"{row}: {target}"


def options_of(command: str) -> set[str]:
    """The options of a command."""
    parser = argparse.ArgumentParser()
    add_options(parser, COMMANDS[command])
    return {option for action in parser._actions for option in action.option_strings}


def commands_named(here: str):
    for code in _CODE.findall(here):
        words = shlex.split(code)
        if words[0] == "yt8m" and len(words) > 1:
            two = " ".join(words[1:3])
            yield (two if two in COMMANDS else words[1]), words


def test_each_command_and_option_that_a_row_names_exists():
    count = 0
    for row, (_, here, _) in FOUND.items():
        for command, words in commands_named(here):
            if command in ("config", "help"):
                continue
            assert command in COMMANDS, f"{row}: yt8m {command}"
            given = {word.partition("=")[0] for word in words if word.startswith("--")}
            assert given <= options_of(command), f"{row}: {given - options_of(command)}"
            count += 1
    assert count > 30


def test_an_option_that_is_not_there_would_be_noticed():
    assert "--segments" in options_of("evaluate")
    assert "--segmnets" not in options_of("evaluate")
