"""Every Beam stage on a Flink cluster: what it gives, how it is shared, and what a fault says.

By `make test-engines` alone; `make flink` brings the cluster. Python runs in processes that the
pool beside each task manager starts (EXTERNAL: the run), or it itself (PROCESS: predictions).
"""

from __future__ import annotations

import json
import os
import re
import signal
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import dying_worker
import numpy as np
import pytest
import tensorflow as tf
from flink_cluster import (
    JOB_SERVER,
    Flink,
    flink_cluster,
    is_of_the_installed_beam,
    task_manager,
    worker_pool,
)
from tensorflow_metadata.proto.v0 import statistics_pb2
from yt8m_runs import QUICK, Command, Place, environment, run_in_process, yt8m

from yt8m.components import storage

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.engines,
    pytest.mark.skipif(
        not is_of_the_installed_beam(),
        reason="Beam of another version than the job server's, tests/testbed/engines/pom.xml",
    ),
    pytest.mark.needs("flink", "java", "network namespaces", "ip"),
]
WORKERS, SIGNAL = 2, "signal"
# Every stage that there is, but Transform: the default ingest uses no Beam.
# The rewriting ingest leaves one shard of so few videos; workers share it, batch by batch.
_BATCHES = "evaluator.batch_size=50"
SETTINGS = (*QUICK, "data.ingest=rewrite", _BATCHES)
# Of this one, a worker kills itself in ExampleGen.
LOSES_A_WORKER = (*SETTINGS, "data.rewrite.keep=dying_worker.keep")
# Which worker writes an example to which file does not repeat, so its training is another one.
MATERIALISED = (*SETTINGS, "transform.materialize=true")
POOL = Flink.worker_pool
PROCESS = ("--environment_type=PROCESS",)
EXTERNAL = ("--environment_type=EXTERNAL", f"--environment_config={POOL}")
BALANCED = 0.6  # of a stage's records, for the worker that had most


@pytest.fixture(scope="module")
def flink(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flink]:
    folder = tmp_path_factory.mktemp("flink")
    parts = str(Path(dying_worker.__file__).parent)
    with (
        mock.patch.dict(os.environ, PYTHONPATH=parts, DIES_ONCE=str(folder / "died")),
        flink_cluster(folder, task_managers=WORKERS, store=True) as cluster,
    ):
        yield cluster


