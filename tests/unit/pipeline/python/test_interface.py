"""`import yt8m`: quick, lazy, typed, and the same figures as the pipeline's."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from records import make_dataset, read_all
from run_reports import full_report

import yt8m
from yt8m.components.artifacts.run_record import RunRecord
from yt8m.components.metrics import Batch, MetricAccumulator, values_of
from yt8m.components.records.decode import decode_record
from yt8m.pipeline.python.models import Metrics
from yt8m.pipeline.run_record import write_record
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.errors import ConfigError, DataError, UserError

PROBE = """
import json, sys, time
before = set(sys.modules)
start = time.process_time()
import yt8m
seconds = time.process_time() - start
print(json.dumps({"seconds": seconds, "modules": sorted(set(sys.modules) - before)}))
"""


def test_the_import_is_quick_and_brings_nothing_but_itself():
    done = subprocess.run(
        [sys.executable, "-c", PROBE], capture_output=True, text=True, check=True, timeout=60
    )
    found = json.loads(done.stdout)
    assert found["seconds"] < 0.05
    heavy = {"numpy", "pandas", "tensorflow", "tfx", "yaml"}
    assert not heavy & {name.partition(".")[0] for name in found["modules"]}
    assert [name for name in found["modules"] if name.startswith("yt8m.")] == []


@pytest.mark.parametrize("name", yt8m.__all__)
def test_every_name_is_there_and_listed(name):
    assert getattr(yt8m, name)
    assert name in dir(yt8m)


def test_type_checkers_are_told_every_name():
    tree = ast.parse(Path(yt8m.__file__).read_text(encoding="utf-8"))
    told = [
        alias.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    assert set(yt8m.__all__) - set(told) == {"__version__"}


def test_a_wrong_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="evalute"):
        yt8m.evalute  # noqa: B018


def test_metrics_on_arrays_are_the_pipelines():
    rng = np.random.default_rng(7)
    predictions, labels = rng.random((60, 30)), rng.random((60, 30)) < 0.1
    expected = MetricAccumulator(30)
    expected.update(Batch(predictions=predictions, multi_hot=labels))
    assert yt8m.metrics(predictions, labels) == values_of(expected)


def test_labels_may_be_ids():
    predictions = [[0.9, 0.1, 0.0], [0.2, 0.3, 0.5]]
    assert yt8m.metrics(predictions, [[0, -1], [1, -1]])["hit_at_1"] == 0.5


@pytest.mark.parametrize("labels", [[1.0, 0.0], [[0.5, 0.5]], [[1], [2], [3]]])
def test_labels_of_another_shape_are_refused(labels):
    with pytest.raises(DataError, match="labels have shape"):
        yt8m.metrics([[0.1, 0.2, 0.3]], labels)


def test_a_configuration_takes_settings_and_places(tmp_path):
    config = yt8m.load_config("smoke", {"trainer.max_steps": 7}, data="d", push=str(tmp_path))
    assert (config.trainer.max_steps, config.data.root) == (7, "d")
    assert config.pusher.push_dir == str(tmp_path)
    assert yt8m.load_config("smoke", ["trainer.max_steps=7"]).trainer.max_steps == 7
    with pytest.raises(ConfigError, match="max_stpes"):
        yt8m.load_config("smoke", {"trainer.max_stpes": 7})


@pytest.mark.parametrize("ask", [yt8m.runs, yt8m.registry, yt8m.load_model])
def test_a_place_that_is_not_there_is_an_error(ask, tmp_path):
    with pytest.raises(UserError, match="nowhere"):
        ask(tmp_path / "nowhere")


def test_a_dataset_has_every_row_once_in_batches_of_128(tmp_path):
    data = make_dataset(tmp_path / "data", train=130, shards=2)
    batches = list(yt8m.dataset(str(data / "train*")))
    assert [len(batch["id"]) for batch in batches] == [128, 2]
    ids = [name for batch in batches for name in batch["id"].numpy().tolist()]
    stored = [r for shard in sorted(data.glob("train*")) for r in read_all(shard)]
    assert ids == [decode_record(record).features["id"][0] for record in stored]


def test_a_dataset_is_of_a_path_too_and_a_mistake_is_named_before_a_row_is_read(tmp_path):
    data = make_dataset(tmp_path / "data", train=3, shards=1)
    (batch,) = yt8m.dataset(data / "train*")
    assert len(batch["id"]) == 3
    for wrong, said in (
        ({"level": "frames"}, "level = 'frames': the records are of level video"),
        ({"level": "frame"}, "are read as video"),
        ({"batch_size": 0}, "batch_size = 0: must be 1 or more"),
    ):
        with pytest.raises(UserError, match=said):
            yt8m.dataset(data, **wrong)


def test_a_metric_that_is_not_there_is_named_with_those_that_are():
    found = Metrics(full_report().evaluation)
    assert found["gap"] == full_report().evaluation.overall.candidate["gap"].value
    said = r"no metric 'gapp'; did you mean gap\?; there are: gap, hit_at_1"
    with pytest.raises(UserError, match=said):
        found["gapp"]


def test_a_run_is_asked_for_by_a_place_that_there_is_or_by_its_id(tmp_path):
    layout = Layout(str(tmp_path))
    record = RunRecord(run_id="a", started=1.0, push_dir="")
    write_record(layout, record)
    found = yt8m.runs(tmp_path)
    assert (found[0].id, found[-1].id, found["a"].id) == ("a", "a", "a")
    assert next(reversed(found)).id == "a"
    for place in (1, -2, 99):
        with pytest.raises(IndexError, match=f"no run {place}: {tmp_path} has 1"):
            found[place]
    with pytest.raises(UserError, match="run None: must be a number"):
        found[None]
    for pair in ((found[0], "a"), ("a", found[0])):
        with pytest.raises(UserError, match="= 'a': must be a run"):
            yt8m.compare(*pair)
