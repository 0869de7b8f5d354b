"""Processes that disagree, in every way the table in docs/distributed-training.md lists.

Each must end within `peer_timeout_s` and ten seconds, with code 2 or 1, and export nothing.
"""

import dataclasses
import json
import random
import re
import shutil
import time

import pytest
from checkpoint_values import change_value
from cluster import Group, run
from records import make_dataset
from training import make_job

pytestmark = pytest.mark.distributed

TIMEOUT_S = 4
# A process begins with everything imported; reading, TensorFlow's start and its end come on top.
ALLOWED_S = TIMEOUT_S + 10


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("data"), classes=20)


@pytest.fixture(scope="module")
def other_data(tmp_path_factory):
    """Files of the same names with as many records, but other ones."""
    return make_dataset(tmp_path_factory.mktemp("other"), classes=20, seed=9)


class Disagreement:
    """One training whose processes are about to be made to disagree."""

    def __init__(self, root, data, other_data, *, chance):
        self.root, self.other_data, self.chance = root, other_data, chance
        distribution = {"peer_timeout_s": TIMEOUT_S}
        self.job = make_job(root, data=data, distribution=distribution)
        self.processes = chance.choice(["chief=1,worker=1", "worker=2", "chief=1,worker=2"])
        self.jobs, self.configs, self.first = {}, {}, ""
        self.group = Group(self.job, self.processes, root / "logs")
        self.victim = list(self.group.configs)[-1]

    def _changed(self, **values):
        self.jobs[self.victim] = dataclasses.replace(self.job, **values)

    def _config(self, change):
        config = json.loads(self.group.configs[self.victim])
        change(config["cluster"])
        self.configs[self.victim] = json.dumps(config)

    def cluster(self):
        """The last process knows another cluster."""
        if self.chance.random() < 0.5:
            self._config(lambda cluster: cluster["worker"].append("127.0.0.1:9"))
        else:
            first = next(iter(json.loads(self.group.configs[self.victim])["cluster"]))
            self._config(
                lambda cluster: cluster.update({first: ["127.0.0.1:9", *cluster[first][1:]]})
            )
        return {1, 2}

    def settings(self):
        trainer = dataclasses.replace(self.job.trainer, seed=self.chance.randrange(1, 1000))
        self._changed(trainer=trainer)
        return {2}

    def records(self):
        """The last process has other records under the same names."""
        other = make_job(self.root / "other", data=self.other_data)
        self._changed(manifest=other.manifest)
        return {2}

    def directory(self):
        """The last process has a directory of its own, without the checkpoints of the others."""
        return self._resumed_elsewhere(copied=False)

    def step(self):
        """The last process has a copy of an older checkpoint."""
        return self._resumed_elsewhere(copied=True)

    def weights(self):
        """The last process has a copy of the checkpoint, in which one number is another."""
        return self._changed_copy("network/", self._another_number)

    def optimizer(self):
        return self._changed_copy("optimizer/_variables/", self._another_number)

    def validations(self):
        """The last process knows of a validation that the others do not."""

        def add(text):
            state = json.loads(text)
            return json.dumps({**state, "hooks": {**state["hooks"], "plateau": ["more"]}}).encode()

        return self._changed_copy("host/", add)

    def _another_number(self, values):
        changed = values.copy()
        changed.flat[self.chance.randrange(changed.size)] += 1
        return changed

    def _changed_copy(self, key, change):
        trainer = dataclasses.replace(self.job.trainer, max_steps=self.chance.randrange(1, 5))
        job = dataclasses.replace(self.job, trainer=trainer, export_dir=str(self.root / "before"))
        run(job, "", self.root / "first")
        own = self.root / "own"
        shutil.copytree(self.job.checkpoint_dir, own)
        change_value(f"{own}/ckpt-{trainer.max_steps}", key, change)
        self._changed(checkpoint_dir=str(own))
        return {2}

    def _resumed_elsewhere(self, *, copied):
        trainer = dataclasses.replace(self.job.trainer, max_steps=3)
        job = dataclasses.replace(self.job, trainer=trainer, export_dir=str(self.root / "before"))
        own = self.root / "own"
        if copied:
            run(dataclasses.replace(job, checkpoint_dir=str(own)), "", self.root / "first")
            trainer = dataclasses.replace(trainer, max_steps=2)
        run(dataclasses.replace(job, trainer=trainer), "", self.root / "second")
        self._changed(checkpoint_dir=str(own))
        return {2}

    def one_way(self):
        """One process cannot resolve another's address, which resolves its own."""
        names = self.chance.sample(list(self.group.configs), 2)
        addresses = [self._address(name) for name in names]
        self.first = ONE_WAY.format(own=addresses[0], deaf=addresses[1])
        return {1}

    def family(self):
        """An address of the other family, at which the process is not, or is called otherwise."""
        config = self.group.configs[self.victim]
        self.configs[self.victim] = config.replace("127.0.0.1", "[::1]")
        return {1, 2}

    def _address(self, name):
        config = json.loads(self.group.configs[name])
        return config["cluster"][config["task"]["type"]][config["task"]["index"]]

    def end(self):
        """Start all processes; how each ended, and after how long."""
        self.group = Group(
            self.job, self.processes, self.root / "logs", jobs=self.jobs, first=self.first
        ).with_configs({**self.group.configs, **self.configs})
        with self.group as group:  # which may import everything first, for all tests
            began = time.monotonic()
            codes = group.join()
        return codes, time.monotonic() - began


