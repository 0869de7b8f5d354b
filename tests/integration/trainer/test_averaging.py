"""Averages of the weights: kept in the checkpoint, validated, evaluated and exported."""

import numpy as np
import pytest
from checkpoint_values import assert_bitwise_equal, read_values
from records import make_dataset
from training import CLASSES, rows, train

from yt8m.components.artifacts.training_curve import EVALUATION
from yt8m.components.trainer.state.warm_start import read_weights
from yt8m.schemas.errors import ConfigError

AVERAGES = "optimizer/_model_variables_moving_average/"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("averaging"), level="video", classes=CLASSES)


def averages(job):
    values = read_values(job.checkpoint_dir)
    return [values[key] for key in sorted(values) if key.startswith(AVERAGES)]


def test_an_average_is_what_the_steps_weights_and_the_growing_momentum_say(tmp_path, data):
    by_step = [
        list(read_weights(train(tmp_path / str(steps), data, max_steps=steps).export_dir).values())
        for steps in (1, 2, 3)
    ]
    job = train(tmp_path / "averaged", data, max_steps=3, ema_momentum=0.15)
    # 1/10, then 2/11 and 3/12, which are above what is configured.
    first = read_weights(_untrained(tmp_path, data))
    wanted = list(first.values())
    for weights, momentum in zip(by_step, (0.1, 0.15, 0.15), strict=True):
        wanted = [momentum * a + (1 - momentum) * w for a, w in zip(wanted, weights, strict=True)]
    exported = list(read_weights(job.export_dir).values())
    for value, there in zip(wanted, exported, strict=True):
        np.testing.assert_allclose(there, value, rtol=1e-5, atol=1e-7)


def _untrained(tmp_path, data):
    """An export of the first weights: nothing is learned at such a rate."""
    still = {"name": "sgd", "learning_rate": 1e-30}
    return train(tmp_path / "untrained", data, max_steps=1, optimizer=still).export_dir


def test_the_exported_weights_are_the_averages_and_training_goes_on_from_the_weights(
    tmp_path, data
):
    plain = train(tmp_path / "plain", data)
    job = train(tmp_path / "averaged", data, ema_momentum=0.9)
    exported = read_weights(job.export_dir)
    trained, own = read_weights(plain.checkpoint_dir), read_weights(job.checkpoint_dir)
    for name in set(exported) - {"save_counter"}:
        value = trained[name]
        assert value.tobytes() == own[name].tobytes()
        assert np.abs(exported[name] - value).max() > 1e-4
    shapes = {value.shape: value for name, value in exported.items() if name != "save_counter"}
    for average in averages(job):
        assert average.tobytes() == shapes[average.shape].tobytes()


def test_a_resumed_training_has_the_averages_of_the_uninterrupted_one(tmp_path, data):
    train(tmp_path / "resumed", data, max_steps=4, ema_momentum=0.9)
    resumed = train(tmp_path / "resumed", data, max_steps=8, ema_momentum=0.9)
    whole = train(tmp_path / "whole", data, max_steps=8, ema_momentum=0.9)
    assert_bitwise_equal(resumed.checkpoint_dir, whole.checkpoint_dir)
    a, b = read_weights(resumed.export_dir), read_weights(whole.export_dir)
    assert all(a[name].tobytes() == value.tobytes() for name, value in b.items())


def test_validation_and_evaluation_score_the_averages(tmp_path, data):
    scored = {
        "validation": {"every_steps": 6, "keep_best": False},
        "evaluation": {"enabled": True, "start_delay_s": 0, "throttle_s": 0, "steps": None},
    }
    plain = train(tmp_path / "plain", data, **scored)
    job = train(tmp_path / "averaged", data, ema_momentum=0.9, **scored)
    validated = rows(job, "validation")[-1]["loss"]
    evaluated = rows(job, "evaluation", EVALUATION)[-1]["loss"]
    assert validated == pytest.approx(evaluated, rel=1e-6)
    assert abs(validated - rows(plain, "validation")[-1]["loss"]) > 1e-3


def test_the_averages_of_a_warm_start_begin_at_the_weights_taken_over(tmp_path, data):
    first = train(tmp_path / "first", data)
    still = {"name": "sgd", "learning_rate": 1e-30}
    job = train(
        tmp_path / "next",
        data,
        warm_start=first.export_dir,
        ema_momentum=0.9,
        optimizer=still,
        max_steps=2,
    )
    before, after = read_weights(first.export_dir), read_weights(job.export_dir)
    for name, value in before.items():
        np.testing.assert_allclose(after[name], value, rtol=1e-6, atol=1e-9)


def test_averaging_cannot_begin_or_end_under_a_checkpoint(tmp_path, data):
    train(tmp_path, data)
    with pytest.raises(ConfigError, match="adam, averaging"):
        train(tmp_path, data, ema_momentum=0.9)
