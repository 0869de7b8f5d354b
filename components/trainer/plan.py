"""Length of a training, in examples.

So another batch or number of workers than at its last start changes neither its end nor the rates.
"""

from __future__ import annotations

from dataclasses import dataclass

from yt8m.components.trainer.config import WITHOUT_END, TrainerConfig


@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """Rest of a training from a step on, with updates of so many rows."""

    rows: int  # of one update, over all replicas
    last_step: int
    total_examples: int  # rows that will have been learned from at the last step


def plan_training(
    config: TrainerConfig, *, rows_per_epoch: int, rows: int, step: int = 0, examples: int = 0
) -> TrainingPlan:
    """Plan what is left after `examples` in `step` updates: `max_steps`, `num_epochs`, or less.

    The end is within half an update of `num_epochs`, whatever updates came before. Without any of
    these it is a step that is never reached.
    """
    limits = [] if config.max_steps is None else [config.max_steps - step]
    if config.num_epochs is not None:
        wanted = round(config.num_epochs * rows_per_epoch) - examples
        limits.append((2 * wanted + rows) // (2 * rows))
    left = max(min(limits, default=WITHOUT_END), 0 if step else 1)
    return TrainingPlan(rows=rows, last_step=step + left, total_examples=examples + left * rows)
