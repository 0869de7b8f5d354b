"""A training begun by an earlier version of this project (742dd83) is continued by this one.

`tests/golden/checkpoint` holds what that version left after step 4 of a small training (job,
manifest, records, checkpoints with the best one and the state of validations), and in
`expected.npz` the weights that it had itself after two steps more.
"""

import shutil
from pathlib import Path

import numpy as np
import tensorflow as tf

from yt8m.components.trainer.backends.in_process import run_job
from yt8m.components.trainer.job import parse_job
from yt8m.components.trainer.state.warm_start import read_weights

LEFT = Path(__file__).parents[2] / "golden/checkpoint"
# Batch normalisation takes these away again: their gradients are rounding alone, of which Adam
# makes whole steps, and another TensorFlow than the one that left them rounds otherwise.
CANCELLED = ("first/bias", "block0/bias")
SAME_ROUNDING = tf.__version__.startswith("2.16.")


def test_a_checkpoint_of_an_earlier_version_is_continued_to_the_same_weights(tmp_path, caplog):
    root = tmp_path / "training"
    shutil.copytree(LEFT, root)
    for name in ("job.json", "manifest.json"):
        path = root / name
        path.write_text(path.read_text().replace("ROOT", str(root)))
    job = parse_job((root / "job.json").read_text())
    with caplog.at_level("INFO"):
        run_job(job, {})
    assert "step 4 of 6" in caplog.text
    weights = read_weights(tf.train.latest_checkpoint(job.checkpoint_dir))
    with np.load(LEFT / "expected.npz") as expected:
        assert weights.keys() == set(expected.files)
        for name in expected.files:
            if SAME_ROUNDING:
                np.testing.assert_allclose(weights[name], expected[name], rtol=1e-5, atol=1e-7)
            elif not name.endswith(CANCELLED):
                np.testing.assert_allclose(weights[name], expected[name], rtol=1e-5, atol=1e-5)
    assert (root / "export/saved_model.pb").exists()
