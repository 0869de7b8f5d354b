"""The champion's scores on the videos of one evaluation, kept for the next one on the same videos.

A schedule judges many candidates on one split, and the champion seldom changes. What the metrics
need of its scores (165 bytes per video) is kept under the digest of all that they follow from: the
model, the records, how they are scored, and the code that scores them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import io
import json
import logging
from collections.abc import Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np

from yt8m.components import storage
from yt8m.components.artifacts.manifest import Shard
from yt8m.components.evaluator.score_table import CHAMPION, ScoreTable
from yt8m.components.metrics import MetricAccumulator
from yt8m.components.registry.digests import model_digest
from yt8m.schemas.config_tree import to_dict
from yt8m.schemas.json_file import NewerFormatError, check_stamp, reading, stamp
from yt8m.schemas.npz_faults import NPZ_FAULTS

if TYPE_CHECKING:  # TensorFlow is not needed to read a file
    from yt8m.components.evaluator.scoring import ScoringPlan

_KEPT = 4  # files; a rolling window needs one, and its older ones are of no use
_SCORES = "scores"
_log = logging.getLogger(__name__)


class ChampionScores:
    """The file of one model's scores on one sequence of records."""

    def __init__(self, directory: str, digest: str) -> None:
        self._directory = directory
        self._path = storage.join(directory, f"{digest[:32]}.npz")

    def load(self) -> MetricAccumulator | None:
        """Read the scores; None where these are not known, or cannot be read."""
        try:
            with reading(self._path):
                scores = _unpack(storage.read_bytes(self._path))
            with contextlib.suppress(OSError):  # another user's, or read-only: its time stays
                storage.touch(self._path)  # its time is that of the last use
        except FileNotFoundError:
            return None
        except (NewerFormatError, PermissionError) as error:
            _log.warning("the champion is scored again: %s", error)
            return None
        except NPZ_FAULTS as error:
            _log.warning("%s is damaged and will be replaced: %s", self._path, error)
            return None
        _log.info("the champion's scores on these videos come from %s", self._path)
        return scores

    def store(self, scored: ScoreTable) -> None:
        """Keep the champion's rows of `scored`, where all records have one."""
        if scored.broken or scored.unscorable.rows or not len(scored):
            return
        try:
            storage.make_dirs(self._directory)
            storage.write_bytes(self._path, _pack(scored.models[CHAMPION]))
            self._remove_oldest()
        except OSError as error:
            _log.warning(
                "%s cannot be written, so the next run scores the champion again: %s",
                self._path,
                error,
            )

    def forget(self) -> None:
        """Remove the scores."""
        with contextlib.suppress(OSError):
            storage.remove(self._path)

    def _remove_oldest(self) -> None:
        files = storage.find(storage.join(storage.escape(self._directory), "*.npz"))
        newest_first = sorted(files, key=lambda path: files[path].mtime, reverse=True)
        for path in newest_first[_KEPT:]:
            storage.remove(path)


def scores_digest(
    plan: ScoringPlan, shards: Sequence[Shard], *, model: str, code_version: str
) -> str:
    """Name the scores of the model with the digest `model` on all records of `shards`."""
    parts = {
        "model": model,
        "context": model_digest(plan.context) if plan.context else "",
        "records": [(shard.digest, shard.records) for shard in shards],
        "level": plan.level.value,
        "segments": plan.segments.value if plan.segments else "",
        "features": to_dict(plan.features),
        "top_k": plan.top_k,
        # Sums within a batch are rounded as its size has it.
        "batch": plan.records_at_once,
        "code": [code_version, version("tensorflow")],
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def with_champion(scored: ScoreTable, champion: MetricAccumulator) -> ScoreTable | None:
    """Join the champion's kept rows to those of the other models; None where they differ.

    They differ where the baseline could not score some, which all models then do without.
    """
    if scored.broken:
        return scored
    ours, its = scored.candidate.rows, champion.rows
    columns = ("keys", "label_counts", "labels")
    if not all(np.array_equal(getattr(ours, name), getattr(its, name)) for name in columns):
        return None
    return dataclasses.replace(scored, models={**scored.models, CHAMPION: champion})


def _pack(scores: MetricAccumulator) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **stamp(), **{_SCORES: np.frombuffer(scores.to_bytes(), np.uint8)})
    return buffer.getvalue()


def _unpack(content: bytes) -> MetricAccumulator:
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        check_stamp({name: stored[name].item() for name in stamp() if name in stored})
        return MetricAccumulator.from_bytes(stored[_SCORES].tobytes())
