"""Processors of one cluster differ: what they multiply in must not."""

import re

import pytest
from cluster import Group
from training import make_job

pytestmark = pytest.mark.distributed

# What each process reads of its processor, by its role.
OTHER_PROCESSOR = """
import json, os, pathlib
task = json.loads(os.environ.get("TF_CONFIG") or "{}").get("task", {})
read_text = pathlib.Path.read_text
def read(path, *args, **kwargs):
    if str(path) != "/proc/cpuinfo":
        return read_text(path, *args, **kwargs)
    return "flags : sse" + (" avx512_bf16" if task.get("type") == os.environ["BF16_ROLE"] else "")
pathlib.Path.read_text = read
"""


@pytest.mark.slow
@pytest.mark.parametrize(("able", "expected"), [("worker", "float32"), ("chief", "bfloat16")])
def test_under_auto_every_process_takes_the_chiefs_precision(tmp_path, monkeypatch, able, expected):
    monkeypatch.setenv("BF16_ROLE", able)
    job = make_job(tmp_path, max_steps=2, precision="auto")
    with Group(job, "chief=1,worker=1", tmp_path / "p", first=OTHER_PROCESSOR) as group:
        assert set(group.join().values()) == {0}
        found = {
            name: re.findall(r"replicas, on CPU:0, (float32|bfloat16), step", group.log(name))
            for name in group.configs
        }
    assert found == {"chief 0": [expected], "worker 0": [expected]}
