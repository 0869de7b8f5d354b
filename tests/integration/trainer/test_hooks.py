"""Hooks of the user's own, and what the configuration offers beside the steps."""

import json
import logging
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest
from checkpoint_values import assert_bitwise_equal
from records import make_dataset
from training import CLASSES, rows, train

from yt8m.components.artifacts.training_curve import read_curve
from yt8m.components.trainer.loop.hook import create_hooks
from yt8m.components.trainer.state.warm_start import list_checkpoints, read_weights
from yt8m.schemas.errors import ConfigError

MODULE = '''
import json
import tf_keras
from yt8m.components.metrics import mean_metric
from yt8m.components.trainer.loop.hook import Hook

missed = mean_metric(
    "missed", "Missed", lambda rows: 1 - rows.hits[:, :1].sum(axis=1), lower_is_better=True
)
CALLS = []


class Notes(Hook):
    """Notes each call; its rate follows what it has counted."""

    name = "notes"
    every_steps = 3

    def __init__(self):
        self.count = 0

    def before_training(self, training):
        CALLS.append(("before_training", training.step, self.count))

    def before_steps(self, training, count):
        self.rate_factor = 1 / (1 + self.count)

    def after_steps(self, training, steps):
        if self.is_due(training):
            self.count += 1
            CALLS.append(("due", training.step))

    def before_validation(self, training):
        CALLS.append(("before_validation", training.step))

    def after_validation(self, training, scores, seconds):
        CALLS.append(("after_validation", training.step, round(scores.metrics["gap"], 3) >= 0))

    def before_save(self, training):
        CALLS.append(("before_save", training.step))

    def after_save(self, training, path, seconds):
        CALLS.append(("after_save", training.step, path.endswith(f"-{training.step}")))

    def after_training(self, training, path):
        CALLS.append(("after_training", training.step))

    def state(self):
        return {"count": self.count}

    def restore(self, state):
        self.count = state["count"]


class StopAtFour(Hook):
    def after_steps(self, training, steps):
        if training.step >= 4:
            training.stop()


class TriesByHead(Hook):
    name = "tries_by_head"

    def __init__(self):
        self.best, self.tries = {}, {}

    def after_validation(self, training, scores, seconds):
        for head, loss in scores.loss_by_head.items():
            is_better = loss < self.best.get(head, float("inf"))
            self.best[head] = loss if is_better else self.best[head]
            self.tries[head] = 0 if is_better else self.tries.get(head, 0) + 1
        if min(self.tries.values()) >= 2:
            training.stop()

    def state(self):
        return [self.best, self.tries]

    def restore(self, state):
        self.best, self.tries = state


class Unstorable(Hook):
    name = "unstorable"

    def state(self):
        return {1, 2}


class FactorOfText(Hook):
    def before_steps(self, training, count):
        self.rate_factor = "0.5"


class FactorOfNothing(Hook):
    rate_factor = None


class FactorThatIsNan(Hook):
    rate_factor = float("nan")


class Nameless(Hook):
    def state(self):
        return 1


def first_class_always(batches, rows):
    import tensorflow as tf

    return batches.map(lambda batch: {**batch, "labels": tf.zeros_like(batch["labels"])})


def not_a_hook():
    return 3


def second_evaluation(history):
    return len(history) >= 2


def odd_exports(step, metrics, exported, final):
    return len(exported) == 0 and metrics["gap"] >= 0


class Signs(tf_keras.optimizers.SGD):
    """Steps by the sign of the gradient."""

    def update_step(self, gradient, variable):
        import tensorflow as tf

        variable.assign_sub(tf.sign(gradient) * tf.cast(self.learning_rate, variable.dtype))
'''
STILL = {"name": "adam", "learning_rate": 1e-30}
COMMON = {"steps_per_loop": 1}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("hooks") / "data", classes=CLASSES)


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The module `hooks_of_mine`, new."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "hooks_of_mine.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path / "code"))
    sys.modules.pop("hooks_of_mine", None)
    import hooks_of_mine

    return hooks_of_mine


def weights(job):
    return read_weights(job.checkpoint_dir)


def test_a_hook_is_called_around_training_steps_validations_and_saves(own, data, tmp_path):
    train(
        tmp_path,
        data,
        hooks=["hooks_of_mine.Notes"],
        max_steps=6,
        validation={"every_steps": 4, "steps": 1},
        **COMMON,
    )
    assert own.CALLS[0] == ("before_training", 0, 0)
    assert own.CALLS[-1] == ("after_training", 6)
    assert [call for call in own.CALLS if call[0] == "due"] == [("due", 3), ("due", 6)]
    for step in (0, 4, 6):  # each validation, and the checkpoint of what it decided
        at = own.CALLS.index(("before_validation", step))
        assert own.CALLS[at : at + 4] == [
            ("before_validation", step),
            ("after_validation", step, True),
            ("before_save", step),
            ("after_save", step, True),
        ]


