"""Beam stages on Prism, the engine of Beam's own, in workers of a pool beside it.

Where Beam is of Prism's version, which is lane B: by `make lane-b`; `make prism` builds it.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from pod_network import network_namespace
from requirements import prism_program
from yt8m_runs import QUICK, Place, yt8m

_MODULE = Path(__file__).parents[1] / "support" / "beam_engines" / "prism" / "go.mod"
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.engines,
    pytest.mark.skipif(
        f"github.com/apache/beam/sdks/v2 v{version('apache-beam')}" not in _MODULE.read_text(),
        reason="Beam of another version than Prism's, tests/support/beam_engines/prism/go.mod",
    ),
    pytest.mark.needs("prism", "network namespaces"),
]
JOBS, PAGES, POOL = 8073, 8074, 50000
SETTINGS = (
    *QUICK,
    "data.ingest=rewrite",
    "transform.materialize=true",
    "evaluator.batch_size=50",
)
ON_PRISM = (
    "--beam-runner=portable",
    f"--beam-option=--job_endpoint=localhost:{JOBS}",
    "--beam-option=--environment_type=EXTERNAL",
    f"--beam-option=--environment_config=localhost:{POOL}",
)


@pytest.fixture(scope="module")
def prism(tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[bytes]]:
    """Prism and a pool; both in a network of a loopback alone, for Prism listens everywhere."""
    engine = [str(prism_program()), f"--job_port={JOBS}", f"--web_port={PAGES}"]
    pool = [Path(sys.executable).with_name("yt8m-beam-worker-pool"), f"--service_port={POOL}"]
    logs = tmp_path_factory.mktemp("prism")
    with network_namespace(), contextlib.ExitStack() as clean:
        started = []
        for name, command in (("engine", engine), ("pool", pool)):
            log = clean.enter_context((logs / name).open("wb"))
            started.append(subprocess.Popen(command, stdout=log, stderr=log))
            clean.callback(started[-1].wait)
            clean.callback(started[-1].kill)
        for port in (JOBS, POOL):
            until_it_listens(port)
        yield started[0]


@pytest.fixture(scope="module")
def here(prism: subprocess.Popen[bytes], tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Run in this process: what every engine has to give."""
    del prism  # whose network this thread is in: processes start there from now on
    folder = tmp_path_factory.mktemp("here")
    words = ["--train", 2000, "--eval", 600, "--classes", 20, "--shards", 4]
    done = yt8m("data", "generate", "--level", "video", "--out", folder / "data", *words)
    assert done.returncode == 0, done.stderr
    place = Place(folder / "data", folder / "root", folder / "push", settings=SETTINGS)
    done = place.run()
    assert done.returncode == 0, done.stderr
    return place


def until_it_listens(port: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        with contextlib.closing(socket.socket()) as client:
            if client.connect_ex(("localhost", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(f"nothing listens at {port}")


def test_a_run_on_prism_gives_what_a_run_in_this_process_gives(
    prism: subprocess.Popen[bytes], here: Place, tmp_path: Path
) -> None:
    there = Place(here.data, tmp_path / "root", tmp_path / "push", settings=SETTINGS)
    done = there.run(*ON_PRISM)
    assert done.returncode == 0, done.stderr
    assert prism.poll() is None
    assert there.outcome() == here.outcome()
    (ours,), (theirs,) = (
        list((place.root / "artifacts").glob("Evaluator/evaluation/*/metrics.json"))
        for place in (here, there)
    )
    assert theirs.read_bytes() == ours.read_bytes()


def test_predictions_are_the_bytes_of_a_run_in_this_process(here: Place, tmp_path: Path) -> None:
    model = ["--model", here.push, "--data", here.data / "validate*"]
    for name, words in (("here", ()), ("there", ON_PRISM)):
        out = ["--out", tmp_path / f"{name}.csv", "--format", "video"]
        done = yt8m("predict", *model, *out, *words)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "there.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()


def test_prism_that_ends_is_named(
    prism: subprocess.Popen[bytes], here: Place, tmp_path: Path
) -> None:
    """The last one here: it is gone after it."""
    place = Place(here.data, tmp_path / "root", tmp_path / "push", settings=SETTINGS)
    run = place.start(*ON_PRISM)
    run.until("StatisticsGen running")
    time.sleep(1)
    prism.kill()
    assert run.end() == 1
    assert f"the job server localhost:{JOBS} was lost" in place.records()[0]["reason"]
