"""A used directory of checkpoints: what it lost, what changed beside it, what fills its disk."""

import shutil
import subprocess

import numpy as np
import pytest
import tf_keras
from checkpoint_values import assert_bitwise_equal
from records import make_dataset
from training import CLASSES, rows, train

from yt8m.components.artifacts.training_curve import EVALUATION
from yt8m.components.trainer.state.warm_start import read_weights
from yt8m.schemas.errors import UserError, Yt8mError

EARLY = {
    "evaluation": {"enabled": True, "start_delay_s": 0, "throttle_s": 0, "steps": 2},
    "early_stopping": {"name": "not_better", "metric": "loss", "patience_steps": 4},
    "checkpoint": {"every_steps": 2, "keep": 9},
    "optimizer": {"name": "sgd", "learning_rate": 0.1},
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("survives"), level="video", classes=CLASSES)


@pytest.mark.parametrize("damage", ["missing", pytest.param("emptied", marks=pytest.mark.slow)])
def test_checkpoints_are_found_where_tensorflows_own_list_of_them_is_lost(
    tmp_path, data, damage, caplog
):
    job = train(tmp_path / "lost", data, max_steps=4, checkpoint={"every_steps": 2})
    state = tmp_path / "lost/checkpoints/checkpoint"
    state.unlink() if damage == "missing" else state.write_bytes(b"")
    with caplog.at_level("INFO"):
        train(tmp_path / "lost", data, max_steps=6)
    assert "step 4 of 6" in caplog.text
    assert "missing or damaged" in caplog.text
    whole = train(tmp_path / "whole", data, max_steps=6)
    assert_bitwise_equal(job.checkpoint_dir, whole.checkpoint_dir)


def test_a_warm_start_finds_a_checkpoint_whose_list_is_lost(tmp_path, data, caplog):
    train(tmp_path / "first", data, max_steps=2)
    (tmp_path / "first/checkpoints/checkpoint").unlink()
    with caplog.at_level("INFO"):
        train(tmp_path / "next", data, max_steps=2, warm_start=str(tmp_path / "first/checkpoints"))
    assert "2 weights taken over" in caplog.text


def test_settings_that_changed_in_a_used_directory_are_logged_and_the_same_ones_are_not(
    tmp_path, data, caplog
):
    train(tmp_path, data, max_steps=4)
    with caplog.at_level("WARNING"):
        train(tmp_path, data, max_steps=4, log={"every_steps": 3}, checkpoint={"keep": 2})
    assert "other settings" not in caplog.text
    with caplog.at_level("WARNING"):
        changed = {"seed": 7, "optimizer": {"name": "adam", "learning_rate": 0.5}}
        train(tmp_path, data, max_steps=6, batch_size=4, **changed)
    for row in (
        "trainer.batch_size               there: 8  now: 4",
        "trainer.optimizer.learning_rate  there: 0.01  now: 0.5",
        "trainer.seed                     there: 0  now: 7",
    ):
        assert row in caplog.text
    assert "trainer.accumulate" not in caplog.text


@pytest.mark.parametrize("change", ["wider", pytest.param("deeper", marks=pytest.mark.slow)])
def test_checkpoints_of_an_own_network_whose_code_has_changed_are_refused_with_what_to_do(
    tmp_path, data, monkeypatch, change
):
    import own_networks

    own = {"network": "own_networks.Plain"}
    train(tmp_path, data, max_steps=2, **own)

    class Changed(own_networks.Trunk):
        def __init__(self, name):
            super().__init__(name)
            if change == "wider":
                self.hidden = tf_keras.layers.Dense(24, activation="relu")
            else:
                self.more = tf_keras.layers.Dense(16)

        def call(self, signal, training=False):
            vectors = super().call(signal, training=training)
            return vectors if change == "wider" else self.more(vectors)

    monkeypatch.setattr(own_networks, "Trunk", Changed)
    before = files_of(tmp_path / "checkpoints")
    with pytest.raises(UserError, match=r"ckpt-2 holds other weights.*trainer\.start_new_model"):
        train(tmp_path, data, max_steps=4, **own)
    assert files_of(tmp_path / "checkpoints") == before  # its settings and its end, too


def files_of(directory):
    return {path: path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_early_stopping_exports_the_best_evaluated_weights_not_the_last(tmp_path, data):
    train(tmp_path, data, max_steps=4, **EARLY)
    worse = {**EARLY, "optimizer": {"name": "sgd", "learning_rate": 100.0}}
    job = train(tmp_path, data, max_steps=100, **worse)
    history = [(row["step"], row["loss"]) for row in rows(job, "evaluation", EVALUATION)]
    best, last = min(history, key=lambda row: row[1])[0], history[-1][0]
    assert best < last < 100
    exported = read_weights(job.export_dir)
    by_step = {s: read_weights(f"{job.checkpoint_dir}/ckpt-{s}") for s in (best, last)}
    for name, value in by_step[best].items():
        if name in exported:
            np.testing.assert_array_equal(exported[name], value)
    assert any(
        not np.array_equal(exported[n], v) for n, v in by_step[last].items() if n in exported
    )


@pytest.fixture
def small_disk(tmp_path):
    """A file system of its own; making one needs root."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {made.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_a_full_disk_is_called_that_and_with_room_the_training_goes_on(
    tmp_path, data, small_disk, caplog
):
    job = train(small_disk, data, max_steps=2)
    filler = small_disk / "filler"
    filler.write_bytes(b"\0" * (shutil.disk_usage(small_disk).free - (40 << 10)))
    with pytest.raises(Yt8mError, match=r"No space left on device.*make room there") as error:
        train(small_disk, data, max_steps=4)
    assert error.value.exit_code == 1
    filler.unlink()
    with caplog.at_level("INFO"):
        train(small_disk, data, max_steps=4)
    assert "step 2 of 4" in caplog.text
    assert [row["step"] for row in rows(job, "train")] == [2, 4]
    whole = train(tmp_path / "whole", data, max_steps=4)
    assert_bitwise_equal(job.checkpoint_dir, whole.checkpoint_dir)
