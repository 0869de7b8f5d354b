"""Where a run keeps its things below `root`; the one place that spells these names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ARTIFACTS = "artifacts"
CHECKPOINTS = "checkpoints"
VERIFIED = "verified"  # what ExampleGen remembers of shards it has read


@dataclass(frozen=True)
class Layout:
    """`<root>`: TFX's artifacts and metadata, checkpoints, logs, and a folder for each run."""

    root: Path

    @property
    def artifacts(self) -> Path:
        """TFX's pipeline root."""
        return self.root / ARTIFACTS

    @property
    def database(self) -> Path:
        return self.root / "metadata.db"

    @property
    def checkpoints(self) -> Path:
        return self.root / CHECKPOINTS

    @property
    def lock(self) -> Path:
        return self.root / "run.lock"

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    @property
    def newest(self) -> Path:
        """A link to the newest run's folder, for components, whose parameters must not vary."""
        return self.root / "newest-run"

    def run(self, run_id: str) -> Path:
        return self.runs / run_id

    def logs(self, run_id: str) -> Path:
        return self.root / "logs" / run_id

    def log(self, run_id: str, node: str) -> Path:
        return self.logs(run_id) / f"{node}.log"
