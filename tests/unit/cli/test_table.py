"""Every command of the table: it is there, its help teaches, and the help imports little."""

import dataclasses
import importlib
import json
import subprocess
import sys

import pytest

from yt8m.cli.main import run
from yt8m.cli.table import COMMANDS, GROUPS, action_module, summary
from yt8m.schemas.config_docs import comments
from yt8m.schemas.errors import EXIT_DONE, EXIT_USER

HEAVY = ("tensorflow", "tf_keras", "tfx", "tfx_bsl", "apache_beam", "kfp", "kubernetes", "pandas")
EACH = pytest.mark.parametrize("words", COMMANDS)
LONGEST = 60  # characters, beside the words in a terminal
# Command lines by turns, a process for all: what each of them returned and imported first.
PROBE = """
import json, sys
from yt8m.cli.main import run
found, known = [], set()
for line in sys.argv[1:]:
    try:
        code = run(line.split())
    except SystemExit as end:
        code = end.code
    names = {name.partition(".")[0] for name in sys.modules}
    found.append({"line": line, "code": code, "modules": sorted(names - known)})
    known |= names
print("\\n" + json.dumps(found))
"""


@EACH
def test_help_explains_and_shows_examples_that_call_this_command(words, capsys):
    with pytest.raises(SystemExit) as end:
        run([*words.split(), "--help"])
    assert end.value.code == EXIT_DONE
    out = capsys.readouterr().out
    assert out.startswith(f"usage: yt8m {words}")
    _, found, examples = out.partition("examples:\n")
    assert found
    lines = [line.strip() for line in examples.splitlines() if "yt8m" in line]
    assert any(f"yt8m {words}" in line for line in lines)
    for option in ("--quiet", "--json", "--debug"):
        assert option in out


@EACH
def test_a_command_has_a_summary_that_fits_on_a_line_and_belongs_to_a_group(words):
    text = summary(words)
    assert text[0].islower()
    assert not text.endswith((".", ","))
    assert len(text) <= LONGEST
    assert words.split()[0] in GROUPS or " " not in words


@pytest.mark.parametrize("words", [words for words in COMMANDS if words != "help"])
def test_a_command_has_an_action_and_each_of_its_options_a_meaning(words):
    assert callable(importlib.import_module(action_module(words)).run)
    fields = {field.name for field in dataclasses.fields(COMMANDS[words])}
    meanings = comments(COMMANDS[words])
    assert {name for name in fields if not meanings.get(name)} == set()


def test_help_imports_nothing_heavy():
    lines = ["--help", *(f"{words} --help" for words in COMMANDS)]
    found, _ = probe(*lines)
    assert [one["line"] for one in found] == lines
    assert {one["line"] for one in found if one["code"] != EXIT_DONE} == set()
    assert {one["line"] for one in found if set(HEAVY) & set(one["modules"])} == set()


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (
            "predict --model m --data d --out o --format jsonl --beam-option=--x=1",
            "needs --beam-runner",
        ),
        ("ensemble --models a b --out o --weights 1,2,3", "one for each of --models"),
        ("ensemble --models a b --out o --weights fit", "needs labelled records"),
        ("evaluate --model m --data d --top-k 0", "must be a whole number, 1 or more"),
        ("train --data d --out o --processes wrker=1", "wrker=1"),
        ("run no_such_preset", "no_such_preset"),
    ],
)
def test_a_wrong_command_line_is_refused_before_anything_heavy_is_imported(argv, message):
    (found,), told = probe(argv)
    assert found["code"] == EXIT_USER
    assert message in told
    assert not set(HEAVY) & set(found["modules"])


def probe(*lines):
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *lines], capture_output=True, text=True, timeout=60
    )
    return json.loads(done.stdout.splitlines()[-1]), done.stderr