ONE_WAY = """
import json, os, socket
_config = json.loads(os.environ["TF_CONFIG"])
_task = _config["task"]
if _config["cluster"][_task["type"]][_task["index"]] == "{own}":
    _connect = socket.create_connection
    def _deaf(address, *args, **kwargs):
        if "%s:%d" % address[:2] == "{deaf}":
            raise socket.gaierror("Name or service not known")
        return _connect(address, *args, **kwargs)
    socket.create_connection = _deaf
"""
RESTORED = ["directory", "step", "weights", "optimizer", "validations"]
CLASSES = ["cluster", "settings", "records", *RESTORED, "one_way", "family"]


def disagree(root, data, other_data, kind, *, seed):
    """The processes' logs, after they ended as the class asks for."""
    disagreement = Disagreement(root, data, other_data, chance=random.Random(seed))
    expected = getattr(disagreement, kind)()
    codes, took = disagreement.end()
    assert set(codes.values()) <= expected, (kind, seed, codes)
    assert took < ALLOWED_S, (kind, seed, took)
    assert not (root / "export").exists()
    return {name: disagreement.group.log(name) for name in codes}


def test_other_records_of_the_same_names_are_found_out_before_a_step(tmp_path, data, other_data):
    logs = disagree(tmp_path, data, other_data, "records", seed=2)
    assert all("records.train = " in log for log in logs.values())


def test_a_process_that_restores_from_elsewhere_is_found_out(tmp_path, data, other_data):
    logs = disagree(tmp_path, data, other_data, "directory", seed=2)
    for log in logs.values():
        assert "do not begin with the same state" in log
        assert "step 3, examples 24" in log
        assert f"({tmp_path / 'own'})" in log


def test_an_address_that_one_side_alone_resolves_ends_both(tmp_path, data, other_data):
    logs = disagree(tmp_path, data, other_data, "one_way", seed=2)
    assert any("is not reachable" in log for log in logs.values())
    reached = r"answer(s, but does|ed, but did) not reach this process at"
    assert any(re.search(reached, log) for log in logs.values())


@pytest.mark.slow
def test_processes_train_over_ipv6(tmp_path, data):
    group = Group(make_job(tmp_path, data=data), "chief=1,worker=1", tmp_path / "logs")
    configs = {n: text.replace("127.0.0.1", "[::1]") for n, text in group.configs.items()}
    with group.with_configs(configs):
        assert set(group.join().values()) == {0}


@pytest.mark.many_runs
@pytest.mark.parametrize("seed", range(200))
def test_every_disagreement_ends_all_processes_in_time(tmp_path, data, other_data, seed):
    disagree(tmp_path, data, other_data, CLASSES[seed % len(CLASSES)], seed=seed)
