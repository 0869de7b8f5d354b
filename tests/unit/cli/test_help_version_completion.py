"""yt8m help, version and completion: what a shell is told is what the table of commands says."""

import json
import subprocess

import pytest

from yt8m.cli.completion import options_of
from yt8m.cli.main import run
from yt8m.cli.table import COMMANDS, GROUPS

# As bash calls it: the words so far, the last of them to be completed.
_COMPLETE = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_yt8m
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def bash_script(tmp_path_factory):
    file = tmp_path_factory.mktemp("completion") / "yt8m.bash"
    with pytest.MonkeyPatch.context() as patch:
        said: list[str] = []
        patch.setattr("builtins.print", lambda text, **_: said.append(text))
        assert run(["completion", "bash"]) == 0
    file.write_text("\n".join(said))
    return file


def completed(script, *words):
    done = subprocess.run(
        ["bash", "--norc", "-c", _COMPLETE, "bash", script, *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["yt8m", "retr"], ["retrain"]),
        ([".venv/bin/yt8m", "retr"], ["retrain"]),
        (["yt8m", "config", "ex"], ["explain"]),
        (["yt8m", "config", "show", "smoke", "--s"], ["--set"]),
        (["yt8m", "kubeflow", "sch"], ["schedule"]),
        (["yt8m", "run", "--beam-r"], ["--beam-runner"]),
        (["yt8m", "kubeflow", "run", "--beam-r"], []),
    ],
)
def test_bash_completes_commands_and_options(bash_script, words, found):
    assert completed(bash_script, *words) == found


def test_bash_lists_every_command_and_group(bash_script):
    singles = {words for words in COMMANDS if " " not in words}
    assert set(completed(bash_script, "yt8m", "")) == singles | set(GROUPS)


def test_fish_is_told_every_command_with_its_summary_and_options(capsys):
    assert run(["completion", "fish"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for words in COMMANDS:
        word = words.split()[-1]
        assert any(f" -a {word} -d " in line for line in lines)
        for option in options_of(words):
            assert any(f"_from {word}' -l {option[2:]}" in line for line in lines), option


def test_zsh_takes_the_script_of_bash(capsys):
    assert run(["completion", "zsh"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("autoload -U +X compinit && compinit\n")
    assert "complete -o default -F _yt8m yt8m" in out


def test_help_of_a_command_is_its_own(capsys):
    with pytest.raises(SystemExit) as end:
        run(["help", "config", "show"])
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("usage: yt8m config show ")


def test_help_alone_lists_the_commands(capsys):
    assert run(["help"]) == 0
    assert capsys.readouterr().out.startswith("usage: yt8m COMMAND")


def test_help_of_an_unknown_command_is_the_users_mistake(capsys):
    assert run(["help", "rnu"]) == 2
    assert "did you mean `yt8m run`?" in capsys.readouterr().err


def test_version_is_the_installed_one(capsys):
    assert run(["version", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"yt8m {found['version']}\n"