@pytest.fixture(scope="module")
def here(flink: Flink, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Run in this process: what every engine has to give."""
    del flink  # whose network this thread is in: processes start there from now on
    return run_in_process(tmp_path_factory.mktemp("here"), SETTINGS)


@pytest.fixture(scope="module")
def interrupted(
    flink: Flink, here: Place, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Place, dict[str, Ended]]:
    """The same on the cluster, four times ended early by what the names say."""
    folder = tmp_path_factory.mktemp("there")
    root, push = folder / "root", folder / "push"
    place = replace(here, root=root, push=push, settings=LOSES_A_WORKER)
    said = {}
    # The pool last: its workers outlive it, so this stage ends well and the next one fails.
    for name in (SIGNAL, task_manager(0), JOB_SERVER, worker_pool(0)):
        command = place.start(*on(flink, EXTERNAL))
        command.until("StatisticsGen running")
        flink.until(lambda: flink.running() != [])
        (job,) = flink.running()
        if name != SIGNAL:
            flink.kill(name)
        if name == worker_pool(0):  # which the stage would wait for
            flink.until(lambda: restarts(place) != "")
        code = command.end(None if name in (task_manager(0), JOB_SERVER) else signal.SIGTERM)
        if name != SIGNAL:
            flink.start_again(name)
        flink.until_ready()
        flink.until(lambda: flink.running() == [])
        state = flink.get(f"jobs/{job}")["state"]
        said[name] = Ended(code, place.records()[0]["reason"] + restarts(place), state)
    return place, said


@pytest.fixture(scope="module")
def there(flink: Flink, interrupted: tuple[Place, dict[str, Ended]]) -> Place:
    """The run that continues after all that."""
    place, _ = interrupted
    done = place.run(*on(flink, EXTERNAL))
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture(scope="module")
def materialised(flink: Flink, there: Place, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A run on the cluster whose Transform writes examples, which its Trainer reads."""
    folder = tmp_path_factory.mktemp("materialised")
    root, push = folder / "root", folder / "push"
    place = replace(there, root=root, push=push, settings=MATERIALISED)
    done = place.run(*on(flink, EXTERNAL))
    assert done.returncode == 0, done.stderr
    return place


class Ended(NamedTuple):
    code: int
    said: str
    job: str


def restarts(place: Place, run: int = -1) -> str:
    """What one of its runs, the newest, logs of stages that it starts again."""
    logs = sorted(place.root.glob("logs/*"))[run].glob("*.log")
    lines = [line for log in logs for line in log.read_text(errors="replace").splitlines()]
    return "\n".join(line for line in lines if "; the stage restarts" in line)


def on(flink: Flink, workers: tuple[str, ...]) -> list[str]:
    options = [f"--job_endpoint={flink.job_endpoint}", f"--flink_master={flink.master}", *workers]
    words = ["--beam-runner=flink", *(f"--beam-option={option}" for option in options)]
    return [*words, f"--set=beam.parallelism={WORKERS}"]


def artifact(place: Place, pattern: str) -> list[Path]:
    found = sorted((place.root / "artifacts").glob(pattern))
    assert found, f"no {pattern} below {place.root}"
    return found


def test_metrics_decision_and_weights_are_those_of_a_run_in_this_process(
    here: Place, there: Place
) -> None:
    ours, theirs = (
        json.loads(only(p, "Evaluator/evaluation/*/metrics.json")) for p in (here, there)
    )
    assert theirs == ours
    ours, theirs = (
        json.loads(only(p, "Evaluator/blessing/*/decision.json")) for p in (here, there)
    )
    assert (theirs["blessed"], theirs["checks"]) == (ours["blessed"], ours["checks"])
    assert there.outcome() == here.outcome()


def only(place: Place, pattern: str) -> bytes:
    (found,) = artifact(place, pattern)
    return found.read_bytes()


def test_statistics_are_those_of_a_run_in_this_process(here: Place, there: Place) -> None:
    for split in ("train", "eval"):
        pattern = f"StatisticsGen/statistics/*/Split-{split}/FeatureStats.pb"
        # The newest: an interrupted one leaves its folder to the garbage collection.
        ours, theirs = (statistics(newest(place, pattern)) for place in (here, there))
        assert ours.keys() == theirs.keys()
        for name, feature in ours.items():
            assert theirs[name].type == feature.type
            mine, other = numbers(feature), numbers(theirs[name])
            # Sketches of quantiles depend on the order of the records.
            np.testing.assert_allclose(other, mine, rtol=1e-6, err_msg=f"{split} {name}")


def newest(place: Place, pattern: str) -> Path:
    return max(artifact(place, pattern), key=lambda path: int(path.parts[-3]))


def statistics(path: Path) -> dict[str, Any]:
    content = statistics_pb2.DatasetFeatureStatisticsList.FromString(path.read_bytes())
    return {str(f.path.step): f for f in content.datasets[0].features}


def numbers(feature: Any) -> list[float]:
    one = feature.num_stats if feature.HasField("num_stats") else feature.string_stats
    common = one.common_stats
    found = [common.num_non_missing, common.min_num_values, common.max_num_values]
    found += [common.avg_num_values, common.tot_num_values]
    if feature.HasField("num_stats"):
        return [*found, one.mean, one.std_dev, one.min, one.max, one.num_zeros]
    return [*found, one.unique]


def test_transformed_examples_are_those_of_a_run_in_this_process(
    here: Place, materialised: Place, tmp_path: Path
) -> None:
    alone = replace(here, root=tmp_path / "root", push=tmp_path / "push", settings=MATERIALISED)
    assert alone.run().returncode == 0
    for split in ("train", "eval"):
        pattern = f"Transform/transformed_examples/*/Split-{split}/*"
        ours, theirs = (transformed(artifact(place, pattern)) for place in (alone, materialised))
        assert ours.keys() == theirs.keys()
        for name, vector in ours.items():
            np.testing.assert_allclose(theirs[name], vector, rtol=1e-6)


def transformed(paths: list[Path]) -> dict[bytes, np.ndarray]:
    found = {}
    for record in tf.data.TFRecordDataset(list(map(str, paths)), "GZIP").as_numpy_iterator():
        feature = tf.train.Example.FromString(record).features.feature
        found[feature["id"].bytes_list.value[0]] = np.array(feature["features"].float_list.value)
    return found


def test_every_stage_that_reads_records_is_shared_by_the_workers(
    flink: Flink, materialised: Place
) -> None:
    """By what Flink counts for each of its subtasks."""
    del materialised
    whole = [job for job in flink.jobs() if flink.get(f"jobs/{job}")["state"] == "FINISHED"]
    found = [share for share in flink.shares(whole) if share.records]
    shares = [share for share in found if share.records >= 500]
    assert len({share.job for share in shares}) >= 2  # ExampleGen, Transform
    # What there are fewer of: shards that are verified, pieces of them whose statistics are taken,
    # ranges of records that are scored.
    for work in ("Verify", "{TFXIORead[train]", "Score"):
        of_work = [share for share in found if work in share.stage]
        assert of_work, "\n".join(map(str, found))
        shares += of_work
    uneven = [share for share in shares if share.most > BALANCED]
    assert not uneven, "\n".join(map(str, uneven))


def test_predictions_are_the_bytes_of_a_run_in_this_process(
    flink: Flink, here: Place, tmp_path: Path
) -> None:
    model = ["--model", here.push, "--data", here.data / "validate*"]
    for name, words in (("here", []), ("there", on(flink, PROCESS)[:-1])):
        out = ["--out", tmp_path / f"{name}.csv", "--format", "video"]
        done = yt8m("predict", *model, *out, *words)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "there.csv").read_bytes() == (tmp_path / "here.csv").read_bytes()


