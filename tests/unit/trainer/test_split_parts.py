"""What processes tell each other of their parts of the validation split."""

from __future__ import annotations

import numpy as np

from yt8m.components.metrics.accumulator import MetricAccumulator
from yt8m.components.metrics.batch import Batch
from yt8m.components.metrics.catalogue import values_of
from yt8m.components.trainer.evaluation.split_scorer import SplitPart, parse_part


def test_a_part_reaches_other_processes_to_the_last_bit() -> None:
    metrics = MetricAccumulator(30)
    rng = np.random.default_rng(0)
    metrics.update(
        Batch(predictions=rng.random((7, 30), np.float32), labels=rng.integers(0, 30, (7, 2)))
    )
    losses = {"entities": (1 / 3, 7.0), "verticals": (0.1, 7.0)}
    read = parse_part(SplitPart(losses=losses, metrics=metrics).to_bytes())
    assert read.losses == losses
    assert not read.is_broken
    assert values_of(read.metrics) == values_of(metrics)


def test_a_part_without_rows_and_one_that_is_broken_are_told_as_well() -> None:
    part = SplitPart(losses={}, metrics=MetricAccumulator(30), is_broken=True)
    read = parse_part(part.to_bytes())
    assert read.is_broken
    assert len(read.metrics) == 0
