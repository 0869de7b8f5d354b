"""Arguments of the commands about the command line itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from yt8m.cli.arguments.options import Arguments, Written, positional


@dataclass(frozen=True, kw_only=True)
class HelpArguments(Arguments):
    """Explain a command, as its --help does, or list all commands.

    examples:
      yt8m help
      yt8m help run
      yt8m help config explain
    """

    # Words of the command, e.g. run, or config show.
    command: Annotated[tuple[str, ...], positional("COMMAND")] = ()


@dataclass(frozen=True, kw_only=True)
class VersionArguments(Arguments):
    """Show which version of yt8m is installed.

    The Python version and its path are shown too.

    examples:
      yt8m version
      yt8m version --json
    """


@dataclass(frozen=True, kw_only=True)
class CompletionArguments(Arguments):
    """Print a script that completes commands and options.

    For bash, zsh or fish. The script is generated from the table of commands: load it from the
    command, as below, to keep it up to date.

    examples:
      echo 'source <(yt8m completion bash)' >> ~/.bashrc
      echo 'source <(yt8m completion zsh)' >> ~/.zshrc
      yt8m completion fish > ~/.config/fish/completions/yt8m.fish
    """

    # Shell that the script is for.
    shell: Annotated[Literal["bash", "fish", "zsh"], Written(is_positional=True)]
