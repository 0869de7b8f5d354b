"""The whole state of a training in one checkpoint: weights, optimiser, step, position, hooks.

The data's order is a function of (seed, position), so a number of rows is the position in the data.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from yt8m.components import storage
from yt8m.components.artifacts.read import read_file, read_if_present
from yt8m.components.inputs.config import ReadingOrder
from yt8m.components.models.config import HeadConfig, LogisticConfig, ModelConfig
from yt8m.components.trainer.state.done_marker import DONE_FILE
from yt8m.components.trainer.state.training_notes import (
    find_changes,
    read_settings,
    write_settings,
)
from yt8m.components.trainer.state.warm_start import list_checkpoints
from yt8m.schemas.config_tree import ConfigNode, from_dict, to_dict
from yt8m.schemas.errors import ConfigError, UserError
from yt8m.schemas.json_file import fields_of, to_text

_STATE_FILE = "checkpoint"  # TensorFlow's: names the newest checkpoint and those before it
MODEL_FILE = "model.json"
_CHECKPOINTS = "checkpoints"  # below what `yt8m train` is given as --out
_BEST = "best"  # of the validations within training
_BEST_EVALUATED = "best_evaluated"
_PREFIX = "ckpt"
# Not the checkpoint's fault: another process has gone, or the storage cannot be reached.
_ELSEWHERE = (
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
    tf.errors.PermissionDeniedError,
    tf.errors.UnauthenticatedError,
    tf.errors.UnavailableError,
)
_log = logging.getLogger(__name__)


def find_training(path: str) -> str | None:
    """The checkpoint directory that `path` is, or holds; None where there is none."""
    if not storage.is_dir(path):
        return None
    for directory in (path, storage.join(path, _CHECKPOINTS)):
        if storage.exists(storage.join(directory, MODEL_FILE)):
            return directory
    return None


@dataclass(frozen=True, kw_only=True)
class TrainingProgress:
    """Progress of a training."""

    step: int = 0
    examples: int = 0  # rows seen, over all replicas: the position in the data
    order: ReadingOrder | None = None  # in which they came, since the last start
    hooks: Mapping[str, Any] = field(default_factory=dict)  # states of hooks, by their names


class _HostState(tf.train.experimental.PythonState):
    """`TrainingProgress` as a part of the checkpoint."""

    def __init__(self) -> None:
        self.progress = TrainingProgress()

    def serialize(self) -> str:
        p = self.progress
        state = {"step": p.step, "examples": p.examples, "order": to_dict(p.order)}
        return json.dumps({**state, "hooks": dict(p.hooks)})

    def deserialize(self, text: str) -> None:
        data = json.loads(text)
        self.progress = TrainingProgress(
            step=data["step"],
            examples=data["examples"],
            hooks=data["hooks"],
            order=data["order"] and from_dict(ReadingOrder, data["order"]),
        )


class Checkpoints:
    """Saves and restores one training. Every process calls each method; the chief alone writes.

    It needs nobody for that: by `variable_scope` no variable is summed when it is read.
    """

    def __init__(
        self,
        directory: str,
        *,
        network: Any,
        optimizer: Any,  # tf_keras publishes no types
        keep: int | None,
        keep_every_hours: float | None = None,
        is_writer: bool,
    ) -> None:
        self.directory = directory
        self._host = _HostState()
        self._is_writer = is_writer
        self._all = tf.train.Checkpoint(network=network, optimizer=optimizer, host=self._host)
        self._weights = tf.train.Checkpoint(network=network, optimizer=optimizer)
        self._newest = tf.train.CheckpointManager(
            self._all,
            directory,
            max_to_keep=keep,
            keep_checkpoint_every_n_hours=keep_every_hours,
            checkpoint_name=_PREFIX,
        )
        # Two, so that the one which an older checkpoint's plateau names is still there.
        self._best = tf.train.CheckpointManager(
            self._weights, f"{directory}/{_BEST}", max_to_keep=2, checkpoint_name=_PREFIX
        )

    def restore(self) -> TrainingProgress:
        """Continue from the newest checkpoint, if there is one; from one before it if it is torn.

        A kill while a checkpoint is written again, under the name it had, may leave it torn.
        """
        paths = list(reversed(self._newest.checkpoints))
        for path in paths:
            try:
                self._all.restore(path).assert_existing_objects_matched()
            except (tf.errors.OpError, IndexError) as error:
                if isinstance(error, _ELSEWHERE):
                    raise
                _log.warning("%s cannot be read (%s)", path, _first_line(error))
                continue
            except (ValueError, AssertionError) as error:  # of other shapes, or with none of a name
                raise UserError(
                    f"{path} holds other weights than the network has now "
                    f"({_first_line(error)}). Has its code changed, or that "
                    "of the optimizer? Train in another directory, where trainer.warm_start can "
                    "take over what matches, or wipe this one with trainer.start_new_model: true"
                ) from error
            return self._host.progress
        if paths:
            raise UserError(
                f"{self.directory}: none of its checkpoints can be read ({', '.join(paths)}). "
                "Delete them with trainer.start_new_model: true, or put an undamaged copy there"
            )
        return TrainingProgress()

    def save(self, progress: TrainingProgress) -> str:
        """Write all state; returns the path."""
        self._host.progress = progress
        return self._save(self._newest, progress.step)

    @property
    def newest(self) -> str:
        """The path of the newest checkpoint, empty where there is none."""
        return newest_checkpoint(self.directory) or ""

    def save_best(self, step: int) -> None:
        """Keep the weights and the optimiser of `step` to come back to."""
        self._save(self._best, step)

    def restore_best(self, step: int) -> None:
        """Weights and optimiser as `save_best(step)` found them; progress stays as it is."""
        path = f"{self.directory}/{_BEST}/{_PREFIX}-{step}"
        self._weights.restore(path).assert_existing_objects_matched()

    def _save(self, manager: Any, step: int) -> str:
        path = f"{manager.directory}/{_PREFIX}-{step}"
        return str(manager.save(checkpoint_number=step)) if self._is_writer else path


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]


def check_model(directory: str, model: Mapping[str, Any]) -> None:
    """Refuse a directory of another training's checkpoints."""
    there = read_if_present(
        directory,
        MODEL_FILE,
        fields_of,
        advice="it says which model the checkpoints beside it are of. If they are of the one that "
        "is configured now, remove this file; else wipe them with trainer.start_new_model: true",
    )
    if there is not None:
        _check_same_model(there, fields_of(to_text(model)), directory)


