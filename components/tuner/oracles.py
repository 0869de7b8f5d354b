"""KerasTuner's oracles, which choose the values, with state that survives a kill at any moment.

They write each file in place, where a kill leaves half of one; ours are complete or absent.
"""

from __future__ import annotations

import json
import math
from typing import Any

import keras_tuner
import numpy as np
from keras_tuner.engine.trial import TrialStatus

from yt8m.components import storage
from yt8m.components.metrics.catalogue import info_of
from yt8m.components.trainer.config import TrainerConfig
from yt8m.components.tuner.config import BayesianConfig, HyperbandConfig, TunerConfig
from yt8m.components.tuner.gaussian_process import GaussianProcess
from yt8m.components.tuner.space import create_hyperparameters
from yt8m.schemas.json_file import DamagedFileError

_STATE = "oracle.json"  # KerasTuner's name
_ANYWHERE, _NEAR = 1000, 250  # candidates in the whole space, and around the best trial
_NEAR_DEVIATION = 0.1
# KerasTuner takes its files for whole, and for its own.
_UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, RuntimeError)


class _Durable(keras_tuner.Oracle):
    """State that the oracles keep on disk and read again."""

    def save(self: Any) -> None:
        storage.write_text(self._get_oracle_fname(), json.dumps(self.get_state()))

    def _save_trial(self: Any, trial: Any) -> None:
        path = storage.join(self._get_trial_dir(trial.trial_id), "trial.json")
        storage.write_text(path, json.dumps(trial.get_state()))

    def continue_search(self: Any) -> None:
        """Go on where an earlier process was killed: what it had under way is tried again."""
        if not storage.exists(self._get_oracle_fname()):
            return
        try:
            self.reload()
            for trial in self.trials.values():
                _check_complete(trial, self.hyperparameters.space)
        except _UNREADABLE as error:
            raise DamagedFileError(_unreadable(self._project_dir, error)) from error
        # A trial is written before the state that knows of it.
        for trial_id, trial in list(self.trials.items()):
            if trial.status == TrialStatus.RUNNING and trial_id not in self._retry_queue:
                del self.trials[trial_id]


class RandomSearchOracle(_Durable, keras_tuner.oracles.RandomSearchOracle):
    """Values drawn at random."""


class HyperbandOracle(_Durable, keras_tuner.oracles.HyperbandOracle):
    """Successive halving, in brackets."""


class BayesianOracle(_Durable, keras_tuner.Oracle):
    """Values that promise most by a Gaussian process over the trials so far.

    What a trial is given follows from the trials before it, also in a search that goes on after a
    kill: KerasTuner's own draws anew there. It needs scikit-learn, too.
    """

    def __init__(self: Any, *, num_initial_trials: int, **common: Any) -> None:
        super().__init__(**common)
        self._num_initial_trials = num_initial_trials

    def populate_space(self: Any, trial_id: str) -> dict[str, Any]:
        """The values of the next trial, in KerasTuner's form."""
        trials = [self.trials[number] for number in sorted(self.trials)]
        done = [t for t in trials if t.status == TrialStatus.COMPLETED and math.isfinite(t.score)]
        initial = len(done) < self._num_initial_trials
        values = self._random_values() if initial else self._promising(done, int(trial_id))
        status = TrialStatus.STOPPED if values is None else TrialStatus.RUNNING
        return {"status": status, "values": values}

    def _promising(self: Any, done: list[Any], number: int) -> dict[str, Any] | None:
        """None where each candidate has been tried."""
        sign = -1.0 if self.objective.direction == "min" else 1.0
        scores = np.array([sign * trial.score for trial in done])
        points = np.stack([self._point(trial.hyperparameters.values) for trial in done])
        process = GaussianProcess(points, scores)
        if self.ongoing_trials:  # as if they were to end as is expected of them
            ongoing = self.ongoing_trials.values()
            under_way = np.stack([self._point(t.hyperparameters.values) for t in ongoing])
            expected, _ = process.predict(under_way)
            points = np.concatenate([points, under_way])
            process = GaussianProcess(points, np.concatenate([scores, expected]))
        best = done[int(np.argmax(scores))].hyperparameters.values
        candidates = [
            values
            for values in self._candidates(np.random.default_rng([self.seed, number]), best)
            if not self._duplicate(values)
        ]
        if not candidates:
            return None
        gains = process.expected_improvement(np.stack([self._point(v) for v in candidates]))
        return candidates[int(np.argmax(gains))]

    def _candidates(
        self: Any, chance: np.random.Generator, best: dict[str, Any]
    ) -> list[dict[str, Any]]:
        ranges = self.hyperparameters.space
        centre = np.array([one.value_to_prob(best[one.name]) for one in ranges])
        anywhere = chance.uniform(size=(_ANYWHERE, len(ranges)))
        near = chance.normal(centre, _NEAR_DEVIATION, size=(_NEAR, len(ranges)))
        return [
            {one.name: one.prob_to_value(share) for one, share in zip(ranges, row, strict=True)}
            for row in np.clip(np.concatenate([anywhere, near]), 0.0, 1.0 - 1e-9)
        ]

    def _point(self: Any, values: dict[str, Any]) -> np.ndarray:
        """Where the values lie in the unit cube; names have a dimension each, equally far apart."""
        places: list[float] = []
        for one in self.hyperparameters.space:
            value = values[one.name]
            if getattr(one, "ordered", True):
                places.append(one.value_to_prob(value))
            else:
                places += [math.sqrt(0.5) * (name == value) for name in one.values]
        return np.array(places)


def _check_complete(trial: Any, space: list[Any]) -> None:
    """LookupError where the trial lacks what later trials are chosen by."""
    lacking = [one.name for one in space if one.name not in trial.hyperparameters.values]
    if trial.status == TrialStatus.COMPLETED and trial.score is None:
        lacking.append("score")
    if lacking:
        raise LookupError(f"trial {trial.trial_id} has no {', '.join(lacking)}")


def _unreadable(directory: str, error: Exception) -> str:
    cause = error.__cause__ or error  # KerasTuner's RuntimeError says only where it was
    problem = f"{type(cause).__name__}: {cause}".replace("\n", "; ")
    return (
        f"{directory}: KerasTuner {keras_tuner.__version__} cannot read the search's state "
        f"({problem}); it is damaged, or another version of KerasTuner wrote it: remove this "
        "directory, and the search begins anew"
    )


def create_oracle(config: TunerConfig, trainer: TrainerConfig) -> Any:
    """The oracle of `config.search` over `config.space`."""
    better = "min" if info_of(config.objective).lower_is_better else "max"
    common = {
        "objective": keras_tuner.Objective(config.objective, better),
        "hyperparameters": create_hyperparameters(config, trainer),
        "seed": config.seed,
        # A trial whose process was killed goes on from its checkpoint.
        "max_retries_per_trial": 1,
    }
    if isinstance(config.search, HyperbandConfig):
        return HyperbandOracle(
            max_epochs=config.search.max_epochs,
            factor=config.search.factor,
            hyperband_iterations=config.search.iterations,
            **common,
        )
    if isinstance(config.search, BayesianConfig):
        return BayesianOracle(
            max_trials=config.search.max_trials,
            num_initial_trials=config.search.num_initial_trials,
            **common,
        )
    return RandomSearchOracle(max_trials=config.search.max_trials, **common)
