"""Notes of a training beside its checkpoints, for a later training to compare with.

`settings.json` holds all that decides the weights. Where one of these values changes, a pipeline
trains in another directory, from step 0 on; the notes of its neighbours say what that costs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from yt8m.components import storage
from yt8m.components.console.notices import notice
from yt8m.components.trainer.job import CONTENT, TrainingJob
from yt8m.components.trainer.state.done_marker import DONE_FILE
from yt8m.components.trainer.state.warm_start import list_checkpoints
from yt8m.schemas.config_tree import flatten
from yt8m.schemas.json_file import NewerFormatError, fields_of, to_text

SETTINGS_FILE = "settings.json"
_ABSENT = "absent"
_ALIKE = 8  # with more different values it is another experiment
_CONTENT = f"{CONTENT}."
_TAG = ".name"


@dataclass(frozen=True, kw_only=True)
class SettingChange:
    """A value that is not the same in two trainings."""

    key: str
    there: Any
    now: Any

    def __str__(self) -> str:
        if self.key.startswith(_CONTENT):
            name = self.key.removeprefix(_CONTENT)
            return f"{name} changed" if name.startswith("the ") else f"what {name} names changed"
        return f"{self.key} changed from {_shown(self.there)} to {_shown(self.now)}"

    @property
    def way_back(self) -> str:
        """How to give the former value again."""
        if self.key.startswith(_CONTENT) or self.there == _ABSENT:
            return f"{self.key.removeprefix(_CONTENT)} as it was"
        return f"--set {self.key}={_shown(self.there)}"


def find_changes(there: Mapping[str, Any], now: Mapping[str, Any]) -> list[SettingChange]:
    """Compare two trees; of a node that is another one by its name, the name alone is listed."""
    old, new = flatten(there), flatten(now)
    changed = {k for k in {*old, *new} if old.get(k, _ABSENT) != new.get(k, _ABSENT)}
    others = tuple(k.removesuffix("name") for k in changed if k.endswith(_TAG))
    return [
        SettingChange(key=key, there=old.get(key, _ABSENT), now=new.get(key, _ABSENT))
        for key in sorted(changed)
        if key.endswith(_TAG) or not key.startswith(others)
    ]


def read_settings(directory: str) -> dict[str, Any] | None:
    """The settings noted beside checkpoints; None where there are none that can be read."""
    try:
        return fields_of(storage.read_text(storage.join(directory, SETTINGS_FILE)))
    except (OSError, ValueError, NewerFormatError):
        return None


def write_settings(directory: str, settings: Mapping[str, Any]) -> None:
    """Note `settings` beside the checkpoints."""
    storage.write_text(storage.join(directory, SETTINGS_FILE), to_text(settings))


def announce_interrupted(job: TrainingJob) -> None:
    """Name what changed, and what it costs, where `job` starts at step 0 instead of continuing."""
    if list_checkpoints(job.checkpoint_dir):
        return
    now = fields_of(to_text(job.settings))
    near = [
        (changes, -step, directory)
        for step, directory in _interrupted_beside(job.checkpoint_dir)
        for changes in [find_changes(read_settings(directory) or {}, now)]
        if len(changes) <= _ALIKE
    ]
    if not near:
        return
    changes, negative, directory = min(near, key=lambda each: (len(each[0]), *each[1:]))
    step = f"{-negative:,}"
    notice(
        f"{'; '.join(map(str, changes))}: the training starts at step 0. The interrupted one is at "
        f"step {step} in {directory}. To keep these {step} steps, stop this run and start it with "
        f"{' and '.join(change.way_back for change in changes)}, which continues that training"
    )


def _interrupted_beside(directory: str) -> Iterator[tuple[int, str]]:
    """The step and the directory of each training beside `directory` that has not ended."""
    root, _, own = directory.rpartition("/")
    for name in storage.list_dir(root) if storage.is_dir(root) else ():
        other = storage.join(root, name)
        if name == own or not storage.exists(storage.join(other, SETTINGS_FILE)):
            continue
        checkpoints = list_checkpoints(other)
        if checkpoints and not storage.exists(storage.join(other, DONE_FILE)):
            yield int(checkpoints[-1].rpartition("-")[2]), other


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
