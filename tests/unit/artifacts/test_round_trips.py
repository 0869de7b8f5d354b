"""What is written is read back equal."""

from __future__ import annotations

import contextlib
import io
import json
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from yt8m.components.artifacts.comparisons import Comparisons, Difference
from yt8m.components.artifacts.estimate import Estimate, estimate_text
from yt8m.components.artifacts.evaluation import Evaluation, SliceMetrics
from yt8m.components.artifacts.push_outcome import PushOutcome
from yt8m.components.artifacts.record_index import ShardIndex, pack_index, parse_index
from yt8m.components.artifacts.training_curve import TRAINING, head, read_curve
from yt8m.components.artifacts.version_record import VersionRecord
from yt8m.components.metrics.curves import CalibrationBin, CurvePoint
from yt8m.schemas.features import Level
from yt8m.schemas.json_file import NewerFormatError


def test_comparisons_are_two_lists_by_name() -> None:
    found = Comparisons(drift=(Difference(feature="labels", distance=0.02, threshold=0.05),))
    assert json.loads(found.to_json()) == {
        "format": 1,
        "yt8m": version("yt8m-pipeline"),
        "drift": [
            {"feature": "labels", "measure": "divergence", "distance": 0.02, "threshold": 0.05}
        ],
        "skew": [],
    }
    assert Comparisons.from_json(found.to_json()) == found


def test_a_push_outcome_holds_the_whole_record() -> None:
    record = VersionRecord(version=4, metrics={"gap": Estimate(value=0.7, lower=0.6, upper=0.8)})
    outcome = PushOutcome(pushed=True, destination="/models/4", record=record)
    written = json.loads(outcome.to_json())
    stamp, fields = ["format", "yt8m"], ["pushed", "destination", "up_to_date", "stale", "record"]
    assert list(written) == [*stamp, *fields]
    assert written["record"]["metrics"]["gap"] == {"value": 0.7, "lower": 0.6, "upper": 0.8}
    assert PushOutcome.from_json(outcome.to_json()) == outcome


def test_an_evaluation_survives_the_way_to_json_and_back() -> None:
    part = SliceMetrics(examples=3, candidate={"gap": Estimate(value=0.5)})
    evaluation = Evaluation(
        level=Level.SEGMENT,
        top_k=20,
        videos=2,
        examples=3,
        overall=part,
        spans=(1, 2),
        precision_recall={"candidate": (CurvePoint(score=0.5, precision=0.8, recall=0.4),)},
        calibration={
            "candidate": (CalibrationBin(low=0, high=1, count=0, mean_score=None, hit_rate=None),)
        },
    )
    assert Evaluation.from_json(evaluation.to_json()) == evaluation


def test_a_line_of_the_curve_that_a_kill_cut_off_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / TRAINING
    assert read_curve(str(path)) == []
    rows = [head(), {"kind": "train", "step": 10}]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows) + '{"kind": "tra')
    assert read_curve(str(path)) == [{"kind": "train", "step": 10}]


def test_an_index_of_records_says_its_format() -> None:
    index = {"u": ShardIndex(np.array([3, 4], np.uint32))}
    content = pack_index(index)
    assert parse_index(content)["u"].lengths.tolist() == [3, 4]
    with np.load(io.BytesIO(content)) as stored:
        arrays = {**stored, "format": 2, "yt8m": "1.4.0"}
    newer = io.BytesIO()
    np.savez(newer, **arrays)
    with pytest.raises(NewerFormatError, match=r"yt8m 1.4.0 wrote it, in format 2"):
        parse_index(newer.getvalue())


def test_an_index_of_records_says_that_it_is_damaged_whichever_byte_it_is() -> None:
    content = pack_index({"u": ShardIndex(np.arange(200, dtype=np.uint32))})
    for at in range(len(content)):
        with contextlib.suppress(ValueError):
            parse_index(content[:at])
        with contextlib.suppress(ValueError):
            parse_index(content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :])


def test_an_estimate_reads_as_a_value_with_its_interval() -> None:
    assert estimate_text(Estimate(value=0.7012, lower=0.695, upper=0.7071)) == (
        "0.7012 [0.6950, 0.7071]"
    )
    assert estimate_text(Estimate(value=0.01), sign="+") == "+0.0100"
    assert estimate_text(Estimate()) == "undefined"
