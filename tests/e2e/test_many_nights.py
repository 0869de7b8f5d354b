"""Nights of `yt8m retrain`: the disk stays as it is, and nothing that is needed goes.

Among them are nights that push, that the gate holds back, that fail and that are killed; on some of
them `yt8m gc` is called while a run, or a rollback, is under way.
"""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest
from yt8m_runs import QUICK, Command, Place, generate, yt8m

from yt8m.components.registry.champion import find_champion
from yt8m.components.registry.versions import in_service, load_version
from yt8m.pipeline.config import MetadataConfig
from yt8m.pipeline.metadata import MlmdLineage, open_store
from yt8m.pipeline.workspace import Layout

pytestmark = pytest.mark.e2e

FEW, MANY = 12, 60
KEEP_RUNS, KEEP_VERSIONS = 5, 2
SETTLED = 20  # nights, after which everything that is kept is there
SMALL = (
    "retention.keep_days=0",
    f"retention.keep_runs={KEEP_RUNS}",
    f"pusher.keep_versions={KEEP_VERSIONS}",
    "retrain.window=1",
    "data.splits={train: ['span-{SPAN}/train*'], eval: ['span-{SPAN}/validate*'], test: []}",
)
LONG = "trainer.max_steps=150"


class Nights:
    """A place whose next span arrives each night."""

    def __init__(self, folder: Path, spans: int) -> None:
        self.depot = generate(folder / "depot", spans=spans, train=100, evaluate=50)
        settings = (*QUICK[:-1], *SMALL)  # the last are the splits
        self.place = Place(folder / "data", folder / "root", folder / "push", settings=settings)
        self.place.data.mkdir()
        self.layout = Layout(self.place.root)

    def arrive(self, night: int) -> None:
        (self.depot / f"span-{night}").rename(self.place.data / f"span-{night}")

    def retrain(self, night: int, *settings: str) -> int:
        more = [f"--set={setting}" for setting in (f"trainer.seed={night}", *settings)]
        return self.place.run(*more, command="retrain").returncode

    def kill(self, night: int) -> None:
        """Kill the run while it trains; meanwhile `gc` is refused, and leaves its checkpoints."""
        run = self.place.start(f"--set=trainer.seed={night}", f"--set={LONG}", command="retrain")
        run.until("Trainer running")
        refused = yt8m("gc", "--root", self.place.root)
        assert refused.returncode == 1
        assert "is in use" in refused.stderr
        while not (saved := self.checkpoints()):
            time.sleep(0.02)
        assert run.end(signal.SIGKILL) == -signal.SIGKILL
        assert yt8m("gc", "--root", self.place.root).returncode == 0
        assert saved == self.checkpoints()

    def checkpoints(self) -> set[Path]:
        """The directories that hold checkpoints."""
        return {path.parent for path in Path(self.layout.checkpoints).glob("*/ckpt-*.index")}

    def clean_during_a_rollback(self) -> None:
        words = ["models", "rollback", str(self.place.versions()[0]), "--push", self.place.push]
        rollback = Command(*map(str, words), env=self.place.env)
        assert yt8m("gc", "--root", self.place.root).returncode == 0
        assert rollback.end() == 0

    def used(self) -> tuple[int, int]:
        """Bytes and files below the root, but for MLMD's database."""
        files = [p for p in self.place.root.rglob("*") if p.is_file() and not p.is_symlink()]
        files = [p for p in files if p != self.layout.database and p.stat().st_nlink == 1]
        return sum(p.stat().st_size for p in files), len(files)

    def lost(self) -> list[str]:
        """What is referred to and is not there."""
        registry = str(self.place.push)
        versions = [load_version(registry, n, verify=True) for n in self.place.versions()]
        lost = [] if versions and find_champion(registry, verify=True) else ["the champion"]
        lineage = MlmdLineage(open_store(MetadataConfig(), self.layout.database))
        keys = {version.record.run_key for version in versions}
        records = self.place.records()
        lost += [f"a run of {key}" for key in keys - {r["run_key"] for r in records} - {""}]
        lost += [
            output.uri
            for record in records
            if record["verdict"] in ("pushed", "rejected")
            for execution in lineage.executions(record["run_id"])
            for output in execution.outputs
            if not Path(output.uri).exists()
        ]
        return lost


@pytest.mark.parametrize(
    "nights",
    [
        pytest.param(FEW, marks=pytest.mark.slow),
        pytest.param(MANY, marks=[pytest.mark.many_runs, pytest.mark.timeout(5400)]),
    ],
)
def test_the_disk_stays_as_it_is_and_nothing_that_is_needed_goes(
    nights: int, tmp_path: Path, record_property: pytest.RecordProperty
) -> None:
    place = Nights(tmp_path, nights)
    used = [spend(place, night) for night in range(1, nights + 1)]
    record_property("used", json.dumps(used))
    settled, last = used[SETTLED : 2 * SETTLED], used[-SETTLED:]
    if nights == MANY:  # else too few for what is kept to have settled
        for measure in (0, 1):
            most = max(each[measure] for each in settled)
            # More or fewer runs are kept for their versions as the champion changes.
            assert max(each[measure] for each in last) <= 1.2 * most
    assert len(place.place.records()) <= KEEP_RUNS + KEEP_VERSIONS + 2  # champion, origin
    assert in_service(str(place.place.push)).version == place.place.versions()[-1]


def spend(nights: Nights, night: int) -> tuple[int, int]:
    """What the root takes after one more night, which is checked."""
    nights.arrive(night)
    match night % 6:
        case 2:
            assert nights.retrain(night, "gate.gap_threshold=0.999") == 3
        case 3:  # it diverges
            assert nights.retrain(night, "trainer.optimizer.learning_rate=1e38") == 1
        case 4:
            nights.kill(night)
            assert nights.retrain(night, LONG) == 0
        case 5:
            assert nights.retrain(night) == 0
            nights.clean_during_a_rollback()
        case _:
            assert nights.retrain(night) == 0
    assert nights.lost() == []
    assert nights.checkpoints() == set()
    return nights.used()