def prepare(directory: str, *, start_new: bool, exports: str = "") -> None:
    """Let the chief make the checkpoints ready, before anybody reads them.

    With `start_new` they are wiped, and with them `exports`, what exporters made of them.
    """
    for old in (directory, exports) if start_new else ():
        if old:
            storage.remove_tree(old)
    storage.make_dirs(directory)
    _restore_state_file(directory)


def note_training(directory: str, model: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """Let the chief note this training beside its checkpoints, once nothing can refuse it.

    `settings` may change from one start to the next, which is logged.
    """
    _log_changed_settings(directory, fields_of(to_text(settings)))
    storage.write_text(f"{directory}/{MODEL_FILE}", to_text(model))
    write_settings(directory, settings)
    if storage.exists(f"{directory}/{DONE_FILE}"):
        storage.remove(f"{directory}/{DONE_FILE}")


def _restore_state_file(directory: str) -> None:
    """Without its `checkpoint` file TensorFlow sees no checkpoint, and would begin at step 0."""
    there = list_checkpoints(directory)
    if not there or _has_state_file(directory):
        return
    names = [path.rpartition("/")[2] for path in there]
    lines = [f'model_checkpoint_path: "{names[-1]}"']
    for name in names:  # TensorFlow forgets those without a time
        lines += [f'all_model_checkpoint_paths: "{name}"']
        lines += [f"all_model_checkpoint_timestamps: {time.time()}"]
    storage.write_text(f"{directory}/{_STATE_FILE}", "\n".join([*lines, ""]))
    _log.warning(
        "%s: the file `%s`, which names the checkpoints, is missing or damaged; it is written "
        "again from the checkpoints that are there: %s",
        directory,
        _STATE_FILE,
        ", ".join(names),
    )


def _has_state_file(directory: str) -> bool:
    """Whether it can be read; that a checkpoint it names is torn or gone, `restore` finds out."""
    try:
        return tf.train.get_checkpoint_state(directory) is not None
    except ValueError:  # it is empty
        return False


def _log_changed_settings(directory: str, wanted: Mapping[str, Any]) -> None:
    there = read_settings(directory)
    if there is None or not list_checkpoints(directory):
        return
    if rows := _differences(there, wanted):
        _log.warning(
            "%s: training continues with other settings than at its last start. Rates follow the "
            "new ones from here on; another seed or batch size also changes which records an epoch "
            "has seen:\n%s",
            directory,
            "\n".join(rows),
        )


def _read(path: str) -> dict[str, Any]:
    return read_file(path, fields_of)


def _differences(there: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """One line for each value that is not the same in both trees."""
    changes = find_changes(there, wanted)
    width = max((len(change.key) for change in changes), default=0)
    return [f"  {c.key:<{width}}  there: {c.there}  now: {c.now}" for c in changes]


def _check_same_model(there: Mapping[str, Any], wanted: Mapping[str, Any], directory: str) -> None:
    there = _completed(there)
    if there == wanted:
        return
    rows = _differences(there, wanted)
    raise ConfigError(
        f"{directory} holds checkpoints of another model, or of other data:\n"
        + "\n".join(rows)
        + f"\n  there: {json.dumps(there)}\n  now:   {json.dumps(wanted)}\n"
        "Train in another directory, where trainer.warm_start can take over what matches, or wipe "
        "this one with trainer.start_new_model: true."
    )


@dataclass(frozen=True, kw_only=True)
class _Described(ConfigNode):
    """What a description has of a TrainerConfig, without the rules for what stands beside it."""

    model: ModelConfig = field(default_factory=LogisticConfig)
    heads: tuple[HeadConfig, ...] = ()


def _completed(there: Mapping[str, Any]) -> dict[str, Any]:
    """The description of a model, with the keys that an older yt8m did not know at their defaults.

    Its models are what these keys make of them where nobody sets them.
    """
    parts = {key: there[key] for key in ("model", "heads") if key in there}
    try:
        described = from_dict(_Described, parts)
    except ConfigError:  # of a yt8m that knew more
        return dict(there)
    return {**there, **{key: to_dict(getattr(described, key)) for key in parts}}


def save_best_evaluated(directory: str, network: Any, step: int) -> None:
    """Keep the weights of `step`; the evaluator does, whose network holds what it has scored."""
    # Two, for the chief may be about to read the one before.
    manager = tf.train.CheckpointManager(
        tf.train.Checkpoint(network=network),
        f"{directory}/{_BEST_EVALUATED}",
        max_to_keep=2,
        checkpoint_name=_PREFIX,
    )
    manager.save(checkpoint_number=step)


def restore_best_evaluated(directory: str, network: Any, step: int) -> None:
    """The weights that `save_best_evaluated` kept."""
    checkpoint = tf.train.Checkpoint(network=network)
    path = f"{directory}/{_BEST_EVALUATED}/{_PREFIX}-{step}"
    checkpoint.restore(path).expect_partial().assert_existing_objects_matched()


def has_best_evaluated(directory: str, step: int) -> bool:
    """Whether the weights of `step` were kept: the evaluator keeps the two best alone."""
    return storage.exists(f"{directory}/{_BEST_EVALUATED}/{_PREFIX}-{step}.index")


def newest_checkpoint(directory: str) -> str | None:
    """The path of the newest checkpoint that TensorFlow's state file names, if there is one."""
    try:
        path: str | None = tf.train.latest_checkpoint(directory)
    except ValueError:  # an empty or damaged file; the chief writes it again when it starts
        return None
    return path


def step_of(path: str) -> int:
    """The step in a checkpoint's name."""
    number = path.rpartition("-")[2]
    if not number.isdigit():
        raise UserError(f"{path}: not a checkpoint of this trainer ({_PREFIX}-<step>)")
    return int(number)