def test_a_hooks_state_makes_a_resumed_training_end_with_the_same_bits(own, data, tmp_path):
    settings = {"hooks": ["hooks_of_mine.Notes"], **COMMON}
    whole = train(tmp_path / "whole", data, max_steps=8, **settings)
    train(tmp_path / "parts", data, max_steps=5, **settings)
    parts = train(tmp_path / "parts", data, max_steps=8, **settings)
    assert ("before_training", 5, 1) in own.CALLS
    assert_bitwise_equal(whole.checkpoint_dir, parts.checkpoint_dir)
    rates = {row["step"]: row["learning_rate"] for row in rows(whole, "train")}
    assert rates[4] == pytest.approx(0.01 / 2)  # one multiple of three was reached
    assert rates[8] == pytest.approx(0.01 / 3)


def test_a_hook_ends_the_training(own, data, tmp_path):
    job = train(tmp_path, data, hooks=["hooks_of_mine.StopAtFour"], max_steps=50, **COMMON)
    assert [path.rpartition("-")[2] for path in list_checkpoints(job.checkpoint_dir)] == ["4"]


def test_a_hook_counts_the_tries_of_each_head(own, data, tmp_path):
    settings = {"validation": {"every_steps": 2, "steps": 1, "halve": False}, "optimizer": STILL}
    job = train(tmp_path, data, hooks=["hooks_of_mine.TriesByHead"], max_steps=50, **settings)
    # The first is the best, for nothing moves after it.
    assert [row["step"] for row in rows(job, "validation")] == [0, 2, 4]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("hooks_of_mine.not_a_hook", "gives a int; it must name a subclass of"),
        ("hooks_of_mine.nothing", "cannot be imported"),
        ("hooks_of_mine.Nameless", "give the class a `name`"),
    ],
)
def test_what_is_no_hook_is_refused(own, path, message):
    with pytest.raises(ConfigError, match=f"trainer.hooks: {path}.*{message}"):
        create_hooks([path])


def test_a_state_that_no_checkpoint_can_hold_is_told_before_the_first_step(own, data, tmp_path):
    with pytest.raises(ConfigError, match="the hook 'unstorable' must be JSON"):
        train(tmp_path, data, hooks=["hooks_of_mine.Unstorable"], max_steps=50, **COMMON)
    assert not list((tmp_path / "checkpoints").glob("ckpt*"))


@pytest.mark.parametrize("hook", ["FactorOfText", "FactorOfNothing", "FactorThatIsNan"])
def test_a_rate_factor_that_is_no_number_is_named_with_its_hook(own, hook, data, tmp_path):
    """Not as a bug in yt8m, and not as a training that has diverged."""
    with pytest.raises(ConfigError, match=rf"{hook}\.rate_factor is .*, but must be a finite num"):
        train(tmp_path, data, hooks=[f"hooks_of_mine.{hook}"], max_steps=3, **COMMON)


def test_two_hooks_with_one_state_are_refused(own):
    with pytest.raises(ConfigError, match="two hooks have the name 'notes'"):
        create_hooks(["hooks_of_mine.Notes"] * 2)


def test_max_seconds_ends_a_training_without_end_and_its_continuation_at_once(
    data, tmp_path, caplog
):
    settings = {"max_steps": None, "num_epochs": None, "max_seconds": 2.0}
    caplog.set_level(logging.INFO)
    job = train(tmp_path, data, **settings)
    assert "trainer.max_seconds ends training at step" in caplog.text
    newest = list_checkpoints(job.checkpoint_dir)[-1]
    train(tmp_path, data, **settings)
    assert list_checkpoints(job.checkpoint_dir)[-1] == newest


def test_an_own_policy_stops_and_an_own_exporter_exports_once(own, data, tmp_path):
    job = train(
        tmp_path,
        data,
        max_steps=400,
        checkpoint={"every_steps": 2},
        early_stopping={"name": "own", "policy": "hooks_of_mine.second_evaluation"},
        evaluation={
            "enabled": True,
            "start_delay_s": 0,
            "throttle_s": 0,
            "steps": 1,
            "exporters": [{"name": "own", "exporter": "hooks_of_mine.odd_exports"}],
        },
    )
    evaluated = read_curve(f"{job.log_dir}/evaluation.jsonl")
    assert 2 <= len(evaluated) < 20
    assert [row["exported"] for row in evaluated][:2] == [["own"], []]


