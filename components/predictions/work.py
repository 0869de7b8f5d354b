"""The directory beside the output where finished parts wait, so that a killed run continues."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import PurePosixPath

from yt8m.components import storage
from yt8m.components.artifacts.manifest import Shard
from yt8m.components.predictions.plan import PredictionPlan
from yt8m.components.registry.digests import model_digest
from yt8m.schemas.code_digest import code_digest
from yt8m.schemas.config_tree import to_dict

_LOCK = "lock"
_WRITER = "yt8m.components.predictions.formats"
_ERROR = ".error"


def work_key(plan: PredictionPlan, groups: Sequence[Sequence[Shard]]) -> str:
    """Changes when the model's bytes, the data, an option or the code does."""
    decisive = [
        to_dict(plan) | {"model": model_digest(plan.model), "context": _digest(plan.context)},
        [[(shard.uri, shard.digest) for shard in group] for group in groups],
        code_digest(_WRITER),
    ]
    return hashlib.sha256(json.dumps(decisive).encode()).hexdigest()[:16]


def _digest(model: str) -> str:
    return model_digest(model) if model else ""


class WorkDirectory:
    """Parts of one output, by the number of their group."""

    def __init__(self, out: str, key: str, groups: int) -> None:
        parent, _, name = out.rpartition("/")
        self._root = storage.join(f"{parent}/" if parent or out.startswith("/") else "", _dir(name))
        self.path = storage.join(self._root, key)
        self._groups = groups

    def open(self) -> None:
        """Create it; of what was left there only parts of the same output stay."""
        if storage.is_dir(self._root):
            for name in storage.list_dir(self._root):
                if storage.join(self._root, name) not in (self.path, self.lock):
                    storage.remove_tree(storage.join(self._root, name))
        storage.make_dirs(self.path)
        for name in storage.list_dir(self.path):
            if name.endswith(_ERROR):  # of an earlier run, whose cause may be gone
                storage.remove(storage.join(self.path, name))

    @property
    def lock(self) -> str:
        """Held by the process that writes the output."""
        return storage.join(self._root, _LOCK)

    def part(self, number: int) -> str:
        """The file of group `number`."""
        return storage.join(self.path, f"{number:05d}.part")

    def error(self, number: int) -> str:
        """Where a worker elsewhere says why the group could not be predicted."""
        return storage.join(self.path, f"{number:05d}{_ERROR}")

    @property
    def parts(self) -> list[str]:
        """All of them, in the data's order."""
        return [self.part(number) for number in range(self._groups)]

    def missing(self) -> list[int]:
        """The groups that are still to be predicted."""
        names = set(storage.list_dir(self.path)) if storage.is_dir(self.path) else set()
        return [n for n in range(self._groups) if PurePosixPath(self.part(n)).name not in names]

    def remove(self) -> None:
        """The parts, joined or of no use, and the lock, which the caller holds."""
        storage.remove_tree(self.path)
        lock = storage.local_path(self.lock)
        if lock is not None:
            lock.unlink(missing_ok=True)


def _dir(name: str) -> str:
    return f".{name}.parts"
