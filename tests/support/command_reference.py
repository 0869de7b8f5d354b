"""The reference of docs/commands.md, from the commands' parsers; `make reference`."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

from docs_blocks import ROOT

from yt8m.cli.arguments.kubeflow import ConnectionArguments
from yt8m.cli.arguments.options import Arguments
from yt8m.cli.parser import parser_of
from yt8m.cli.table import COMMANDS, GROUPS, members

PAGE = ROOT / "docs" / "commands.md"
BEGIN = "<!-- From the code, by `make reference`. -->\n"
EXAMPLES = "examples:\n"
# Headings of options that many commands have; the page lists them once.
SHARED = {Arguments.GROUP: "General options", ConnectionArguments.GROUP: "Connection options"}


def with_reference(page: str) -> str:
    """The page with its end, below the mark, written again."""
    before, mark, _ = page.partition(BEGIN)
    assert mark, f"{PAGE.name} has no line {BEGIN}"
    return f"{before}{mark}\n{reference()}"


def reference() -> str:
    """Build the shared options, then each command in the order of `yt8m --help`."""
    lines = [*_shared("run", Arguments.GROUP), *_shared("kubeflow run", ConnectionArguments.GROUP)]
    for group in ("", *GROUPS):
        for words in members(group):
            lines += _command(words)
    return "\n".join(lines).rstrip() + "\n"


def options_of(words: str) -> dict[str, list[argparse.Action]]:
    """The arguments of a command by heading, without --help."""
    parser = parser_of(words, COMMANDS[words])

    return {
        str(group.title): [action for action in group._group_actions if action.dest != "help"]
        for group in parser._action_groups  # argparse names no public way to list them
    }


def _shared(words: str, heading: str) -> list[str]:
    return [f"## {SHARED[heading]}", "", *_table(options_of(words)[heading])]


def _command(words: str) -> Iterator[str]:
    parser, by_heading = parser_of(words, COMMANDS[words]), options_of(words)
    explanation, _, rest = str(parser.epilog or "").partition(EXAMPLES)
    examples, _, after = rest.partition("\n\n")
    yield from (f"## `yt8m {words}`", "", _escaped(str(parser.description)), "")
    yield from _markdown(explanation)
    own = [a for heading, actions in by_heading.items() if heading not in SHARED for a in actions]
    if own:
        yield from _table(own)
    if ConnectionArguments.GROUP in by_heading:
        yield from ("Also takes the [connection options](#connection-options).", "")
    if examples.strip():
        yield from ("```console", *(f"$ {line.strip()}" for line in _joined(examples)), "```", "")
    yield from _markdown(after)


def _joined(examples: str) -> list[str]:
    """The example commands, each on one line."""
    return re.sub(r" *\\\n *", " ", examples).strip().splitlines()


def _markdown(text: str) -> Iterator[str]:
    """Paragraphs; what is indented in the help becomes a block of code."""
    for paragraph in filter(str.strip, text.strip("\n").split("\n\n")):
        lines = paragraph.splitlines()
        plain = [line for line in lines if not line.startswith("  ")]
        if plain:
            yield from (_escaped(" ".join(plain)), "")
        if indented := [line for line in lines if line.startswith("  ")]:
            yield from ("```text", *indented, "```", "")


def _table(actions: list[argparse.Action]) -> Iterator[str]:
    yield from ("| argument | meaning |", "| --- | --- |")
    yield from map(_row, actions)
    yield ""


def _row(action: argparse.Action) -> str:
    choices = f"{{{','.join(map(str, action.choices))}}}" if action.choices else ""
    value = "" if action.nargs == 0 else action.metavar or choices or action.dest.upper()
    name = action.option_strings[-1] if action.option_strings else ""
    text = f"{name} {value}".strip()
    needed = "Required. " if name and action.required else ""
    meaning = f"{needed}{action.help}".replace("%%", "%")
    return f"| `{text.replace('|', chr(92) + '|')}` | {_escaped(meaning)} |"


def _escaped(text: str) -> str:
    """For Markdown: `<` and `|` outside code would be a tag and a cell."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if part.startswith("`") else part.replace("|", "\\|").replace("<", "&lt;")
        for part in parts
    )


if __name__ == "__main__":
    PAGE.write_text(with_reference(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
