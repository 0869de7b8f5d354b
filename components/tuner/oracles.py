"""KerasTuner's oracles, which choose the values, with state that survives a kill at any moment.

They write each file in place, where a kill leaves half of one; ours are complete or absent.
"""

from __future__ import annotations

import json
from typing import Any

import keras_tuner
from keras_tuner.engine.trial import TrialStatus

from yt8m.components import storage
from yt8m.components.metrics.catalogue import info_of
from yt8m.components.trainer.config import TrainerConfig
from yt8m.components.tuner.config import HyperbandConfig, TunerConfig
from yt8m.components.tuner.space import create_hyperparameters

_STATE = "oracle.json"  # KerasTuner's name


class _Durable(keras_tuner.Oracle):
    """State that both oracles keep on disk and read again."""

    def save(self: Any) -> None:
        storage.write_text(self._get_oracle_fname(), json.dumps(self.get_state()))

    def _save_trial(self: Any, trial: Any) -> None:
        path = storage.join(self._get_trial_dir(trial.trial_id), "trial.json")
        storage.write_text(path, json.dumps(trial.get_state()))

    def continue_search(self: Any) -> None:
        """Go on where an earlier process was killed: what it had under way is tried again."""
        if not storage.exists(self._get_oracle_fname()):
            return
        self.reload()
        # A trial is written before the state that knows of it.
        for trial_id, trial in list(self.trials.items()):
            if trial.status == TrialStatus.RUNNING and trial_id not in self._retry_queue:
                del self.trials[trial_id]


class RandomSearchOracle(_Durable, keras_tuner.oracles.RandomSearchOracle):
    """Values drawn at random."""


class HyperbandOracle(_Durable, keras_tuner.oracles.HyperbandOracle):
    """Successive halving, in brackets."""


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
    return RandomSearchOracle(max_trials=config.search.max_trials, **common)
