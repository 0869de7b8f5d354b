"""Several workers that score a split have what one would have, each a stretch of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sources import batches, make_source

from yt8m.components.inputs.dataset import dataset_for_scoring
from yt8m.schemas.features import Level


@pytest.mark.parametrize("max_rows", [None, 20])
@pytest.mark.parametrize("level", list(Level))
def test_workers_score_a_stretch_of_the_split_each_and_all_of_it_together(
    level: Level, max_rows: int | None, tmp_path: Path
) -> None:
    source = make_source(tmp_path, level)

    def ids(num_workers: int, worker_index: int) -> list[tuple[bytes, int]]:
        dataset = dataset_for_scoring(
            source,
            batch_size=4,
            max_rows=max_rows,
            num_workers=num_workers,
            worker_index=worker_index,
        )
        read = batches(dataset, 999)
        starts = [batch.get("segment_start", np.zeros(len(batch["id"]))) for batch in read]
        return [
            (name, int(start))
            for batch, of_batch in zip(read, starts, strict=True)
            for name, start in zip(batch["id"], of_batch, strict=True)
        ]

    alone = ids(1, 0)
    assert len(alone) == len(set(alone))
    if max_rows and level is not Level.SEGMENT:
        assert len(alone) == max_rows
    assert [row for worker in range(3) for row in ids(3, worker)] == alone
    assert ids(1000, 3) == []  # of more workers than records
