"""The metrics of a run as a frame, with and without a baseline."""

from types import SimpleNamespace

import numpy as np

from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.run_record import RunRecord
from yt8m.pipeline.python.runs import Run
from yt8m.pipeline.workspace import Layout

ESTIMATES = {"gap": Estimate(value=0.7, lower=0.6, upper=0.8), "perr": Estimate(value=0.5)}


def frame(tmp_path, decision):
    run = Run(Layout(tmp_path), RunRecord(run_id="a", started=1.0))
    outputs = SimpleNamespace(decision=decision)
    run.__dict__["results"] = SimpleNamespace(metrics=ESTIMATES, outputs=outputs)
    return run.metrics


def test_without_a_baseline_there_are_the_values_alone(tmp_path):
    undecided = frame(tmp_path, None)
    alone = frame(tmp_path, SimpleNamespace(baseline_metrics={}, differences={}))
    for metrics in (undecided, alone):
        assert list(metrics.index) == ["gap", "perr"]
        assert metrics.loc["gap"].to_dict() == {"value": 0.7, "lower": 0.6, "upper": 0.8}


def test_what_the_baseline_has_is_beside_the_value_with_the_difference(tmp_path):
    differences = {"gap": Estimate(value=0.1, lower=0.05, upper=0.15)}
    decision = SimpleNamespace(
        baseline_metrics={"gap": Estimate(value=0.6)}, differences=differences
    )
    metrics = frame(tmp_path, decision)
    assert metrics.loc["gap", ["baseline", "difference"]].tolist() == [0.6, 0.1]
    assert np.isnan(metrics.loc["perr", "baseline"])
