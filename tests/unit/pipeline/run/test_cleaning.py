"""Which runs are followed by a removal of old ones, and what a failed removal changes: nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from yt8m.components.artifacts.run_record import RunRecord, Verdict
from yt8m.components.console.console import Console
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.run import finish
from yt8m.pipeline.run_record import RunResult
from yt8m.schemas.config_tree import from_dict


def finished(
    root: Path, monkeypatch: pytest.MonkeyPatch, *, retraining: bool, after_each_run: bool | None
) -> list[PipelineConfig]:
    """Which configurations were cleaned up after; each attempt fails."""
    cleaned = []

    def clean(config: PipelineConfig, console: Console) -> None:
        cleaned.append(config)
        raise OSError("no space left")

    monkeypatch.setattr(finish, "_clean", clean)
    values = {"root": str(root), "retention": {"after_each_run": after_each_run}}
    record = RunRecord(run_id="1", started=0.0, verdict=Verdict.REJECTED, retraining=retraining)
    result = RunResult(record=record, is_new=True)
    finish.finish_run(from_dict(PipelineConfig, values), result, Console(), hook=False)
    return cleaned


@pytest.mark.parametrize(
    ("retraining", "after_each_run", "cleans"),
    [
        (True, None, True),
        (False, None, False),
        (True, False, False),
        (False, True, True),
    ],
)
def test_a_retraining_removes_old_runs_by_itself(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    retraining: bool,
    after_each_run: bool | None,
    cleans: bool,
) -> None:
    cleaned = finished(tmp_path, monkeypatch, retraining=retraining, after_each_run=after_each_run)
    assert bool(cleaned) == cleans
    assert ("no space left" in capsys.readouterr().err) == cleans
