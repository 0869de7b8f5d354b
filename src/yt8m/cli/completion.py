"""Action of `yt8m completion`."""

from __future__ import annotations

from collections.abc import Callable

from yt8m.cli.arguments.about import CompletionArguments
from yt8m.cli.parser import parser_of
from yt8m.cli.table import COMMANDS, GROUPS, members, summary
from yt8m.components.console.console import Console


def run(args: CompletionArguments, console: Console) -> None:
    """Print the script."""
    script = _SCRIPTS[args.shell]()
    console.result({"shell": args.shell, "script": script}, script.rstrip())


def options_of(words: str) -> dict[str, str]:
    """The long options of a command, each with its help."""
    parser = parser_of(words, COMMANDS[words])
    return {
        option: str(action.help or "") % {**vars(action), "prog": "yt8m"}
        for action in parser._actions  # argparse names no public way to list them
        for option in action.option_strings
        if option.startswith("--")
    }


def _bash() -> str:
    cases = [f'    " "*) words="{" ".join([*members(), *GROUPS])}" ;;']
    for group in GROUPS:
        cases.append(f'    "{group} "*) words="{_second_words(group)}" ;;')
    for words in COMMANDS:
        cases.append(f'    "{words} "*) words="{" ".join(options_of(words))}" ;;')
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


def _zsh() -> str:
    """Bash's, which zsh takes."""
    load = ("compinit", "bashcompinit")
    return "".join(f"autoload -U +X {name} && {name}\n" for name in load) + _bash()


def _fish() -> str:
    # `run`, not `kubeflow run`
    without_group = f"not __fish_seen_subcommand_from {' '.join(GROUPS)}"
    lines = ["complete -c yt8m -n __fish_use_subcommand -f"]
    for word, text in {**{words: summary(words) for words in members()}, **GROUPS}.items():
        lines.append(f"complete -c yt8m -n __fish_use_subcommand -f -a {word} -d {_quoted(text)}")
    for words in COMMANDS:
        group, _, word = words.rpartition(" ")
        seen = f"{without_group}; and __fish_seen_subcommand_from {word}"
        if group:
            within = f"__fish_seen_subcommand_from {group}"
            others = f"__fish_seen_subcommand_from {_second_words(group)}"
            beginning = _quoted(f"{within}; and not {others}")
            text = _quoted(summary(words))
            lines.append(f"complete -c yt8m -n {beginning} -f -a {word} -d {text}")
            seen = f"{within}; and __fish_seen_subcommand_from {word}"
        for option, help_text in options_of(words).items():
            about = f" -d {_quoted(help_text)}" if help_text else ""
            lines.append(f"complete -c yt8m -n {_quoted(seen)} -l {option[2:]}{about}")
    return "\n".join(lines) + "\n"


def _second_words(group: str) -> str:
    return " ".join(words.removeprefix(f"{group} ") for words in members(group))


def _quoted(text: str) -> str:
    """In fish's single quotes."""
    inner = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{inner}'"


_SCRIPTS: dict[str, Callable[[], str]] = {"bash": _bash, "fish": _fish, "zsh": _zsh}
