"""yt8m config explain, as it is typed."""

import json
import subprocess
import sys

import pytest

from yt8m.cli.main import run


def explained(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(["config", "explain", *words]) == 0
    return capsys.readouterr().out


def test_value_is_explained_with_type_default_limits_and_meaning(capsys):
    assert explained(capsys, "trainer.clip_gradient_norm").splitlines() == [
        "trainer.clip_gradient_norm",
        "  Limit that gradients are clipped to, as `clip` says; 0: no clipping.",
        "",
        "  type     float",
        "  default  1.0",
        "  limits   0 or more",
    ]


def test_presets_that_set_a_value_are_named_with_it(capsys):
    found = json.loads(explained(capsys, "trainer.max_steps", "--json"))["values"]
    assert [value["presets"] for value in found] == [{"smoke": 200}]
    assert "smoke            0.1" in explained(capsys, "trainer.model.dropout")


def test_presets_of_another_choice_are_not_named(capsys):
    found = json.loads(explained(capsys, "trainer.model.dropout", "--json"))["values"]
    by_choice = {tuple(value["choice"]): set(value["presets"]) for value in found}
    assert "smoke" in by_choice["mlp",]
    assert "smoke" not in by_choice["netvlad", "nextvlad"]


def test_choices_are_listed_with_their_meanings(capsys):
    shown = explained(capsys, "trainer.clip")
    assert "  choices  variable  the norm of each variable's gradient" in shown
    assert "           global    the norm of all gradients together" in shown


def test_node_lists_its_values(capsys):
    lines = explained(capsys, "retention").splitlines()
    assert lines[1].strip() == "Runs that `yt8m gc` keeps."
    assert [line.split()[0] for line in lines[5:]] == ["keep_runs", "keep_days", "after_each_run"]


def test_every_choice_of_a_node_is_listed(capsys):
    answer = json.loads(explained(capsys, "trainer.model", "--json"))
    assert {"mlp", "nextvlad"} <= {node["choice"] for node in answer["nodes"]}
    text = explained(capsys, "trainer.model")
    assert "trainer.model, name: mlp: Residual blocks" in text


def test_without_a_path_the_nodes_are_listed(capsys):
    keys = [line.split()[0] for line in explained(capsys).splitlines()[2:]]
    assert keys[:3] == ["name", "root", "data"]


@pytest.mark.parametrize(
    "path", ["gate.thresholds.metric", "gate.thresholds[0].metric", "gate.thresholds[].metric"]
)
def test_path_of_an_error_message_can_be_given(capsys, path):
    assert explained(capsys, path).startswith("gate.thresholds[].metric\n")


@pytest.mark.parametrize(
    ("path", "nearest"),
    [
        ("clip_gradient_norm", "trainer.clip_gradient_norm"),
        ("trainer.clip_gradient_nrm", "trainer.clip_gradient_norm"),
        ("trainr.sed", "trainer.seed"),
        ("gate.thresholds.metrik", "gate.thresholds[].metric"),
    ],
)
def test_unknown_path_is_the_users_mistake_and_the_nearest_is_named(capsys, path, nearest):
    assert run(["config", "explain", path]) == 2
    assert capsys.readouterr().err == f"error: {path}: unknown key; did you mean {nearest}?\n"


def test_path_like_no_other_points_to_the_list(capsys):
    assert run(["config", "explain", "zzzzzz"]) == 2
    assert "`yt8m config explain` lists the nodes" in capsys.readouterr().err


def test_config_commands_import_no_tensorflow():
    code = (
        "import sys; from yt8m.cli.main import run\n"
        "run(['config', 'explain', 'trainer']); run(['config', 'list'])\n"
        "run(['config', 'show', 'smoke']); run(['config', 'diff', 'defaults', 'smoke'])\n"
        "heavy = {'tensorflow', 'tf_keras', 'tfx', 'apache_beam', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)
