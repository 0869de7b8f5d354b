"""The same command again: is the answer known without starting anything?"""

from __future__ import annotations

from pathlib import Path

from yt8m.components.registry.versions import UnusableVersionError, load_version
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.run.record import RunRecord, Verdict, read_records
from yt8m.pipeline.run.workspace import Layout


def find_up_to_date_run(
    layout: Layout, config: PipelineConfig, fingerprint: str
) -> RunRecord | None:
    """The newest run, when it was complete, the same, and what it left is still there."""
    newest = next(read_records(layout), None)
    if newest is None or newest.fingerprint != fingerprint or not newest.verdict.is_complete:
        return None
    if config.metadata.mysql is None and not layout.database.is_file():
        return None
    if newest.report and not Path(newest.report).is_file():
        return None
    if newest.verdict is Verdict.PUSHED and not _is_there(newest):
        return None
    return newest


def _is_there(record: RunRecord) -> bool:
    try:
        load_version(record.push_dir, record.version)
    except UnusableVersionError:
        return False
    return True
