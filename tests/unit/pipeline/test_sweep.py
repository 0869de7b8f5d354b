"""Which combinations a sweep runs, and that one which fails or has run costs nothing."""

import dataclasses

import pytest

from yt8m.components.artifacts.run_record import RunRecord, Verdict
from yt8m.pipeline.cache_keys import ExternalInputs
from yt8m.pipeline.presets import load_config
from yt8m.pipeline.retraining import sweep as module
from yt8m.pipeline.retraining.points import points_of
from yt8m.pipeline.retraining.sweep import check_points, prepared, sweep
from yt8m.pipeline.run_record import write_record
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.errors import Terminated, UserError, Yt8mError


def test_every_combination_of_several_values_is_a_point_and_single_ones_are_fixed():
    points = points_of(["a.b=1,2", "c=x", "d=[1,2],[3]", "e={f: 1, g: 2}"])
    assert [tuple(point.values()) for point, _ in points] == [
        ("1", "[1,2]"),
        ("1", "[3]"),
        ("2", "[1,2]"),
        ("2", "[3]"),
    ]
    assert points[1][1] == ["a.b=1", "c=x", "d=[3]", "e={f: 1, g: 2}"]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('"a,b",c', ['"a,b"', "c"]),
        ("'it''s, b',c", ["'it''s, b'", "c"]),
        ('"a\\", b", c', ['"a\\", b"', "c"]),
        ('"[",b', ['"["', "b"]),
        ("it's,that's", ["it's", "that's"]),
        ("[[1,2]],[3]", ["[[1,2]]", "[3]"]),
        ('{a: ["}",2]},{a: [3]}', ['{a: ["}",2]}', "{a: [3]}"]),
        ("train{1,2}*,b", ["train{1,2}*", "b"]),
    ],
)
def test_a_comma_in_quotes_or_brackets_is_none_between_values(text, values):
    assert [point["x"] for point, _ in points_of([f"x={text}"])] == values


@pytest.mark.parametrize("settings", [("x=1,2", "x=3"), ("x=3", "x=1,2"), ("x=1,2", " x =4,5")])
def test_what_is_swept_over_is_given_once(settings):
    with pytest.raises(UserError, match="--set x: is given 2 times"):
        points_of([*settings, "y=1,2"])


def test_settings_keep_the_order_in_which_the_last_one_counts():
    points = points_of(["a.b=1,2", "a={b: 3}"])
    assert [settings for _, settings in points] == [["a.b=1", "a={b: 3}"], ["a.b=2", "a={b: 3}"]]


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


def test_a_point_whose_records_are_missing_costs_the_others_nothing(tmp_path, monkeypatch):
    configs = [
        ({"data.root": place}, load_config("smoke", [f"root={tmp_path}", f"data.root={place}"]))
        for place in ("there", "missing")
    ]

    def resolved(config, layout):
        if config.data.root.endswith("missing"):
            raise UserError("no records below missing")
        return ExternalInputs()

    monkeypatch.setattr(module, "resolve_external_inputs", resolved)
    record = RunRecord(run_id="new", started=1.0, verdict=Verdict.PUSHED)
    done, failed = sweep(configs, lambda config: record, lambda text: None)
    assert (done.record, failed.problem) == (record, "no records below missing")


def test_a_sweep_that_is_ended_begins_no_other_run(tmp_path, monkeypatch):
    configs = [({"n": str(n)}, load_config("smoke", [f"root={tmp_path}"])) for n in (1, 2)]
    monkeypatch.setattr(module, "resolve_external_inputs", lambda *_: ExternalInputs())

    def start(config):
        raise Terminated("ended by SIGTERM")

    said = []
    with pytest.raises(Terminated):
        list(sweep(configs, start, said.append))
    assert said == ["1 of 2: n=1"]


@pytest.mark.parametrize(
    ("path", "values", "more", "named"),
    [
        ("data.root", ("a", "b"), ["data.root=c"], "data.root=a and data.root=b are the same run"),
        ("trainer.seed", ("1", "01"), [], "trainer.seed=1 and trainer.seed=01 are the same run"),
        ("pusher.push_dir", ("a", "b"), [], "pusher.push_dir=a and"),
        ("root", ("a", "b"), [], "have several roots"),
    ],
)
def test_points_that_are_the_same_run_or_have_no_root_in_common_are_refused(
    path, values, more, named
):
    configs = [
        ({path: value}, prepared(load_config("smoke", [f"{path}={value}", *more])))
        for value in values
    ]
    with pytest.raises(UserError, match=named):
        check_points(configs)
