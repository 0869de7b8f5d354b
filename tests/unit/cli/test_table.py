"""Every command of the table: it is there, its help teaches, and the help imports little."""

import importlib
import json
import subprocess
import sys

import pytest

from yt8m.cli.main import run
from yt8m.cli.table import COMMANDS, GROUPS
from yt8m.schemas.errors import EXIT_DONE

HEAVY = ("tensorflow", "tf_keras", "tfx", "tfx_bsl", "apache_beam", "kfp", "kubernetes", "pandas")
EACH = pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.words)
PROBE = """
import json, sys
from yt8m.cli.main import run
try:
    code = run(sys.argv[1:])
except SystemExit as end:
    code = end.code
names = {name.partition(".")[0] for name in sys.modules}
print("\\n" + json.dumps({"code": code, "modules": sorted(names)}))
"""


@EACH
def test_help_explains_and_shows_examples_that_call_this_command(command, capsys):
    with pytest.raises(SystemExit) as end:
        run([*command.words.split(), "--help"])
    assert end.value.code == EXIT_DONE
    out = capsys.readouterr().out
    assert out.startswith(f"usage: yt8m {command.words}")
    _, found, examples = out.partition("examples:\n")
    assert found
    lines = [line.strip() for line in examples.splitlines() if "yt8m" in line]
    assert any(f"yt8m {command.words}" in line for line in lines)
    for option in ("--quiet", "--json", "--debug"):
        assert option in out


@EACH
def test_module_has_what_the_table_asks_of_it(command):
    module = importlib.import_module(command.module)
    assert callable(module.add_arguments)
    assert callable(module.run)
    assert command.summary[0].islower() or command.summary.startswith("KFP")
    assert not command.summary.endswith(".")
    assert command.words.split()[0] in GROUPS or " " not in command.words


@pytest.mark.parametrize("argv", [["--help"], *([*c.words.split(), "--help"] for c in COMMANDS)])
def test_help_imports_nothing_heavy(argv):
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *argv], capture_output=True, text=True, timeout=60, check=True
    )
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["code"] == EXIT_DONE
    assert not set(HEAVY) & set(found["modules"])
