"""The newest checkpoint of a training as an export, also while the training is under way."""

from __future__ import annotations

import tensorflow as tf

from yt8m.components import storage
from yt8m.components.artifacts.read import read_file
from yt8m.components.artifacts.saved_model import unfindable
from yt8m.components.export.save import ExportSpec, export_model
from yt8m.components.models.network import Network
from yt8m.components.trainer.averaging import restore_averages
from yt8m.components.trainer.job import TrainingJob
from yt8m.components.trainer.network import heads_of, network_of, vocabulary_of
from yt8m.components.trainer.state.checkpoints import (
    MODEL_FILE,
    newest_checkpoint,
    step_of,
)
from yt8m.schemas.config_tree import from_dict, to_dict
from yt8m.schemas.errors import ConfigError, UserError
from yt8m.schemas.json_file import fields_of

_OF_TRAINER = ("model", "network", "heads", "sharing")
_AVERAGING = 0.5  # any momentum says that there are averages


def export_newest(checkpoint_dir: str, directory: str, *, vocabulary: str = "") -> int:
    """Export the newest checkpoint to `directory`; its step."""
    if problem := unfindable(checkpoint_dir):
        raise UserError(f"{checkpoint_dir}: {problem}; move the training to a directory without it")
    path = newest_checkpoint(checkpoint_dir)
    if path is None:
        raise UserError(f"{checkpoint_dir}: no checkpoint was saved yet")
    job = _job(checkpoint_dir, vocabulary)
    network = network_of(job, heads_of(job), compute_dtype="float32")
    try:
        restore_network(network, path, averaged=job.trainer.ema_momentum is not None)
    except (tf.errors.OpError, IndexError) as error:
        reason = str(error).partition("\n")[0]
        raise UserError(
            f"{path} cannot be read ({reason}). A running training may have removed it meanwhile: "
            "repeat the command. If it is damaged, continue the training, which goes on from the "
            "checkpoint before it"
        ) from error
    spec = ExportSpec(
        level=job.level,
        features=job.features,
        vocabulary=vocabulary_of(job),
        config=to_dict(job.trainer),
    )
    export_model(network, directory, spec)
    return step_of(path)


def restore_network(network: Network, path: str, *, averaged: bool) -> None:
    """Give `network` the weights of the checkpoint at `path`, or their averages."""
    checkpoint = tf.train.Checkpoint(network=network)
    try:
        checkpoint.restore(path).expect_partial().assert_existing_objects_matched()
        if averaged:
            restore_averages(path, network)
    except (AssertionError, ValueError) as error:
        raise ConfigError(
            f"{path} holds another model than this process's configuration describes; all "
            "processes of a training need the same"
        ) from error


def _job(checkpoint_dir: str, vocabulary: str) -> TrainingJob:
    """As much of the job as the checkpoints' description of their model says."""
    described = storage.join(checkpoint_dir, MODEL_FILE)
    said = read_file(
        described,
        fields_of,
        advice="remove it, and continue the training, which writes it again",
    )
    trainer = {name: said[name] for name in _OF_TRAINER}
    if "averaging" in said["optimizer"]:
        trainer["ema_momentum"] = _AVERAGING
    return from_dict(
        TrainingJob,
        {
            "manifest": "",
            "checkpoint_dir": checkpoint_dir,
            "log_dir": "",
            "export_dir": "",
            "vocabulary": vocabulary,
            "transform": said["transform"],
            "level": said["level"],
            "features": said["features"],
            "trainer": trainer,
        },
    )
