"""Keys whose role is to change nothing of the result change no bit of the weights."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
from checkpoint_values import assert_bitwise_equal
from config_keys import all_keys, pair
from records import make_dataset
from training import CLASSES, make_manifest, train, trainer_config

from yt8m.components.console.notices import notices_heard_by
from yt8m.components.trainer.backends.run import job_of, run_fn
from yt8m.components.trainer.config import TrainerConfig
from yt8m.schemas.config_layers import overlay
from yt8m.schemas.config_tree import to_dict, type_hints
from yt8m.schemas.errors import Terminated
from yt8m.schemas.features import FeatureConfig
from yt8m.schemas.roles import Bookkeeping, KeyRole, OfExport, ResultNeutral, _roles_of

# Processes, and frames, that are not here; test_frame_cache.py compares those of frames.
ELSEWHERE = ("trainer.backend", "trainer.distribution", "trainer.cache")
INSTEAD = ("trainer.retrieval.combination",)  # of other keys here, which are refused beside it
LONG: dict[str, Any] = {"max_steps": 400, "checkpoint": {"every_steps": 10}}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("roles"), level="video", classes=CLASSES)


def changed_values(*roles: type[KeyRole]) -> dict[str, Any]:
    """Of the trainer's keys with one of `roles`, all at once, values that are not the default."""
    changed: dict[str, Any] = {}
    for key in all_keys():
        if not key.path.startswith("trainer.") or key.path.startswith(ELSEWHERE + INSTEAD):
            continue
        found = pair(key) if isinstance(key.role, roles) else None
        value: Any = to_dict(found[1]) if found else None
        for name in key.path.split("."):
            value = value.get(name) if isinstance(value, dict) else None  # a list counts as a whole
        if value is not None and not isinstance(value, dict):
            for name in reversed(key.path.split(".")[1:]):
                value = {name: value}
            changed = overlay(TrainerConfig, changed, value)
    # Exporters need it, and in `training.TRAINER` it is off.
    return overlay(
        TrainerConfig, changed, {"evaluation": {"enabled": True, "other_splits": ["train"]}}
    )


def test_all_that_changes_nothing_of_the_result_changed_at_once_changes_no_bit(
    tmp_path, data, monkeypatch
):
    plain = train(tmp_path / "plain", data)
    values = changed_values(ResultNeutral, OfExport)
    assert {"checkpoint", "evaluation", "log", "steps_per_loop", "retrieval"} <= set(values)
    other = train(tmp_path / "other", data, **values)
    assert other.key == plain.key
    assert_bitwise_equal(plain.checkpoint_dir, other.checkpoint_dir)
    # A wrong role is noticed.
    monkeypatch.setitem(type_hints(TrainerConfig), "seed", Annotated[int, Bookkeeping()])
    monkeypatch.setitem(_roles_of(TrainerConfig, KeyRole), "seed", Bookkeeping())
    planted = changed_values(ResultNeutral)
    assert planted["seed"] != 0
    wrong = train(tmp_path / "wrong", data, **planted)
    assert wrong.key == plain.key
    with pytest.raises(AssertionError):
        assert_bitwise_equal(plain.checkpoint_dir, wrong.checkpoint_dir)


@pytest.fixture
def arguments(tmp_path, data):
    """What TFX hands to `run_fn`, for the values of a trainer."""

    def make(place: str = "root", **trainer: Any) -> SimpleNamespace:
        root = tmp_path / place
        if not (root / "examples").exists():
            make_manifest(root / "examples", data, level="video")
        return SimpleNamespace(
            train_files=[str(root / "examples/Split-train/*")],
            eval_files=[],
            transform_output=None,
            base_model="",
            hyperparameters=None,
            serving_model_dir=str(root / "model/Format-Serving"),
            model_run_dir=str(root / "model_run"),
            custom_config={
                "config": to_dict(trainer_config(**{**LONG, **trainer})),
                "features": to_dict(FeatureConfig(num_classes=CLASSES)),
                "level": "video",
                "checkpoint_root": str(root / "checkpoints"),
            },
        )

    return make


def interrupt_when_saved(directory: str) -> None:
    def watch() -> None:
        while not any(Path(directory).glob("ckpt-*.index")):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def test_an_interrupted_training_continues_with_other_bookkeeping_and_starts_anew_by_name(
    arguments, caplog
):
    first = job_of(arguments())
    interrupt_when_saved(first.checkpoint_dir)
    with pytest.raises(Terminated):
        run_fn(arguments())
    heard: list[str] = []
    with notices_heard_by(heard.append):
        run_fn(arguments(seed=5, max_steps=20))
    (text,) = heard
    assert "trainer.seed changed from 0 to 5" in text
    assert "--set trainer.seed=0" in text
    assert first.checkpoint_dir in text

    heard.clear()
    caplog.clear()  # of the trainings before, if another test has let them say it
    again = arguments(log={"every_steps": 7}, evaluation={"throttle_s": 1.0})
    again.custom_config["config"]["checkpoint"] = {"every_steps": 25, "keep": 5, "every_s": 7}
    with notices_heard_by(heard.append), caplog.at_level("INFO"):
        run_fn(again)
    assert heard == []
    assert "step 0 of 400" not in caplog.text
    assert " of 400" in caplog.text
    whole = arguments("whole")
    run_fn(whole)
    assert_bitwise_equal(first.checkpoint_dir, job_of(whole).checkpoint_dir)
