"""The parser of each command: its help, and errors that name the nearest option."""

from __future__ import annotations

import argparse
import difflib
import inspect
import json
from pathlib import Path
from typing import NoReturn

from yt8m.cli.arguments.options import Arguments, add_options
from yt8m.schemas.errors import EXIT_USER


class CommandParser(argparse.ArgumentParser):
    """A parser whose errors name the nearest option, and are JSON on request."""

    as_json = False  # whether an error is also printed as JSON

    def error(self, message: str) -> NoReturn:
        hint = self._hint(message)
        if self.as_json:
            print(json.dumps({"error": f"{self.prog}: {message}{hint}", "code": EXIT_USER}))
        self.exit(EXIT_USER, f"{self.prog}: {message}{hint}\nTry `{self.prog} --help`.\n")

    def _hint(self, message: str) -> str:
        """The option that is nearest to an unknown one, or what the shell split."""
        _, _, unknown = message.partition("unrecognized arguments: ")
        first = unknown.partition(" ")[0]
        if first and Path(first).is_file():
            return "; quote a pattern of files, e.g. 'data/validate*'"
        if "=" in first and not first.startswith("-"):
            return "; quote a value with braces or blanks, e.g. --set 'a.b={c: 1, d: 2}'"
        lists = [action.option_strings[0] for action in self._actions if _takes_list(action)]
        if lists and first.replace(".", "", 1).isdigit():
            return f"; write a list with commas and without blanks: {lists[0]} 1,3"
        options = [option for action in self._actions for option in action.option_strings]
        # Without the dashes, which make short names alike; --batch means --batch-size.
        names = {option.lstrip("-"): option for option in options}
        names = {**{name.partition("-")[0]: names[name] for name in reversed(names)}, **names}
        close = difflib.get_close_matches(first.partition("=")[0].lstrip("-"), names, n=1)
        return f"; did you mean {names[close[0]]}?" if close else ""


def _takes_list(action: argparse.Action) -> bool:
    """Whether its value is a list with commas, which the shell splits where it has blanks."""
    return bool(action.option_strings) and "," in str(action.metavar or "")


def parser_of(words: str, cls: type[Arguments]) -> CommandParser:
    """Create the parser of a command, whose help is the docstring of `cls`."""
    first, _, explanation = (inspect.getdoc(cls) or "").partition("\n")
    parser = CommandParser(
        prog=f"yt8m {words}",
        description=first,
        epilog=explanation.strip() or None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_options(parser, cls)
    return parser