def test_an_own_optimizer_makes_the_updates(own, data, tmp_path):
    job = train(
        tmp_path,
        data,
        max_steps=1,
        optimizer={"name": "own", "optimizer": "hooks_of_mine.Signs", "learning_rate": 0.5},
        schedule={"name": "constant"},
    )
    trained = weights(job)
    start = weights(train(tmp_path / "start", data, max_steps=1, optimizer=STILL))
    for name in trained:
        if "kernel" in name:
            moved = np.abs(trained[name] - start[name])
            assert np.allclose(moved[moved > 1e-6], 0.5, atol=1e-4)
            assert (moved > 1e-6).any()


def test_frozen_weights_stay_slow_ones_move_less_and_limited_ones_stay_short(data, tmp_path):
    model = {"name": "mlp", "width": 8, "dropout": 0.0}
    settings = {"model": model, "max_steps": 1, "schedule": {"name": "constant"}}
    settings["optimizer"] = {"name": "sgd", "learning_rate": 1.0}
    start = weights(train(tmp_path / "0", data, **{**settings, "optimizer": STILL}))
    free = weights(train(tmp_path / "1", data, **settings))
    kernels = [name for name in free if "kernel" in name]
    names = [name for name in kernels if not np.array_equal(free[name], start[name])]
    assert len(names) >= 2
    frozen, slow = names[0], names[1]
    rules = [{"weights": frozen, "rate": 0.0}, {"weights": slow, "rate": 0.25}]
    ruled = weights(train(tmp_path / "2", data, **settings, weight_rules=rules))
    assert np.array_equal(ruled[frozen], start[frozen])
    assert np.allclose(ruled[slow] - start[slow], (free[slow] - start[slow]) / 4, atol=1e-6)
    limited = [{"weights": ".*kernel", "max_norm": 0.1}]
    short = weights(train(tmp_path / "3", data, **settings, weight_rules=limited))
    for name in names:
        norms = np.linalg.norm(short[name], axis=0)
        assert norms.max() <= 0.1 + 1e-6
        scale = np.minimum(1, 0.1 / np.maximum(np.linalg.norm(free[name], axis=0), 1e-9))
        assert np.allclose(short[name], free[name] * scale, atol=1e-6)


def test_a_rule_of_no_weight_is_refused(data, tmp_path):
    with pytest.raises(ConfigError, match=r"'nothing.*' is the first matching rule of no weight"):
        train(tmp_path, data, weight_rules=[{"weights": "nothing.*", "rate": 0.0}])


def test_micro_batches_are_clipped_one_by_one(data, tmp_path):
    limit = 1e-5  # far below the gradients, of which each part then gives half of it, or minus that
    settings = {
        "max_steps": 1,
        "accumulate": 2,
        "clip": "value",
        "clip_gradient_norm": limit,
        "regularisation_penalty": 0.0,
        "schedule": {"name": "constant"},
        "optimizer": {"name": "sgd", "learning_rate": 1.0},
    }
    start, once, each = (
        weights(train(tmp_path / str(number), data, **{**settings, **more}))
        for number, more in enumerate([{"optimizer": STILL}, {}, {"clip_micro_batches": True}])
    )
    (name,) = [name for name, value in once.items() if value.ndim == 2]
    whole, halves = (np.abs(w[name] - start[name]) / limit for w in (once, each))
    assert (whole > 0.99).mean() > 0.9
    cancelled = (halves < 0.01).mean()
    assert cancelled > 0.05
    assert cancelled + (halves > 0.99).mean() > 0.9


def test_all_checkpoints_stay_where_keep_is_null(data, tmp_path):
    job = train(tmp_path, data, max_steps=12, checkpoint={"every_steps": 2, "keep": None})
    steps = [int(path.rpartition("-")[2]) for path in list_checkpoints(job.checkpoint_dir)]
    assert steps == [2, 4, 6, 8, 10, 12]


def test_a_warm_start_takes_what_patterns_name_from_other_names(data, tmp_path, caplog):
    caplog.set_level(logging.INFO)
    model = {"name": "mlp", "width": 8, "dropout": 0.0}
    first = train(tmp_path / "first", data, model=model, max_steps=2)
    source = weights(first)
    kernels = [name for name in source if "kernel" in name and source[name].ndim == 2]
    names = {"warm_start": first.checkpoint_dir, "model": model, "max_steps": 1, "seed": 7}
    names["optimizer"] = STILL
    one = [{"weights": kernels[0].replace("/", "."), "source": kernels[0]}]
    taken = weights(train(tmp_path / "second", data, **names, warm_start_weights=one))
    assert np.allclose(taken[kernels[0]], source[kernels[0]], atol=1e-7)
    (said,) = (r.message for r in caplog.records if r.message.startswith("warm start from"))
    assert kernels[0] in said
    assert " as " not in said  # of one that has its own name
    assert not np.allclose(taken[kernels[1]], source[kernels[1]])
    renamed = [{"weights": "(.*)/kernel", "source": "\\1/weights"}]
    with pytest.raises(Exception, match="it has no weight of this model"):
        train(tmp_path / "third", data, **names, warm_start_weights=renamed)


