"""What may be asked of the generator."""

import pytest

from yt8m.components.extras.synthetic.spec import DatasetSpec
from yt8m.schemas.config_tree import from_dict, to_dict
from yt8m.schemas.errors import ConfigError


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"train": -1}, "train = -1: must be 0 or more"),
        ({}, "train = 0: must be positive"),
        ({"train": 1, "classes": 1}, "classes = 1"),
        ({"train": 1, "shards": 0}, "shards = 0"),
        ({"train": 1, "spans": 0}, "spans = 0"),
        ({"train": 1, "seed": -1}, "seed = -1"),
        ({"train": 1, "level": "video", "temporal": True}, "temporal = True"),
        ({"train": 1, "level": "frame", "min_frames": 9, "max_frames": 8}, "min_frames = 9"),
        ({"train": 1, "level": "segment", "min_frames": 8}, "from 9 to max_frames"),
        ({"train": 1, "sizes": {"rgb": 0}}, "sizes.rgb = 0: must be 1 or more"),
        ({"train": 1, "levle": "frame"}, "levle: unknown key; did you mean level?"),
    ],
)
def test_impossible_data_set_is_refused_by_the_name_of_its_value(values, named):
    with pytest.raises(ConfigError) as error:
        from_dict(DatasetSpec, values)
    assert named in str(error.value)


def test_spec_survives_json():
    spec = from_dict(DatasetSpec, {"level": "segment", "train": 3, "spans": 2})
    assert from_dict(DatasetSpec, to_dict(spec)) == spec
