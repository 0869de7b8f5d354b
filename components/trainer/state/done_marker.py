"""The marker `DONE` of a training that has ended: beside its checkpoints, and beside its curves.

By the first its other processes end. By both, garbage collection knows that the model of these
checkpoints is exported; TensorFlow, which takes seconds to import, is not needed to read them.
"""

from __future__ import annotations

import uuid
from contextlib import suppress
from dataclasses import dataclass

from yt8m.components import storage
from yt8m.components.artifacts.read import read_if_present
from yt8m.schemas.json_file import DamagedFileError, fields_of, to_text

DONE_FILE = "DONE"
NAMING_OTHERS = (DONE_FILE, "checkpoint")  # of the files beside checkpoints, TensorFlow's last


@dataclass(frozen=True, kw_only=True)
class Done:
    """The marker of a training that has ended."""

    step: int
    stopping_criteria: str  # as configured: with others the same directory is trained on
    id: str = ""  # distinguishes it from that of an earlier training


def mark_done(directory: str, done: Done, *, log_dir: str) -> None:
    """Tell the other processes that the last checkpoint is written and its model exported."""
    values = {"step": done.step, "limits": done.stopping_criteria, "id": uuid.uuid4().hex}
    for place in (log_dir, directory):
        storage.write_text(storage.join(place, DONE_FILE), to_text(values))


def read_done(directory: str) -> Done | None:
    """The marker, if training has ended.

    One that is damaged says nothing: then the training goes on to its end, and writes it again.
    """
    with suppress(DamagedFileError):
        return read_if_present(directory, DONE_FILE, _parse)
    return None


def _parse(text: str) -> Done:
    data = fields_of(text)
    return Done(step=data["step"], stopping_criteria=data["limits"], id=data["id"])