def test_a_signal_cancels_the_engines_job(interrupted: tuple[Place, dict[str, Ended]]) -> None:
    ended = interrupted[1][SIGNAL]
    assert (ended.code, ended.job) == (143, "CANCELED"), ended.said


@pytest.mark.parametrize(
    ("name", "code", "said"),
    [
        # Flink gives its address alone where a task was about to begin there.
        (task_manager(0), 1, r"task manager (tm-0|[\d.]+:\d+) was lost"),
        (JOB_SERVER, 1, re.escape(f"the job server {Flink.job_endpoint} was lost")),
        (
            worker_pool(0),
            143,
            re.escape(f"no worker pool answers the engine's workers (EXTERNAL {POOL})"),
        ),
    ],
)
def test_a_program_of_the_engine_that_dies_is_named(
    interrupted: tuple[Place, dict[str, Ended]], name: str, code: int, said: str
) -> None:
    ended = interrupted[1][name]
    assert ended.code == code
    assert re.search(said, ended.said)


def test_a_stage_whose_worker_is_killed_is_started_once_more(there: Place) -> None:
    """In ExampleGen of the first run, which went on to StatisticsGen."""
    assert "a Python worker of the engine was lost" in restarts(there, run=0)


def test_what_was_done_before_a_fault_is_not_done_again(there: Place) -> None:
    assert "ExampleGen" not in there.executed()


def test_without_a_common_disk_a_run_is_that_of_this_process(
    flink: Flink, here: Place, tmp_path: Path
) -> None:
    """Interrupted once; records and root are in an object store."""
    data, root = f"{flink.bucket}/data", f"{flink.bucket}/root"
    storage.copy_tree(str(here.data), data)
    places = ["--data", data, "--root", root, "--push", str(tmp_path / "push")]
    words = ["run", "smoke", *places, *(f"--set={one}" for one in SETTINGS), *on(flink, EXTERNAL)]
    env = environment(XDG_STATE_HOME=str(tmp_path / "state"))
    with flink.without_common_disk():
        assert tmp_path.is_relative_to(tempfile.gettempdir())
        assert 0 not in flink.run_in_pods("test", "-e", str(tmp_path))
        first = Command(*words, env=env)
        first.until("StatisticsGen running")
        flink.until(lambda: flink.running() != [])
        assert first.end(signal.SIGTERM) == 143
        flink.until(lambda: flink.running() == [])
        done = yt8m(*words, env=env)
        assert done.returncode == 0, done.stderr
    names = sorted(storage.list_directories(f"{root}/runs"))
    ended, newest = (json.loads(storage.read_text(f"{root}/runs/{n}/run.json")) for n in names)
    assert ended["verdict"] == "terminated"
    assert "ExampleGen" in {n["name"] for n in newest["nodes"] if n["state"] == "cached"}
    expected, (alone,) = here.outcome(), here.records()
    weights = sorted((tmp_path / "push").glob(f"{newest['version']}/variables/variables.data*"))
    assert newest["metrics"] == expected["metrics"]
    assert [path.read_bytes() for path in weights] == expected["weights"]
    for field in ("verdict", "version", "records", "left_out"):
        assert newest[field] == alone[field]
