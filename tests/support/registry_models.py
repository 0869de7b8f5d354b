"""Small directories that look like SavedModels, and a registry filled with them."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.version_record import DataRecord, VersionRecord
from yt8m.components.registry.digests import model_digest
from yt8m.components.registry.push import push
from yt8m.components.registry.versions import Version


def fake_model(path: Path, *, content: bytes = b"model", variables_bytes: int = 2000) -> str:
    """Files laid out as a SavedModel; TensorFlow could not load them."""
    (path / "variables").mkdir(parents=True)
    (path / "assets.extra").mkdir()
    (path / "saved_model.pb").write_bytes(content)
    (path / "variables" / "variables.index").write_bytes(content * 3)
    (path / "variables" / "variables.data-00000-of-00001").write_bytes(os.urandom(variables_bytes))
    (path / "assets.extra" / "yt8m_export.json").write_text("{}")
    return str(path)


def blessed_record(*, run_key: str = "", gap: float = 0.5, baseline: int = 0) -> VersionRecord:
    """The record of a blessed model, as Pusher would write it."""
    return VersionRecord(
        blessed=True,
        reason=f"gap {gap} clears 0.1",
        run_key=run_key,
        baseline_version=baseline,
        metrics={"gap": Estimate(value=gap, lower=gap - 0.01, upper=gap + 0.01)},
        data=DataRecord(level="video", manifest_digest="d1", spans=(1,), examples={"train": 10}),
    )


def best_record(model: str, *, run_key: str = "", baseline: int = 0) -> VersionRecord:
    """The record of `model`, which the gate found better than the best before."""
    record = blessed_record(run_key=run_key, baseline=baseline)
    return dataclasses.replace(record, champion_digest=model_digest(model))


def push_fake(tmp_path: Path, push_dir: Path, *, run_key: str = "", keep: int = 5) -> Version:
    """One more version of a fake model, better than all before."""
    model = fake_model(tmp_path / f"model-{os.urandom(4).hex()}")
    return push(model, str(push_dir), best_record(model, run_key=run_key), keep=keep)
