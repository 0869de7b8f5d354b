"""Print a script that completes commands and options in bash, zsh or fish.

It is made from the table of commands, so load it from the command to have it always current.

examples:
  echo 'source <(yt8m completion bash)' >> ~/.bashrc
  echo 'source <(yt8m completion zsh)' >> ~/.zshrc
  yt8m completion fish > ~/.config/fish/completions/yt8m.fish
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable

from yt8m.cli.command import Command, CommandLine
from yt8m.components.console.console import Console

_GENERAL = ("--quiet", "--json", "--debug")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The shell."""
    parser.add_argument("shell", choices=sorted(_SCRIPTS), help="for which the script is")


def run(args: argparse.Namespace, console: Console) -> None:
    """Print the script."""
    script = _SCRIPTS[args.shell](args.command_line)
    console.result({"shell": args.shell, "script": script}, script.rstrip())


def options_of(command: Command) -> dict[str, str]:
    """The long options of a command, each with its help."""
    parser = argparse.ArgumentParser()  # --help too
    importlib.import_module(command.module).add_arguments(parser)
    found = {
        option: str(action.help or "") % {**vars(action), "prog": "yt8m"}
        for action in parser._actions  # argparse names no public way to list them
        for option in action.option_strings
        if option.startswith("--") and action.help != argparse.SUPPRESS
    }
    return {**found, **dict.fromkeys(_GENERAL, "")}


def _bash(line: CommandLine) -> str:
    cases = [f'    " "*) words="{" ".join(_first_words(line))}" ;;']
    for group in line.groups:
        cases.append(f'    "{group} "*) words="{" ".join(_second_words(line, group))}" ;;')
    for command in line.commands:
        cases.append(f'    "{command.words} "*) words="{" ".join(options_of(command))}" ;;')
    # The longest words first: `case` takes the first pattern that fits.
    body = "\n".join(reversed(cases))
    return f"""\
_yt8m() {{
    local words= current="${{COMP_WORDS[COMP_CWORD]}}"
    local before="${{COMP_WORDS[*]:1:COMP_CWORD-1}} "  # not the first: it may be a path
    case "$before" in
{body}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _yt8m yt8m
"""


def _zsh(line: CommandLine) -> str:
    """Bash's, which zsh takes."""
    load = ("compinit", "bashcompinit")
    return "".join(f"autoload -U +X {name} && {name}\n" for name in load) + _bash(line)


def _fish(line: CommandLine) -> str:
    # `run`, not `kubeflow run`
    without_group = f"not __fish_seen_subcommand_from {' '.join(line.groups)}"
    lines = ["complete -c yt8m -n __fish_use_subcommand -f"]
    single = {c.words: c.summary for c in line.commands if " " not in c.words}
    for word, summary in {**single, **line.groups}.items():
        lines.append(
            f"complete -c yt8m -n __fish_use_subcommand -f -a {word} -d {_quoted(summary)}"
        )
    for command in line.commands:
        group, _, word = command.words.rpartition(" ")
        seen = f"{without_group}; and __fish_seen_subcommand_from {word}"
        if group:
            within = f"__fish_seen_subcommand_from {group}"
            beginning = _quoted(f"{within}; and not {_any_of(line, group)}")
            summary = _quoted(command.summary)
            lines.append(f"complete -c yt8m -n {beginning} -f -a {word} -d {summary}")
            seen = f"{within}; and __fish_seen_subcommand_from {word}"
        for option, help_text in options_of(command).items():
            about = f" -d {_quoted(help_text)}" if help_text else ""
            lines.append(f"complete -c yt8m -n {_quoted(seen)} -l {option[2:]}{about}")
    return "\n".join(lines) + "\n"


def _first_words(line: CommandLine) -> list[str]:
    return [c.words for c in line.commands if " " not in c.words] + list(line.groups)


def _second_words(line: CommandLine, group: str) -> list[str]:
    words = [command.words.split() for command in line.commands]
    return [pair[1] for pair in words if pair[0] == group and pair[1:]]


def _any_of(line: CommandLine, group: str) -> str:
    return f"__fish_seen_subcommand_from {' '.join(_second_words(line, group))}"


def _quoted(text: str) -> str:
    """In fish's single quotes."""
    inner = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{inner}'"


_SCRIPTS: dict[str, Callable[[CommandLine], str]] = {"bash": _bash, "fish": _fish, "zsh": _zsh}
