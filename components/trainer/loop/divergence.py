"""Detection of weights that are not finite, and the message about them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from yt8m.schemas.errors import Yt8mError


class Diverged(Yt8mError):  # noqa: N818  (names what was found)
    """Weights that predict NaN, and nothing that would return to better ones."""


def diverged(step: int, own_network: str = "") -> Diverged:
    """Create the error of a diverged training; `own_network` is what trainer.network names."""
    check = (
        f"Check first that all scores of {own_network} are probabilities, from 0 to 1: the losses "
        "take their logarithms. "
        if own_network
        else ""
    )
    return Diverged(
        f"training has diverged: at step {step} the model's predictions are not finite. {check}"
        "Lower trainer.optimizer.learning_rate and run the command again, which continues from "
        "the newest checkpoint, saved before; trainer.start_new_model: true begins with new "
        "weights, and trainer.validation (every_steps, go_back: true) returns to the best weights "
        "by itself"
    )


def are_finite(weights: Iterable[Any]) -> bool:
    """Whether every weight is a number."""
    return all(np.isfinite(np.asarray(weight)).all() for weight in weights)
