"""The data that a registry's last retraining judged, on record in the registry.

A CronJob may begin with an empty root each night, and a rejected model leaves no version. Without
this record the same model would be trained, and rejected, again.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from yt8m.components import storage
from yt8m.components.artifacts.read import read_file
from yt8m.components.artifacts.run_record import RunRecord, Verdict
from yt8m.schemas.json_file import DamagedFileError, JsonFile

JUDGED_FILE = ".judged.json"


@dataclass(frozen=True, kw_only=True)
class JudgedData(JsonFile):
    """The data of one retraining, and its outcome."""

    source_digest: str
    started: float  # the first retraining on these data
    run_id: str
    verdict: Verdict


def read_judged(push_dir: str) -> JudgedData | None:
    """The record; None without one, or where it is damaged, so that the data count as new."""
    path = storage.join(push_dir, JUDGED_FILE)
    try:
        return read_file(path, JudgedData.from_json) if push_dir else None
    except (FileNotFoundError, NotADirectoryError, DamagedFileError):
        return None


def remember_judged(run: RunRecord) -> None:
    """Put the data of a retraining on record, unless the same would have something to decide."""
    if not run.is_settled or not run.push_dir:
        return
    judged = JudgedData(
        source_digest=run.source_digest,
        started=run.started,
        run_id=run.run_id,
        verdict=run.verdict,
    )
    before = read_judged(run.push_dir)
    if before is not None and before.source_digest == judged.source_digest:
        judged = dataclasses.replace(judged, started=min(before.started, judged.started))
    storage.write_text(storage.join(run.push_dir, JUDGED_FILE), judged.to_json())
