"""Windows cut by length."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from yt8m.components.inputs.bucketing import cut_window


@settings(deadline=None, max_examples=60)
@given(
    batches=st.integers(1, 6),
    units=st.integers(1, 5),
    multiple=st.sampled_from([1, 2, 4]),
    seed=st.integers(0, 1000),
)
def test_a_window_is_cut_whole_into_batches_of_like_length(
    batches: int, units: int, multiple: int, seed: int
) -> None:
    rows = batches * units * multiple
    lengths = np.random.default_rng(seed).integers(1, 300, rows)
    order, cuts = cut_window(lengths, batches=batches, multiple=multiple)
    sizes = np.diff(cuts, prepend=0, append=rows)
    assert sorted(order) == list(range(rows))
    assert (np.diff(lengths[order]) >= 0).all()
    assert len(sizes) == batches
    assert sizes.sum() == rows
    assert (sizes >= multiple).all()
    assert (sizes % multiple == 0).all()


def test_longer_rows_come_fewer_to_a_batch_and_padding_shrinks() -> None:
    lengths = np.tile([100, 300], 64)
    order, cuts = cut_window(lengths, batches=4, multiple=4)
    sizes = np.diff(cuts, prepend=0, append=len(lengths)).tolist()
    assert sizes == sorted(sizes, reverse=True)
    groups = np.split(lengths[order], cuts)
    padded = sum(len(group) * group.max() for group in groups)
    assert padded < 0.85 * len(lengths) * lengths.max()
