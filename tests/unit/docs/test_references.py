"""docs/configuration.md and docs/commands.md say what the code says."""

import command_reference
import config_reference
import pytest

from yt8m.cli.table import COMMANDS


@pytest.mark.parametrize("module", [config_reference, command_reference])
def test_a_reference_is_current(module) -> None:
    page = module.PAGE.read_text(encoding="utf-8")
    assert page == module.with_reference(page), "write it again with `make reference`"


def test_the_reference_has_every_command_once() -> None:
    page = command_reference.PAGE.read_text(encoding="utf-8")
    assert [page.count(f"\n## `yt8m {words}`\n") for words in COMMANDS] == [1] * len(COMMANDS)
