"""The values that Google's own code computes, for the cases where its result is unique.

Where all scores tie, Google's code shuffles and picks the top 20 by memory layout, so its GAP and
MAP there are one draw of many; Hit@1 and PERR are unique and compared. Its Hit@1 is averaged in
float32, which is why that one is compared to seven digits.
"""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from yt8m.components.metrics import Batch, MetricAccumulator, values_of

ROOT = Path(__file__).parents[3]
FOLDER = Path(os.environ.get("YT8M_REAL_DATA", ROOT.parent / "shared" / "data")) / "metrics"

CASES = (
    "basic_64x100",
    "multi_batch_ragged",
    "fewer_than_20_classes",
    "all_zero_scores",
    "some_videos_no_labels",
    "no_positive_labels",
    "one_label_each",
    "perfect",
    "top_k_5",
)


@pytest.mark.real
@pytest.mark.parametrize("name", CASES)
def test_equals_googles_values(name):
    if not (FOLDER / "golden.json").exists():
        pytest.skip(f"no golden values in {FOLDER}; set YT8M_REAL_DATA to where they are")
    case = json.loads((FOLDER / "golden.json").read_text())["cases"][name]
    data = np.load(FOLDER / f"{name}.npz")
    metrics = MetricAccumulator(case["num_classes"], top_k=case["top_k"], top_n=case["top_n"])
    for rows in np.split(np.arange(case["num_examples"]), np.cumsum(data["batch_sizes"])[:-1]):
        metrics.update(Batch(predictions=data["predictions"][rows], multi_hot=data["labels"][rows]))
    result = values_of(metrics)
    assert result["hit_at_1"] == pytest.approx(case["hit_at_one"], abs=1e-7)
    assert result["perr"] == pytest.approx(case["perr"], abs=1e-9)
    classes = metrics.class_precision()
    assert int((~np.isnan(classes.ap)).sum()) == case["num_ap_classes"]
    if name != "all_zero_scores":
        assert result["gap"] == pytest.approx(case["gap"], abs=1e-9)
        assert result["map"] == (
            None if case["map"] is None else pytest.approx(case["map"], abs=1e-9)
        )
        first = classes.ap[~np.isnan(classes.ap)][:10]
        np.testing.assert_allclose(first, case["aps_first10"], atol=1e-9)
