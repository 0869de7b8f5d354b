"""A training whose weights become NaN comes back, or ends; nothing is saved or exported of it."""

import dataclasses

import numpy as np
import pytest
from cluster import newest_step
from training import CLASSES, make_job, rows, train

from yt8m.components.artifacts.training_curve import EVALUATION
from yt8m.components.trainer.backends.in_process import run_job
from yt8m.components.trainer.loop.divergence import Diverged
from yt8m.components.trainer.state.warm_start import read_weights


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    from records import make_dataset

    return make_dataset(tmp_path_factory.mktemp("data"), classes=CLASSES)


BLOWN_UP = {
    "max_steps": 40,
    "optimizer": {"name": "sgd", "learning_rate": 3e38},
    "clip_gradient_norm": 0,
}


@pytest.mark.parametrize(
    ("trainer", "step"),
    [
        ({"log": {"every_steps": 2}}, 4),  # scores are those before a step moves the weights
        ({"log": {"every_steps": 10}, "max_steps": 2}, 2),
        ({"log": {"every_steps": 10}, "checkpoint": {"every_steps": 3}}, 3),
        ({"log": {"every_steps": 10}, "validation": {"every_steps": 3, "num_tries": 1}}, 3),
    ],
)
def test_a_training_that_diverges_ends_and_says_what_helps(tmp_path, data, trainer, step):
    said = rf"at step {step} .*Lower trainer\.optimizer\.learning_rate"
    with pytest.raises(Diverged, match=said):
        train(tmp_path, data, **{**BLOWN_UP, **trainer})
    assert not (tmp_path / "export").exists()


def test_an_own_network_is_asked_for_probabilities_first(tmp_path, data):
    """Logits have no loss, and no learning rate helps."""
    with pytest.raises(Diverged, match=r"scores of own_networks\.Logits are probabilities, from 0"):
        train(tmp_path, data, network="own_networks.Logits", max_steps=2, log={"every_steps": 2})


def test_after_it_has_diverged_a_lower_rate_continues_from_the_checkpoint_before(tmp_path, data):
    often = {"checkpoint": {"every_steps": 1}, "log": {"every_steps": 4}}
    slow = {"max_steps": 6, "optimizer": {"name": "sgd", "learning_rate": 0.1}}
    train(tmp_path, data, **{**slow, **often, "max_steps": 3})
    with pytest.raises(Diverged):
        train(tmp_path, data, **BLOWN_UP, **often)
    assert 3 <= newest_step(tmp_path / "checkpoints") < 6
    job = train(tmp_path, data, **slow, **often)
    assert newest_step(tmp_path / "checkpoints") == 6
    assert rows(job, "train")[-1]["loss"] is not None


def test_validation_sees_that_another_head_than_the_first_predicts_nan(tmp_path, data):
    job = make_job(
        tmp_path,
        data=data,
        **{**BLOWN_UP, "optimizer": {"name": "sgd", "learning_rate": 1.0}},
        heads=[{"name": "entities"}, {"name": "verticals", "weight": 3e38}],
        sharing="nothing",
        validation={"every_steps": 4, "go_back": True, "num_tries": 2, "metric": "gap"},
    )
    job = dataclasses.replace(job, vocabulary=str(data / "vocabulary.csv"))
    run_job(job, {})
    found = rows(job, "validation")
    assert [row["factor"] for row in found] == [1, 1, 0.5]
    assert all(row["gap"] is not None and row["loss"] is None for row in found[1:])
    assert all(np.isfinite(value).all() for value in read_weights(job.export_dir).values())


def test_validation_returns_from_weights_that_are_no_numbers(tmp_path, data):
    evaluation = {"enabled": True, "start_delay_s": 0, "throttle_s": 0, "steps": None}
    job = train(
        tmp_path,
        data,
        **BLOWN_UP,
        log={"every_steps": 2, "tensorboard": True},
        validation={"every_steps": 4, "go_back": True, "num_tries": 3},
        evaluation={**evaluation, "exporters": [{"name": "latest"}, {"name": "best"}]},
        early_stopping={"name": "not_better", "patience_steps": 30},
    )
    found = rows(job, "validation")
    assert [row["step"] for row in found] == [0, 4, 8, 12]
    assert [row["loss"] is None for row in found] == [False, True, True, True]
    assert [row["factor"] for row in found] == [1, 1, 0.5, 0.25]
    told = rows(job, "train")
    assert [row["step"] for row in told] == [2, 4, 6, 8, 10, 12]
    assert {row["step"] for row in told if row["gap"] is None} == {4, 8, 12}
    assert all(np.isfinite(value).all() for value in read_weights(job.export_dir).values())


def test_no_checkpoint_is_made_of_weights_that_are_no_numbers(tmp_path, data):
    job = train(
        tmp_path,
        data,
        **{**BLOWN_UP, "max_steps": 8},
        validation={"every_steps": 4, "go_back": True},
        checkpoint={"every_steps": 2},
        evaluation={"enabled": True, "start_delay_s": 0, "throttle_s": 0},
    )
    # Those of steps 2 and 6 would hold NaN; at the others validation has just gone back.
    assert [row["step"] for row in rows(job, "checkpoint")] == [0, 4, 8]
    assert [row["step"] for row in rows(job, "evaluation", EVALUATION)] == [0, 4, 8]
