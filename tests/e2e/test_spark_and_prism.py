"""Beam stages on Spark and on Prism, Beam's own engine, in workers of a pool beside them.

Each where Beam is of its version: Spark by `make test-engines` on lane A, Prism by `make lane-b`.
`make spark` and `make prism` bring them.
"""

from __future__ import annotations

import contextlib
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import pytest
from pod_network import network_namespace
from requirements import prism_program, spark_programs
from yt8m_runs import QUICK, Place, run_in_process, yt8m

_PARTS = Path(__file__).parents[1] / "testbed" / "engines"
JOBS, OTHERS, POOL = 8099, 8098, 50000
SETTINGS = (
    *QUICK,
    "data.ingest=rewrite",
    "evaluator.batch_size=50",
)
# As Spark's own start scripts open them to it, of Java 17.
_OPENED = (
    *("java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio"),
    *("java.util", "java.util.concurrent", "java.util.concurrent.atomic", "jdk.internal.ref"),
    *("sun.nio.ch", "sun.nio.cs", "sun.security.action", "sun.util.calendar"),
)


class Engine(NamedTuple):
    """One program that takes jobs and does them, but for what is Python."""

    runner: str
    beam: str  # the version that its workers have
    needs: tuple[str, ...]
    command: Callable[[], list[str]]
    options: tuple[str, ...] = ()


# The engine, and how a run is told to use it and its pool.
Running = tuple["subprocess.Popen[bytes]", tuple[str, ...]]


def _pinned(file: str, pattern: str) -> str:
    found = re.search(pattern, (_PARTS / file).read_text())
    assert found is not None
    return found[1]


def _spark() -> list[str]:
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
    program = "org.apache.beam.runners.spark.SparkJobServerDriver"
    ports = [f"--job-port={JOBS}", f"--artifact-port={OTHERS}", "--expansion-port=0"]
    jars = f"{spark_programs()}/*"
    return ["java", *opened, "-cp", jars, program, *ports, "--spark-master-url=local[2]"]


def _prism() -> list[str]:
    return [str(prism_program()), f"--job_port={JOBS}", f"--web_port={OTHERS}"]


ENGINES = {
    "spark": Engine(
        "spark", _pinned("spark/pom.xml", "<version>(2[.].*)</"), ("spark", "java"), _spark
    ),
    "prism": Engine(
        "portable",
        # Prism itself is newer: that of 2.74 may miss, by chance, that a job is done.
        _pinned("../../../lock/tfx-1.21-pins.txt", "apache-beam==(.*)"),
        ("prism",),
        _prism,
        # For a single answer: a job may take longer.
        ("--job_server_timeout=1",),
    ),
}
pytestmark = [pytest.mark.e2e, pytest.mark.engines, pytest.mark.needs("network namespaces")]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=pytest.mark.needs(*engine.needs))
        for name, engine in ENGINES.items()
        if engine.beam == version("apache-beam")
    ],
)
def engine(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Running]:
    """It and a pool, and how a run is told to use them.

    Both are in a network of a loopback alone, for these engines listen everywhere.
    """
    chosen = ENGINES[request.param]
    pool = [str(Path(sys.executable).with_name("yt8m-beam-worker-pool")), f"--service_port={POOL}"]
    logs = tmp_path_factory.mktemp(request.param)
    options = [
        f"--job_endpoint=localhost:{JOBS}",
        "--environment_type=EXTERNAL",
        f"--environment_config=localhost:{POOL}",
        *chosen.options,
    ]
    with network_namespace(), contextlib.ExitStack() as clean:
        started = []
        for name, command in (("engine", chosen.command()), ("pool", pool)):
            log = clean.enter_context((logs / name).open("wb"))
            started.append(subprocess.Popen(command, stdout=log, stderr=log))
            clean.callback(started[-1].wait)
            clean.callback(started[-1].kill)
        until(lambda: listens(JOBS) and listens(POOL))
        words = [f"--beam-runner={chosen.runner}", *(f"--beam-option={one}" for one in options)]
        yield started[0], tuple(words)


@pytest.fixture(scope="module")
def here(engine: Running, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Run in this process: what every engine has to give."""
    del engine  # whose network this thread is in: processes start there from now on
    return run_in_process(tmp_path_factory.mktemp("here"), SETTINGS)


def listens(port: int) -> bool:
    with contextlib.closing(socket.socket()) as client:
        return client.connect_ex(("localhost", port)) == 0


def statistics_logs(place: Place) -> Iterator[Path]:
    return place.root.glob("logs/*/StatisticsGen.log")


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("not within 120 s")


def test_a_run_gives_what_a_run_in_this_process_gives(
    engine: Running, here: Place, tmp_path: Path
) -> None:
    process, on_engine = engine
    there = Place(here.data, tmp_path / "root", tmp_path / "push", settings=SETTINGS)
    done = there.run(*on_engine)
    assert done.returncode == 0, done.stdout + done.stderr
    assert process.poll() is None
    assert there.outcome() == here.outcome()
    (ours,), (theirs,) = (
        list((place.root / "artifacts").glob("Evaluator/evaluation/*/metrics.json"))
        for place in (here, there)
    )
    assert theirs.read_bytes() == ours.read_bytes()


def test_predictions_are_the_bytes_of_a_run_in_this_process(
    engine: Running, here: Place, tmp_path: Path
) -> None:
    model = ["--model", here.push, "--data", here.data / "validate*"]
    for name, words in (("here", ()), ("there", engine[1])):
        out = ["--out", tmp_path / f"{name}.csv", "--format", "video"]
        done = yt8m("predict", *model, *out, *words)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "there.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()


def test_an_engine_that_ends_is_named(engine: Running, here: Place, tmp_path: Path) -> None:
    """The last one here: it is gone after it."""
    process, on_engine = engine
    place = Place(here.data, tmp_path / "root", tmp_path / "push", settings=SETTINGS)
    run = place.start(*on_engine)
    run.until("StatisticsGen running")
    until(lambda: any("to RUNNING" in log.read_text() for log in statistics_logs(place)))
    process.kill()
    assert run.end() == 1
    assert f"the job server localhost:{JOBS} was lost" in place.records()[0]["reason"]
