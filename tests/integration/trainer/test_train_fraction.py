"""A training on a fraction of its data."""

import pytest
from records import make_dataset, read_all
from training import CLASSES, make_job, train

from yt8m.components.records.decode import decode_record
from yt8m.components.trainer.input import load_data
from yt8m.schemas.errors import ConfigError


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("fraction") / "data", classes=CLASSES)


@pytest.mark.parametrize("fraction", [0.5, 0.25])
def test_the_first_records_of_each_shard_are_read_again_and_again(data, tmp_path, fraction):
    found = load_data(make_job(tmp_path, data=data, train_fraction=fraction))
    first = set()
    for path in data.glob("train*"):
        records = read_all(path)
        kept = records[: round(fraction * len(records))]
        first |= {decode_record(record).features["mean_rgb"].tobytes() for record in kept}
    assert found.train_examples == len(first) < 24
    batches = iter(found.batches(found.reading(4, examples=0)))
    seen = [row.tobytes() for _ in range(9) for row in next(batches)["rgb"].numpy()]
    assert set(seen) == first


def test_an_index_of_all_videos_is_refused(data, tmp_path):
    with pytest.raises(ConfigError, match=r"train_fraction = 0\.5: must be 1 with retrieval"):
        train(tmp_path, data, train_fraction=0.5, retrieval={})
