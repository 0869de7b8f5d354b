"""What each lane leaves is read here, whichever lane this is (tests/golden/lanes)."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow_model_analysis as tfma
from golden_lanes import EXPECTED, LANES, SPEC, restored, scores, train
from kfp_launcher import Launcher

from yt8m.cli.main import run
from yt8m.pipeline.config import MetadataConfig
from yt8m.pipeline.metadata import open_store


@pytest.fixture(scope="module", params=LANES)
def left(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return restored(request.param, tmp_path_factory.mktemp("left") / request.param)


@pytest.fixture(scope="module")
def record(left: Path) -> dict:
    (file,) = left.glob("root/runs/*/run.json")
    return json.loads(file.read_text())


def test_the_registry_holds_a_sound_model_with_its_record(left, record, capsys):
    assert run(["models", "verify", "1", "--push", str(left / "push")]) == 0
    capsys.readouterr()
    assert run(["models", "list", "--push", str(left / "push"), "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)["versions"]
    assert (listed["version"], listed["gap"]) == (1, pytest.approx(record["metrics"]["gap"]))


def test_the_model_gives_the_same_scores(left):
    # A logit is a sum of 24 products in float32, which every processor rounds its own way.
    with np.load(left / EXPECTED) as expected:
        np.testing.assert_allclose(scores(left), expected["scores"], rtol=1e-5, atol=1e-7)


def test_the_evaluation_opens_in_tfma_with_its_figures(left, record):
    (place,) = left.glob("root/**/Evaluator/evaluation/*")
    gap = tfma.load_eval_result(str(place)).get_metrics_for_slice(())["gap"]
    value = gap.get("doubleValue", gap.get("boundedValue", {}).get("value"))
    assert value == pytest.approx(record["metrics"]["gap"])
    assert tfma.load_validation_result(str(place)).validation_ok


def test_the_metadata_has_every_execution_and_where_its_outputs_are(left, record):
    store = open_store(MetadataConfig(), left / "root" / "metadata.db")
    ran = {context.name for context in store.get_contexts_by_type("node")}
    assert {node["name"] for node in record["nodes"]} <= {name.split(".")[-1] for name in ran}
    assert len(store.get_executions()) >= len(record["nodes"])
    uris = [artifact.uri for artifact in store.get_artifacts() if artifact.uri]
    assert uris
    empty = "/Baseline/champion/"  # a first run has none, and git keeps no empty directory
    missing = [uri for uri in uris if not Path(uri).exists() and empty not in uri]
    assert [uri for uri in missing if uri.startswith(str(left / "root"))] == []


def test_the_history_and_the_report_of_the_run_are_shown(left, record, capsys):
    assert run(["history", "--root", str(left / "root")]) == 0
    assert record["run_id"] in capsys.readouterr().out
    assert run(["report", "--root", str(left / "root")]) == 0


def test_the_training_is_continued_to_the_same_weights(left, caplog):
    with caplog.at_level("INFO"):
        weights = train(left, steps=6)
    assert "step 4 of 6" in caplog.text
    with np.load(left / EXPECTED) as expected:
        assert weights.keys() == set(expected.files) - {"scores"}
        # Adam moves a weight by about its rate, .01, in each of two steps, by the ratio of sums
        # that every processor rounds its own way: to a thousandth where gradients nearly cancel.
        # A step more, or less, or of other rows is a thousand times that.
        for name in weights:
            np.testing.assert_allclose(weights[name], expected[name], rtol=1e-5, atol=2e-5)


def test_the_compiled_pipeline_runs_and_pushes(left):
    launcher, push = Launcher(left / "cluster"), left / "pushed-there"
    given = {"data_root": str(left / "data"), "push_dir": str(push)}
    results = launcher.run(left / SPEC, parameters=given)
    assert {result.state for result in results.values()} == {"SUCCEEDED"}
    assert [path.name for path in push.glob("[0-9]*")]
