"""How `yt8m` finds a command, and how its end becomes an exit code and one message."""

import json
import sys
import types
from dataclasses import dataclass

import pytest

from yt8m.cli import main
from yt8m.cli import table as commands
from yt8m.cli.arguments.options import Arguments
from yt8m.cli.main import run
from yt8m.components.console.progress import Progress
from yt8m.schemas.errors import (
    EXIT_REJECTED,
    ConfigError,
    DataError,
    Terminated,
    UserError,
    Yt8mError,
)
from yt8m.schemas.limits import PositiveInt


@dataclass(frozen=True, kw_only=True)
class TrialArguments(Arguments):
    """Try it.

    examples:
      yt8m trial --count 3
    """

    count: PositiveInt = 1  # how often


@pytest.fixture
def trial(monkeypatch):
    """A command `yt8m trial` that does what the test says; what it got is in `.args`."""
    module = types.ModuleType("yt8m.cli.trial")
    module.outcome = None

    def act(args, console):
        module.args = args
        if isinstance(module.outcome, BaseException):
            raise module.outcome
        return module.outcome

    module.run = act
    monkeypatch.setitem(sys.modules, "yt8m.cli.trial", module)
    monkeypatch.setattr(main, "COMMANDS", {**commands.COMMANDS, "trial": TrialArguments})
    return module


@pytest.mark.parametrize("words", [[], ["--quiet"]])
def test_quiet_is_obeyed_by_progress_that_no_console_gave(trial, monkeypatch, capsys, words):
    def work(args, console):
        with Progress("verify", total=3) as progress:
            progress.advance(3)

    monkeypatch.setattr(trial, "run", work)
    assert run(["trial", *words]) == 0
    assert ("verify: 3/3" in capsys.readouterr().err) is (not words)


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (None, 0),
        (0, 0),
        (1, 1),
        (Yt8mError("it broke"), 1),
        (UserError("you did it"), 2),
        (ConfigError(["a = 1: must be 2"]), 2),
        (DataError("shard 3"), 2),
        (EXIT_REJECTED, 3),  # a result, not an error
        (KeyboardInterrupt(), 130),
        (Terminated("saved at step 7"), 143),
        (ValueError("unforeseen"), 1),
        (OSError(28, "No space left on device", "/data/x"), 1),
    ],
)
def test_every_end_has_its_exit_code_and_no_traceback(trial, capsys, outcome, code):
    trial.outcome = outcome
    assert run(["trial"]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    assert bool(captured.err) is isinstance(outcome, BaseException)
    if isinstance(outcome, Yt8mError):
        assert captured.err == f"error: {outcome}\n"


@pytest.mark.parametrize("argv", [["trial"], ["trial", "--count", "x"], ["trail"]])
def test_with_json_an_error_is_json_too_and_says_its_exit_code(trial, capsys, argv):
    trial.outcome = UserError("you did it")
    try:
        code = run([*argv, "--json"])
    except SystemExit as end:
        code = end.code
    captured = capsys.readouterr()
    answer = json.loads(captured.out)
    assert answer.keys() == {"error", "code"}
    assert answer["code"] == code == 2
    assert answer["error"]


def test_debug_shows_the_traceback_and_keeps_the_exit_code(trial, capsys):
    trial.outcome = UserError("you did it")
    assert run(["trial", "--debug"]) == 2
    err = capsys.readouterr().err
    assert "Traceback (most recent call last)" in err
    assert err.endswith("error: you did it\n")


def test_a_fault_in_the_users_own_file_is_said_to_be_there(trial, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text("def call():\n    raise ValueError('unforeseen')\n")
    scope = {}
    exec(compile((tmp_path / "own.py").read_text(), str(tmp_path / "own.py"), "exec"), scope)
    trial.run = lambda *_: scope["call"]()
    run(["trial"])
    err = capsys.readouterr().err
    assert f"It happened in {tmp_path / 'own.py'}, line 2; --debug" in err
    assert "bug in yt8m" not in err


@pytest.mark.parametrize("code", [0, None, 3])
def test_own_code_that_ends_the_process_is_no_success(trial, capsys, tmp_path, monkeypatch, code):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(f"import sys\nsys.exit({code})\n")
    source = (tmp_path / "own.py").read_text()
    trial.run = lambda *_: exec(compile(source, str(tmp_path / "own.py"), "exec"), {})
    assert run(["trial"]) == 1
    err = capsys.readouterr().err
    assert f"sys.exit({code}) was called in {tmp_path / 'own.py'}, line 2" in err
    assert "`yt8m trial` did not end its work" in err


def test_a_fault_of_our_own_is_called_so_and_a_full_disk_is_not(
    trial, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)  # what raises below is no code of the user's own
    trial.outcome = ValueError("unforeseen")
    run(["trial"])
    assert "ValueError: unforeseen\n       This is a bug in yt8m" in capsys.readouterr().err
    trial.outcome = OSError(28, "No space left on device", "/data/x")
    run(["trial"])
    err = capsys.readouterr().err
    assert err.startswith("error: /data/x: No space left on device\n")
    assert "bug in yt8m" not in err


def test_several_problems_stand_below_one_another(trial, capsys):
    trial.outcome = ConfigError(["a = 1: must be 2", "b: unknown key"])
    run(["trial"])
    assert capsys.readouterr().err == "error: a = 1: must be 2\n       b: unknown key\n"


def test_arguments_reach_the_command(trial):
    assert run(["trial", "--count", "7", "--quiet", "--json"]) == 0
    assert (trial.args.count, trial.args.quiet, trial.args.json) == (7, True, True)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["trial", "--cuont", "3"], "unrecognized arguments: --cuont 3; did you mean --count?"),
        (["trial", "--count", "x"], "argument --count: x: must be a whole number, 1 or more"),
        (["trial", "--coun", "3"], "did you mean --count?"),  # no silent abbreviations
    ],
)
def test_wrong_arguments_are_the_users_mistake(trial, capsys, argv, message):
    with pytest.raises(SystemExit) as end:
        run(argv)
    assert end.value.code == 2
    err = capsys.readouterr().err
    assert message in err
    assert "Try `yt8m trial --help`" in err


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["retrian"], "error: no command `retrian`; did you mean `yt8m retrain`?"),
        (
            ["data", "genrate"],
            "error: no command `data genrate`; did you mean `yt8m data generate`?",
        ),
        (["kubflow"], "did you mean `yt8m kubeflow`?"),
        (["qqqqqqqq"], "`yt8m --help` lists them"),
    ],
)
def test_unknown_command_gets_the_nearest_one(capsys, argv, message):
    assert run(argv) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err


@pytest.mark.parametrize(
    ("argv", "code"),
    [([], 2), (["--help"], 0), (["-h"], 0), (["data"], 2), (["data", "--help"], 0)],
)
def test_overview_is_help_when_asked_for_and_a_mistake_when_not(capsys, argv, code):
    assert run(argv) == code
    assert "usage: yt8m" in capsys.readouterr().out


def test_overview_lists_every_command_or_its_group_once(capsys):
    run(["--help"])
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line[:2] == "  "]
    for words in commands.COMMANDS:
        assert listed.count(words.split()[0]) == 1


def test_group_lists_its_commands(capsys):
    run(["models", "--help"])
    out = capsys.readouterr().out
    for name in ("list", "show", "rollback", "import", "verify", "prune"):
        assert f"  models {name} " in out


def test_version_is_that_of_the_package(capsys):
    from importlib.metadata import version

    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"yt8m {version('yt8m-pipeline')}\n"
