"""BulkInferrer in a real run: predictions beside the model that made them, on record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from yt8m_runs import Place, generate, yt8m

pytestmark = pytest.mark.e2e

ON = ("--set", "bulk_inferrer={split: eval, format: jsonl, top_k: 3}")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bulk")
    generate(folder / "data")
    return Place(data=folder / "data", root=folder / "root", push=folder / "push")


def result(place):
    """The step's output in the newest run, as MLMD has it."""
    status = json.loads(yt8m("status", "--root", str(place.root), "--artifacts", "--json").stdout)
    (step,) = [e for e in status["executions"] if e["node"] == "BulkInferrer"]
    return json.dumps(step["outputs"]), Path(place.root).rglob("predictions.jsonl")


def test_a_blessed_model_predicts_the_split_and_the_artifact_is_on_record(place):
    done = place.run(*ON)
    assert done.returncode == 0, done.stderr
    assert place.states()["BulkInferrer"] != "failed"
    told, files = result(place)
    assert "inference_result" in told
    (file,) = files
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert len(rows) == 100
    assert {len(row["class_ids"]) for row in rows} == {3}


def test_a_model_that_is_rejected_predicts_nothing(place):
    done = place.run(*ON, "--set", "gate.gap_threshold=0.999", "--set", "trainer.seed=5")
    assert done.returncode == 3
    _, files = result(place)
    assert len(list(files)) == 1  # the first run's


@pytest.mark.slow
def test_without_it_there_is_no_such_step(place):
    assert place.run("--set", "trainer.seed=6").returncode in (0, 3)
    assert "BulkInferrer" not in place.states()
