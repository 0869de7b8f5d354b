"""A trial's training, and which of its figures is its score."""

import json
import math

import pytest

from yt8m.components.artifacts.training_curve import EVALUATION, TRAINING
from yt8m.components.trainer.config import TrainerConfig
from yt8m.components.trainer.job import TrainingJob
from yt8m.components.tuner.trial import continue_from, continued_trial, score_of, trial_job
from yt8m.schemas.config_tree import from_dict

RATE = "trainer.optimizer.learning_rate"


def job(place, **trainer):
    return TrainingJob(
        manifest="m",
        checkpoint_dir=str(place),
        log_dir="l",
        export_dir="e",
        trainer=from_dict(TrainerConfig, trainer),
    )


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_a_trial_trains_with_its_values_in_a_directory_of_its_own(tmp_path):
    found = trial_job(job(tmp_path, max_steps=7), "/search/trial_3", {RATE: 0.25})
    assert found.trainer.optimizer.learning_rate == 0.25
    assert found.trainer.max_steps == 7
    assert found.checkpoint_dir == "/search/trial_3/checkpoints"


def test_hyperband_says_how_far_a_trial_goes_and_which_one_it_continues(tmp_path):
    values = {RATE: 0.25, "tuner/epochs": 3, "tuner/trial_id": "0001"}
    found = trial_job(job(tmp_path, max_steps=7), "/trial", values)
    assert (found.trainer.num_epochs, found.trainer.max_steps) == (3, None)
    assert continued_trial(values) == "0001"
    assert continued_trial({RATE: 0.25}) == ""


def test_a_trial_continues_another_once_and_then_itself(tmp_path):
    earlier, later = tmp_path / "earlier", tmp_path / "later"
    (earlier / "checkpoints").mkdir(parents=True)
    (earlier / "checkpoints/ckpt-1").write_text("1")
    (later / "checkpoints.partial").mkdir(parents=True)
    (later / "checkpoints.partial/ckpt-0").write_text("of a process that was killed")
    continue_from(str(later), str(earlier))
    assert [path.name for path in (later / "checkpoints").iterdir()] == ["ckpt-1"]
    (later / "checkpoints/ckpt-1").write_text("2")
    continue_from(str(later), str(earlier))
    assert (later / "checkpoints/ckpt-1").read_text() == "2"


EVALUATED = [
    {"kind": "evaluation", "step": 1, "gap": 0.3, "loss": 5.0},
    {"kind": "evaluation", "step": 2, "gap": 0.6, "loss": 4.0},
    {"kind": "evaluation", "step": 3, "gap": 0.5, "loss": 3.0},
]
VALIDATED = [
    {"kind": "train", "step": 1, "gap": 0.99, "loss": 0.1},
    {"kind": "validation", "step": 1, "gap": 0.2, "loss": 2.0},
    {"kind": "validation", "step": 2, "gap": 0.1, "loss": None},
    {"kind": "validation", "step": 3, "gap": 0.1, "loss": 2.5},
]


@pytest.mark.parametrize(
    ("trainer", "gap", "loss"),
    [
        ({}, 0.5, 3.0),  # the last weights are exported
        ({"early_stopping": {"name": "not_better"}}, 0.6, 4.0),  # the best evaluated
        ({"validation": {"every_steps": 1}}, 0.2, 2.0),  # the best validated
        ({"validation": {"every_steps": 1, "keep_best": False}}, 0.5, 3.0),
    ],
)
def test_the_score_is_of_the_weights_that_are_exported(tmp_path, trainer, gap, loss):
    write(tmp_path / EVALUATION, EVALUATED)
    write(tmp_path / TRAINING, VALIDATED)
    found = job(tmp_path, **trainer)
    assert score_of(found, "gap") == gap
    assert score_of(found, "loss") == loss


def test_a_trial_without_a_figure_has_no_score(tmp_path):
    assert math.isnan(score_of(job(tmp_path), "gap"))
    write(tmp_path / EVALUATION, [{"kind": "evaluation", "step": 1, "gap": 0.1, "loss": None}])
    assert math.isnan(score_of(job(tmp_path), "loss"))
