"""Which combinations a sweep runs, and that one which fails or has run costs nothing."""

import dataclasses

import pytest

from yt8m.components.artifacts.run_record import RunRecord, Verdict
from yt8m.pipeline.cache_keys import ExternalInputs
from yt8m.pipeline.presets import load_config
from yt8m.pipeline.retraining import sweep as module
from yt8m.pipeline.retraining.points import points_of
from yt8m.pipeline.retraining.sweep import prepared, sweep
from yt8m.pipeline.run_record import write_record
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.errors import UserError, Yt8mError


def test_every_combination_of_several_values_is_a_point_and_single_ones_are_fixed():
    fixed, points = points_of(["a.b=1,2", "c=x", "d=[1,2],[3]", "e={f: 1, g: 2}"])
    assert fixed == ["c=x", "e={f: 1, g: 2}"]
    assert [tuple(point.values()) for point in points] == [
        ("1", "[1,2]"),
        ("1", "[3]"),
        ("2", "[1,2]"),
        ("2", "[3]"),
    ]


def test_without_several_values_there_is_nothing_to_sweep():
    with pytest.raises(UserError, match="nothing to sweep over"):
        points_of(["a.b=1"])


def test_a_run_of_a_sweep_raises_the_bar_for_no_other(tmp_path):
    config = prepared(load_config("smoke", [f"root={tmp_path}", "pusher.push_dir=/srv/models"]))
    assert config.baseline.version.value == "none"
    assert config.pusher.push_dir == str(tmp_path / "models")


def test_what_has_run_is_not_run_again_and_a_failure_does_not_end_the_rest(tmp_path, monkeypatch):
    layout = Layout(tmp_path)
    configs = [
        ({"trainer.seed": str(n)}, load_config("smoke", [f"root={tmp_path}", f"trainer.seed={n}"]))
        for n in (1, 2, 3)
    ]
    monkeypatch.setattr(  # no records to look at
        module,
        "resolve_external_inputs",
        lambda config, layout: ExternalInputs(run_key=f"key {config.trainer.seed}"),
    )
    known = RunRecord(run_id="old", started=1.0, verdict=Verdict.PUSHED, run_key="key 1")
    killed = dataclasses.replace(known, run_id="dead", verdict=Verdict.KILLED, run_key="key 3")
    for record in (known, killed):
        write_record(layout, record)

    def start(config):
        if config.trainer.seed == 2:
            raise Yt8mError("it broke")
        return dataclasses.replace(known, run_id=f"new {config.trainer.seed}")

    said = []
    first, second, third = sweep(configs, start, said.append)
    assert (first.record.run_id, second.problem, third.record.run_id) == (
        "old",
        "it broke",
        "new 3",
    )
    assert said[0] == "1 of 3: trainer.seed=1: run old is there"
