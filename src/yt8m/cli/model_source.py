"""The model that --model names: what `find_model` finds, or a training's newest checkpoint."""

from __future__ import annotations

import tempfile

from yt8m.components.console.console import Console
from yt8m.components.registry.find_model import find_model
from yt8m.components.trainer.state.checkpoints import find_training


def model_of(path: str, console: Console) -> str:
    """Where the SavedModel is; a checkpoint is exported to a temporary directory first."""
    training = find_training(path)
    if training is None:
        return find_model(path)
    # An export needs neither Keras nor the networks, which take half a second to load.
    from yt8m.components.trainer.evaluation.checkpoint_export import export_newest

    place = tempfile.mkdtemp(prefix="yt8m-checkpoint-")
    step = export_newest(training, place)
    console.warn(f"{path} is a training: using its newest checkpoint, of step {step}")
    return place
