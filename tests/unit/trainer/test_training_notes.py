"""A training that starts at step 0 beside an interrupted one says what changed, and the cost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from yt8m.components.console.notices import notices_heard_by
from yt8m.components.trainer.config import TrainerConfig
from yt8m.components.trainer.job import TrainingJob
from yt8m.components.trainer.state.done_marker import DONE_FILE
from yt8m.components.trainer.state.training_notes import (
    SETTINGS_FILE,
    announce_interrupted,
    find_changes,
    write_settings,
)
from yt8m.schemas.config_tree import from_dict

CONTENT = {"the records": "1", "the code": "1"}


@pytest.fixture
def job(tmp_path):
    def make(content=None, **trainer):
        described = TrainingJob(
            manifest="m",
            checkpoint_dir="",
            log_dir="l",
            export_dir="e",
            content={**CONTENT, **(content or {})},
            trainer=from_dict(TrainerConfig, trainer),
        )
        return replace(described, checkpoint_dir=str(tmp_path / "checkpoints" / described.key))

    return make


def interrupted(job: TrainingJob, *steps: int) -> Path:
    directory = Path(job.checkpoint_dir)
    directory.mkdir(parents=True)
    write_settings(str(directory), job.settings)
    for step in steps:
        (directory / f"ckpt-{step}.index").write_bytes(b"")
    return directory


def announced(job: TrainingJob) -> list[str]:
    found: list[str] = []
    with notices_heard_by(found.append):
        announce_interrupted(job)
    return found


def test_the_changed_value_its_cost_and_the_way_back_are_named(job):
    directory = interrupted(job(batch_size=32), 600, 1200)
    (text,) = announced(job(batch_size=64))
    assert text == (
        "trainer.batch_size changed from 32 to 64: the training starts at step 0. The interrupted "
        f"one is at step 1,200 in {directory}. To keep these 1,200 steps, stop this run and start "
        "it with --set trainer.batch_size=32, which continues that training"
    )


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"content": {"the records": "2"}}, "the records changed: "),
        ({"content": {"trainer.warm_start": "2"}}, "what trainer.warm_start names changed: "),
        (
            {"num_epochs": None, "max_steps": 5},
            "trainer.max_steps changed from null to 5; ",
        ),
        # Of another optimiser not each of its values is listed.
        (
            {"optimizer": {"name": "adagrad"}},
            "trainer.optimizer.name changed from adam",
        ),
    ],
)
def test_what_changed_is_said_in_the_words_of_the_configuration(job, changed, expected):
    interrupted(job(), 5)
    (text,) = announced(job(**changed))
    assert text.startswith(expected)


def test_nothing_is_said_where_nothing_is_lost(job):
    finished = interrupted(job(seed=1), 5)
    (finished / DONE_FILE).write_text("{}")
    interrupted(job(seed=2))  # without a checkpoint
    assert announced(job(seed=3)) == []
    interrupted(job(seed=3), 1)  # what is started has checkpoints of its own
    interrupted(job(seed=4), 7)
    assert announced(job(seed=3)) == []


def test_the_nearest_training_is_named_and_another_experiment_is_not(job):
    interrupted(job(seed=1, batch_size=8), 900)
    interrupted(job(seed=1), 20)
    (text,) = announced(job(seed=2))
    assert text.startswith("trainer.seed changed from 1 to 2: ")
    other = {
        "batch_size": 5,
        "accumulate": 2,
        "precision": "fp32",
        "xla": "off",
        "clip": "global",
        "clip_gradient_norm": 2.0,
        "num_epochs": 1.0,
        "regularisation_penalty": 0.5,
        "normalize_gradients": False,
    }
    assert announced(job(**other)) == []


def test_bookkeeping_continues_the_same_training(job):
    interrupted(job(), 5)
    values = {"checkpoint": {"keep": 9, "every_s": 7}, "evaluation": {"throttle_s": 1}}
    again = job(**values, log={"every_steps": 3}, steps_per_loop=2)
    assert again.checkpoint_dir == job().checkpoint_dir
    assert announced(again) == []


@pytest.mark.parametrize("text", ["{", '{"format": 999}', "[]"])
def test_notes_that_cannot_be_read_are_passed_over(job, text):
    (interrupted(job(seed=1), 5) / SETTINGS_FILE).write_text(text)
    assert announced(job(seed=2)) == []


def test_changes_are_those_of_both_trees():
    changes = find_changes({"a": {"x": 1, "gone": 2}}, {"a": {"x": 1, "new": None}})
    assert [(c.key, c.there, c.now) for c in changes] == [
        ("a.gone", 2, "absent"),
        ("a.new", "absent", None),
    ]
