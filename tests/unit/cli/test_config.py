"""yt8m config list, show and diff, as they are typed."""

import json

import pytest
import yaml

from yt8m.cli.main import run
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.presets import list_presets, load_config
from yt8m.schemas.config_tree import from_dict, to_dict


def test_list_shows_every_preset(capsys):
    assert run(["config", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for preset in list_presets():
        assert any(line.split()[0] == preset.name and preset.summary in line for line in lines)


def test_list_as_json(capsys):
    assert run(["config", "list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["presets"]
    assert [preset["name"] for preset in found] == [preset.name for preset in list_presets()]


@pytest.mark.parametrize(("option", "parse"), [([], yaml.safe_load), (["--json"], json.loads)])
def test_show_prints_the_resolved_configuration(capsys, option, parse):
    assert run(["config", "show", "smoke", "--set", "trainer.seed=12", *option]) == 0
    shown = from_dict(PipelineConfig, parse(capsys.readouterr().out))
    assert shown == load_config("smoke", ["trainer.seed=12"])


def test_show_prints_what_is_changed_alone(capsys, tmp_path):
    file = tmp_path / "site.yaml"
    file.write_text("data: {root: /data}\n")
    assert run(["config", "show", "defaults", "--config", str(file), "--changed"]) == 0
    assert yaml.safe_load(capsys.readouterr().out) == {"data": {"root": "/data"}}


def test_show_refuses_a_mistake_with_one_message(capsys):
    assert run(["config", "show", "smoke", "--set", "trainer.sed=12", "--set", "name=3"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "error: --set name = 3: must be a text (quote it in YAML)",
        "       --set trainer.sed: unknown key; did you mean seed?",
    ]


def test_diff_shows_exactly_the_values_that_differ(capsys):
    assert run(["config", "diff", "video_logistic", "video_mlp", "--json"]) == 0
    found = {row["key"]: row for row in json.loads(capsys.readouterr().out)["differences"]}
    assert found["trainer.model.name"] == {
        "key": "trainer.model.name",
        "a": "logistic",
        "b": "mlp",
    }
    assert found["trainer.model.width"].keys() == {"key", "b"}
    assert not [key for key in found if key.startswith("evaluator")]


def test_diff_of_the_same_says_so(capsys):
    assert run(["config", "diff", "smoke", "smoke"]) == 0
    assert capsys.readouterr().out.strip() == "no difference"


def test_diff_shows_what_a_file_changes_in_the_defaults(capsys, tmp_path):
    (tmp_path / "run.yaml").write_text("trainer: {seed: 77}\n")
    assert run(["config", "diff", "defaults", str(tmp_path / "run.yaml")]) == 0
    rows = capsys.readouterr().out.splitlines()[2:]
    seed = to_dict(PipelineConfig())["trainer"]["seed"]
    assert [row.split() for row in rows] == [["trainer.seed", str(seed), "77"]]
