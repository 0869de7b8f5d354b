"""`yt8m`: find the command, run it, and turn its end into an exit code."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn

from yt8m.cli.arguments.about import HelpArguments
from yt8m.cli.arguments.options import Arguments, build
from yt8m.cli.parser import parser_of
from yt8m.cli.table import COMMANDS, GROUPS, action_module, members, summary
from yt8m.components.console.console import Console
from yt8m.components.console.leaving import Exit
from yt8m.components.console.listener import listen_to, open_closed_streams
from yt8m.components.console.progress import without_progress
from yt8m.components.console.quiet import quiet_tensorflow, silence_warnings
from yt8m.components.registry.archive import by_archives
from yt8m.components.storage.temporary import own_temporary_directory
from yt8m.schemas.errors import (
    EXIT_DONE,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_USER,
    UserError,
    Yt8mError,
)

_ABOUT = """\
Train, gate and ship YouTube-8M models: one pipeline, run locally, on Kubeflow or on a schedule.
"""
_HOW_IT_ENDS = """\
exit codes:
  0 done   1 failed   2 user error (the message names it)   3 the gate rejected the model
  4 nothing new to retrain on   5 unknown: no answer, or not in time (the message says what to do)
  130 interrupted   143 stopped by SIGTERM or SIGHUP after a checkpoint; repeat the command

`yt8m COMMAND --help` explains a command and shows examples.
"""


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """The console script; code of the user's own is found in the directory that it is called in."""
    leave = Exit()
    open_closed_streams()
    sys.stdout, sys.stderr = listen_to(sys.stdout), listen_to(sys.stderr)
    sys.path.append(str(Path.cwd()))
    leave(run(sys.argv[1:] if argv is None else argv))


def run(argv: Sequence[str]) -> int:
    """Run one command line; the return value is the exit code."""
    console = Console(as_json="--json" in argv)
    return _end(lambda: _run(argv), console, debug="--debug" in argv)


def _run(argv: Sequence[str]) -> int | None:
    group = argv[0] if argv and argv[0] in GROUPS else ""
    rest = list(argv[1:] if group else argv)
    if not rest or rest[0] in ("-h", "--help"):
        print(_group(group) if group else _overview(), end="")
        return EXIT_DONE if rest else EXIT_USER
    if argv[0] == "--version":
        print(f"yt8m {version('yt8m-pipeline')}")
        return EXIT_DONE
    words, rest = find(argv)
    arguments = parse(words, rest)
    if isinstance(arguments, HelpArguments):
        return _run([*arguments.command, "--help"])
    arguments.check()
    silence_warnings()
    with contextlib.ExitStack() as around:
        console = Console(quiet=arguments.quiet, as_json=arguments.json)
        if arguments.quiet:
            around.enter_context(without_progress())
        if arguments.LOADS_TENSORFLOW:  # from before it is imported
            around.enter_context(own_temporary_directory())
            around.enter_context(quiet_tensorflow())
        loads = arguments.LOADS_TENSORFLOW
        with console.waiting("loading TensorFlow ...") if loads else contextlib.nullcontext():
            action = importlib.import_module(action_module(words))
        try:
            code: int | None = action.run(arguments, console)
        except SystemExit as error:  # of the user's own code: nothing of ours ends a process
            place = _place_in_own_code(error) or "a library"
            raise Yt8mError(
                f"sys.exit({error.code!r}) was called in {place}, so `yt8m {words}` did not end "
                "its work; take that call out"
            ) from error
    return code


def parse(words: str, rest: Sequence[str]) -> Arguments:
    """Parse a command's arguments with its own parser."""
    parser = parser_of(words, COMMANDS[words])
    parser.as_json = "--json" in rest
    return build(COMMANDS[words], parser.parse_args(rest))


def _end(call: Callable[[], int | None], console: Console, *, debug: bool) -> int:
    """The exit code of `call`; an error becomes one message, with its traceback if `debug`."""
    try:
        return call() or EXIT_DONE
    except KeyboardInterrupt:
        console.error("interrupted", EXIT_INTERRUPTED)
        return EXIT_INTERRUPTED
    except Exception as error:
        if debug:
            traceback.print_exc()
        code = error.exit_code if isinstance(error, Yt8mError) else EXIT_FAILED
        console.error(by_archives(_explanation(error)), code)
        return code


def _explanation(error: Exception) -> str:
    if isinstance(error, Yt8mError):
        return str(error)
    if isinstance(error, OSError):
        what = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or error
        return f"{what}\n--debug shows where"
    what = f"{type(error).__name__}: {error}"
    if place := _place_in_own_code(error):
        return f"{what}\nIt happened in {place}; --debug shows the traceback."
    return f"{what}\nThis is a bug in yt8m; --debug shows where it happened."


def _place_in_own_code(error: BaseException) -> str:
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


def find(argv: Sequence[str]) -> tuple[str, list[str]]:
    """The command's words and its arguments; UserError where there is no such command."""
    count = 2 if argv[0] in GROUPS else 1
    words = " ".join(argv[:count])
    if words in COMMANDS:
        return words, list(argv[count:])
    close = difflib.get_close_matches(words, [*COMMANDS, *GROUPS], n=1)
    hint = f"did you mean `yt8m {close[0]}`?" if close else "`yt8m --help` lists them"
    raise UserError(f"no command `{words}`; {hint}")


def _overview() -> str:
    listing = _listing({**{words: summary(words) for words in members()}, **GROUPS})
    return f"usage: yt8m COMMAND ...\n\n{_ABOUT}\ncommands:\n{listing}\n{_HOW_IT_ENDS}"


def _group(name: str) -> str:
    listing = _listing({words: summary(words) for words in members(name)})
    return f"usage: yt8m {name} COMMAND ...\n\n{GROUPS[name]}\n\ncommands:\n{listing}"


def _listing(rows: Mapping[str, str]) -> str:
    width = max(map(len, rows), default=0)
    return "".join(f"  {words:<{width}}   {text}\n" for words, text in rows.items())
