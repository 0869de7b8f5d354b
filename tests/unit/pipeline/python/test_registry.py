"""The registry in a notebook."""

import numpy as np
import pytest
from registry_models import push_fake

from yt8m.pipeline.python.models import registry
from yt8m.schemas.errors import UserError
from yt8m.schemas.json_file import FORMAT


def test_a_version_of_a_newer_yt8m_is_one_row_of_the_frame(tmp_path):
    push_fake(tmp_path, tmp_path / "push")
    newer = push_fake(tmp_path, tmp_path / "push")
    record = tmp_path / "push/2/assets.extra/yt8m_record.json"
    text = newer.record.to_json()
    record.write_text(text.replace(f'"format": {FORMAT}', '"format": 99'))
    frame = registry(tmp_path / "push").frame.set_index("version")
    assert frame.loc[1, "gap"] == 0.5
    assert "in format 99" in frame.loc[2, "problem"]


def test_a_version_is_a_number_of_any_kind(tmp_path):
    push_fake(tmp_path, tmp_path / "push")
    found = registry(tmp_path / "push")
    assert found.record(np.int64(1)) == found.record(1)
    for ask in (found.load, found.record):
        for wrong in ("1", 1.0, True, None):
            with pytest.raises(UserError, match=rf"version {wrong!r}: must be a number"):
                ask(wrong)