def test_histograms_of_everything_and_the_norm_of_each_gradient(data, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    job = train(
        tmp_path,
        data,
        max_steps=4,
        model={"name": "mlp", "width": 8},
        log={
            "every_steps": 2,
            "tensorboard": True,
            "histograms_every_steps": 2,
            "histograms": ["weights", "updates", "gradients", "activations", "inputs"],
        },
    )
    events = EventAccumulator(f"{job.log_dir}/train", size_guidance={"tensors": 0}).Reload()
    tags = events.Tags()["tensors"]
    for prefix in ("update/", "gradient/", "gradient_norm/", "activation/", "input/"):
        found = [tag for tag in tags if tag.startswith(prefix)]
        assert found, prefix
        assert [event.step for event in events.Tensors(found[0])] == [2, 4]


def test_the_number_of_weights_and_tensorflow_s_version_are_logged(data, tmp_path, caplog):
    caplog.set_level(logging.INFO)
    job = train(tmp_path, data, max_steps=1)
    total = sum(v.size for name, v in weights(job).items() if name.startswith("network/"))
    assert f"{total:,} weights to train" in caplog.text
    assert f"tensorflow {version('tensorflow')}, tf_keras " in caplog.text


def test_an_own_input_changes_what_is_learned(own, data, tmp_path):
    settings = {
        "max_steps": 20,
        "optimizer": {"name": "adam", "learning_rate": 0.05},
        "validation": {"every_steps": 20, "keep_best": False},
    }
    job = train(tmp_path, data, input="hooks_of_mine.first_class_always", **settings)
    assert rows(job, "train")[-1]["hit_at_1"] == 1  # on the rows that the step has seen
    plain = train(tmp_path / "plain", data, **settings)
    wrong, right = (rows(one, "validation")[-1]["hit_at_1"] for one in (job, plain))
    assert wrong < right - 0.2  # on labels as they are


def test_other_splits_are_evaluated_beside_the_first(data, tmp_path):
    job = train(
        tmp_path,
        data,
        evaluation={
            "enabled": True,
            "start_delay_s": 0,
            "throttle_s": 0,
            "other_splits": ["train"],
        },
    )
    (row,) = read_curve(f"{job.log_dir}/evaluation.jsonl")
    assert row["train/videos"] != row["videos"]
    assert 0 < row["train/gap"] <= 1
    with pytest.raises(ConfigError, match=r"other_splits: .* has no records of 'nowhere'"):
        train(tmp_path / "other", data, evaluation={"other_splits": ["nowhere"]})


def test_the_loss_of_a_head_steers(data, tmp_path):
    heads = [{"name": "entities"}]
    job = train(
        tmp_path,
        data,
        heads=heads,
        validation={"every_steps": 2, "steps": 1, "metric": "loss_entities"},
    )
    assert len(rows(job, "validation")) == 4
    with pytest.raises(ConfigError, match=r"validation.metric = 'loss_verticals': must be"):
        train(tmp_path, data, heads=heads, validation={"metric": "loss_verticals"})


def test_an_own_metric_decides_what_is_best_and_when_to_stop(own, data, tmp_path):
    job = train(
        tmp_path,
        data,
        metrics=["hooks_of_mine.missed"],
        max_steps=6,
        validation={"every_steps": 2, "metric": "missed"},
        checkpoint={"every_steps": 2},
        early_stopping={"name": "reached", "metric": "missed", "value": -1.0},
        evaluation={
            "enabled": True,
            "start_delay_s": 0,
            "throttle_s": 0,
            "exporters": [{"name": "best", "metric": "missed"}],
        },
    )
    validated = rows(job, "validation")
    evaluated = read_curve(f"{job.log_dir}/evaluation.jsonl")
    for row in (*validated, *evaluated):
        assert row["missed"] == pytest.approx(1 - row["hit_at_1"])
    values = [row["missed"] for row in evaluated]
    assert len(set(values)) > 1  # so that the direction matters
    best = json.loads(Path(f"{job.exporters_dir}/best/best.json").read_text())
    assert best["value"] == min(values)
    assert best["step"] == evaluated[values.index(min(values))]["step"]


def test_a_metric_that_nothing_adds_is_refused_before_training(own, data, tmp_path):
    with pytest.raises(ConfigError, match=r"validation\.metric = 'missed': must be"):
        train(tmp_path, data, validation={"metric": "missed"})
    with pytest.raises(ConfigError, match=r"trainer.validation.metric = 'mised': must be one of"):
        train(tmp_path, data, metrics=["hooks_of_mine.missed"], validation={"metric": "mised"})
    assert not (tmp_path / "checkpoints").exists()
