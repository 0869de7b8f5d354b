"""`yt8m`: find the command, run it, and turn its end into an exit code."""

from __future__ import annotations

import argparse
import difflib
import importlib
import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import NoReturn

from yt8m.cli.command import Command, CommandLine
from yt8m.cli.table import COMMANDS, GROUPS
from yt8m.components.console.console import Console
from yt8m.components.console.leaving import Exit
from yt8m.schemas.errors import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_USER, Yt8mError

_ABOUT = """\
Train, gate and ship YouTube-8M models: one pipeline, run locally, on Kubeflow or on a schedule.
"""
_HOW_IT_ENDS = """\
exit codes:
  0 done   1 failed   2 user error (the message says which)   3 the gate held the model back
  4 nothing new to retrain on
  130 interrupted   143 ended by SIGTERM after a checkpoint; the same command continues

`yt8m COMMAND --help` explains a command and shows examples.
"""


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """The console script; code of the user's own is found in the directory that it is called in."""
    leave = Exit()
    sys.path.append(str(Path.cwd()))
    leave(run(sys.argv[1:] if argv is None else argv))


def run(argv: Sequence[str]) -> int:
    """Run one command line; the return value is the exit code."""
    if not argv or argv[0] in ("-h", "--help"):
        print(_overview(), end="")
        return EXIT_DONE if argv else EXIT_USER
    if argv[0] == "--version":
        from importlib.metadata import version

        print(f"yt8m {version('yt8m-pipeline')}")
        return EXIT_DONE
    console = Console(as_json="--json" in argv)
    found = find(argv)
    if isinstance(found, str):
        if console.as_json and not found.startswith("usage:"):
            console.error(found.strip(), EXIT_USER)
            return EXIT_USER
        print(found, end="", file=sys.stdout if found.startswith("usage:") else sys.stderr)
        is_help = found.startswith("usage:") and argv[-1] in ("-h", "--help")
        return EXIT_DONE if is_help else EXIT_USER
    return _end(lambda: _run_command(*found), console, debug="--debug" in argv)


def _run_command(command: Command, rest: Sequence[str]) -> int | None:
    module, args = parse(command, rest)
    code: int | None = module.run(args, Console(quiet=args.quiet, as_json=args.json))
    return code


def parse(command: Command, rest: Sequence[str]) -> tuple[ModuleType, argparse.Namespace]:
    """The module that does `command`, and its arguments as its own parser reads them."""
    module = importlib.import_module(command.module)
    parser = _parser(command, module.__doc__ or command.summary)
    module.add_arguments(parser)
    parser.as_json = "--json" in rest
    parser.set_defaults(command_line=CommandLine(COMMANDS, GROUPS, run))
    return module, parser.parse_args(rest)


def _end(call: Callable[[], int | None], console: Console, *, debug: bool) -> int:
    """The exit code of `call`; an error becomes one message, with its traceback if `debug`."""
    try:
        return call() or EXIT_DONE
    except KeyboardInterrupt:
        console.error("interrupted", EXIT_INTERRUPTED)
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # `yt8m ... | head`: what was wanted has been read
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_DONE
    except Exception as error:
        if debug:
            traceback.print_exc()
        code = error.exit_code if isinstance(error, Yt8mError) else EXIT_FAILED
        console.error(_explanation(error), code)
        return code


def _explanation(error: Exception) -> str:
    if isinstance(error, Yt8mError):
        return str(error)
    if isinstance(error, OSError) and error.errno is not None:
        return f"{error}\n--debug shows where"
    what = f"{type(error).__name__}: {error}"
    if place := _place_in_own_code(error):
        return f"{what}\nIt happened in {place}; --debug shows the way there."
    return f"{what}\nThis is a bug in yt8m; --debug shows where it happened."


def _place_in_own_code(error: Exception) -> str:
    """The file and line of the user's that failed; "" where none was under way.

    Code of the user's own lies in the working directory; an environment may lie there, too.
    """
    here, package = Path.cwd(), Path(__file__).resolve().parents[2]
    not_own = (package, Path(sys.prefix), Path(sys.base_prefix))
    places = [
        f"{path}, line {line}"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if (path := Path(frame.f_code.co_filename).resolve()).is_relative_to(here)
        and not any(path.is_relative_to(place) for place in not_own)
        and path.is_file()
    ]
    return places[-1] if places else ""


def find(argv: Sequence[str]) -> tuple[Command, list[str]] | str:
    """The command and its arguments, or the text that helps on."""
    by_words = {command.words: command for command in COMMANDS}
    if argv[0] in by_words:
        return by_words[argv[0]], list(argv[1:])
    if argv[0] in GROUPS:
        two = " ".join(argv[:2])
        if two in by_words:
            return by_words[two], list(argv[2:])
        if len(argv) == 1 or argv[1] in ("-h", "--help"):
            return _group(argv[0])
        return f"yt8m: no command `{two}`{_nearest(two)}\n"
    return f"yt8m: no command `{argv[0]}`{_nearest(argv[0])}\n"


def _nearest(words: str) -> str:
    known = [command.words for command in COMMANDS] + list(GROUPS)
    close = difflib.get_close_matches(words, known, n=1)
    return f"; did you mean `yt8m {close[0]}`?" if close else "; `yt8m --help` lists them"


def _overview() -> str:
    single = [(c.words, c.summary) for c in COMMANDS if " " not in c.words]
    groups = [(name, summary) for name, summary in GROUPS.items() if _members(name)]
    listing = _listing(single + groups)
    return f"usage: yt8m COMMAND ...\n\n{_ABOUT}\ncommands:\n{listing}\n{_HOW_IT_ENDS}"


def _group(name: str) -> str:
    listing = _listing([(c.words, c.summary) for c in _members(name)])
    return f"usage: yt8m {name} COMMAND ...\n\n{GROUPS[name]}\n\ncommands:\n{listing}"


def _members(group: str) -> list[Command]:
    return [c for c in COMMANDS if c.words.startswith(f"{group} ")]


def _listing(rows: list[tuple[str, str]]) -> str:
    width = max((len(words) for words, _ in rows), default=0)
    return "".join(f"  {words:<{width}}   {summary}\n" for words, summary in rows)


class _Parser(argparse.ArgumentParser):
    as_json = False  # whether a mistake is answered for machines too

    def error(self, message: str) -> NoReturn:
        hint = self._hint(message)
        if self.as_json:
            print(json.dumps({"error": f"{self.prog}: {message}{hint}", "code": EXIT_USER}))
        self.exit(EXIT_USER, f"{self.prog}: {message}{hint}\nTry `{self.prog} --help`.\n")

    def _hint(self, message: str) -> str:
        """The option that is nearest to an unknown one."""
        _, _, unknown = message.partition("unrecognized arguments: ")
        options = [option for action in self._actions for option in action.option_strings]
        close = difflib.get_close_matches(unknown.partition(" ")[0], options, n=1)
        return f"; did you mean {close[0]}?" if close else ""


def _parser(command: Command, doc: str) -> _Parser:
    first, _, explanation = doc.strip().partition("\n")
    parser = _Parser(
        prog=f"yt8m {command.words}",
        description=first,
        epilog=explanation.strip() or None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    general = parser.add_argument_group("general")
    general.add_argument("--quiet", action="store_true", help="only errors and the result")
    general.add_argument("--json", action="store_true", help="the result as one JSON object")
    general.add_argument("--debug", action="store_true", help="a traceback with every error")
    return parser
