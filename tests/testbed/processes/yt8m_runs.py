"""The real `yt8m` command in processes of its own, on a few hundred generated videos."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import warm_processes

START = "from yt8m.cli.main import main; main()"
TIMEOUT_S = 400
# No command takes longer, whatever was done to it, on a machine that does much else.
HANG_S = 1200.0
_POLL_S = 0.02
COMPONENTS = (
    "Baseline",
    "ExampleGen",
    "SchemaGen",
    "StatisticsGen",
    "ExampleValidator",
    "ValidationGate",
    "Transform",
    "Trainer",
    "Evaluator",
    "Pusher",
    "Report",
)
QUICK = (
    "trainer.max_steps=30",
    "trainer.checkpoint.every_steps=5",
    "trainer.log.histograms_every_steps=null",
    "features.num_classes=20",
    "gate.gap_threshold=0.01",
    "gate.gap_change_threshold=null",
    "gate.min_examples=1",
    "validation.on_drift=warn",
    "data.splits={train: ['train*'], eval: ['validate*'], test: []}",
)


def environment(**changes: str) -> dict[str, str]:
    """Without what tests or shells may have set for other processes."""
    kept = {k: v for k, v in os.environ.items() if k not in ("TF_CONFIG", "PYTEST_CURRENT_TEST")}
    return {**kept, "TF_CPP_MIN_LOG_LEVEL": "2", **changes}


def yt8m(*words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """`yt8m ...` to its end, in a process of its own that TFX is imported in."""
    return warm_processes.run("-c", START, *words, env=env or environment(), timeout=TIMEOUT_S)


def cold_yt8m(*words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """`yt8m ...` to its end, with all that a process imports: its own PYTHONPATH among it."""
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", START, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        env=env or environment(),
        check=False,
    )


def generate(
    out: Path, *, spans: int = 0, train: int = 300, evaluate: int = 100, shards: int = 2
) -> Path:
    """Records of 20 classes, below span-<n>/ when there are spans."""
    words = ["--train", train, "--eval", evaluate, "--classes", 20, "--shards", shards]
    words += ["--spans", spans] if spans else []
    done = yt8m("data", "generate", "--level", "video", "--out", out, *words)
    assert done.returncode == 0, done.stderr
    return out


def run_in_process(folder: Path, settings: tuple[str, ...]) -> Place:
    """A run to a push without an engine: what every engine has to give."""
    generate(folder / "data", train=2000, evaluate=600, shards=4)
    place = Place(folder / "data", folder / "root", folder / "push", settings=settings)
    done = place.run()
    assert done.returncode == 0, done.stderr
    return place


@dataclass
class Place:
    """A data directory, a root and a registry, and the runs there."""

    data: Path
    root: Path
    push: Path
    settings: tuple[str, ...] = QUICK
    env: dict[str, str] = field(default_factory=environment)
    cold: bool = False  # whether its processes import everything themselves

    def words(self, command: str, *extra: str) -> list[str]:
        places = ["--data", self.data, "--root", self.root, "--push", self.push]
        settings = [f"--set={setting}" for setting in self.settings]
        return [command, "smoke", *map(str, places), *settings, *extra]

    def run(self, *extra: str, command: str = "run") -> subprocess.CompletedProcess[str]:
        start = cold_yt8m if self.cold else yt8m
        return start(*self.words(command, *extra), env=self.env)

    def start(self, *extra: str, command: str = "run") -> Command:
        return Command(*self.words(command, *extra), env=self.env)

    def records(self) -> list[dict]:
        """Every run's record, the newest first."""
        files = sorted((self.root / "runs").glob("*/run.json"), reverse=True)
        return [json.loads(file.read_text()) for file in files]

    def states(self) -> dict[str, str]:
        """What became of each component in the newest run."""
        return {node["name"]: node["state"] for node in self.records()[0]["nodes"]}

    def executed(self) -> set[str]:
        """The components that the newest run did not take from the cache."""
        return {name for name, state in self.states().items() if state != "cached"}

    def versions(self) -> list[int]:
        return sorted(int(p.name) for p in self.push.glob("[0-9]*")) if self.push.exists() else []

    def outcome(self) -> dict:
        """What two equal runs have in common, to the last bit."""
        record = self.records()[0]
        weights = sorted(self.push.glob(f"{record['version']}/variables/variables.data*"))
        return {
            "verdict": record["verdict"],
            "version": record["version"],
            "metrics": record["metrics"],
            "weights": [path.read_bytes() for path in weights],
        }


class HungError(Exception):
    """A process did not end in time, and was killed."""


class Command:
    """`yt8m WORDS` in a process of its own, both streams in one file."""

    def __init__(
        self, *words: str, log: Path | None = None, env: dict[str, str] | None = None
    ) -> None:
        self._log = log or Path(tempfile.mkdtemp(), "said.txt")
        with self._log.open("wb") as file:
            self.process = warm_processes.Popen(
                "-c", START, *words, stdout=file, stderr=subprocess.STDOUT, env=env or environment()
            )
        self._begun = time.monotonic()

    @property
    def said(self) -> str:
        return " ".join(self._log.read_text(errors="replace").split())

    def says(self, text: str) -> bool:
        """Wait until it does; False where it ended without."""
        while text not in self.said:
            if self.process.poll() is not None:
                return text in self.said
            if time.monotonic() - self._begun > HANG_S:
                self._give_up()
            time.sleep(_POLL_S)
        return True

    def until(self, text: str) -> None:
        assert self.says(text), f"it ended without saying {text!r}:\n{self.said}"

    def end(self, number: int | None = None, within_s: float = HANG_S) -> int:
        """Send a signal, and wait for the exit code."""
        if number is not None:
            self.process.send_signal(number)
        try:
            return self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            return self._give_up()

    def _give_up(self) -> NoReturn:
        self.process.kill()
        self.process.wait()
        raise HungError(f"it hung: {self.said[-300:]}")
