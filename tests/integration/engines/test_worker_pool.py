"""Pools of Python workers, in a process that has not used gRPC before.

The threads of gRPC stay in the network in which they began, and whatever ran before may have left
some in the machine's own: a pool in a network with a loopback alone is not there for them.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.needs("network namespaces")
def test_pools_as_an_engine_and_as_a_run_that_begins_see_them():
    tests = Path(__file__).with_name("worker_pools.py")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests)],
        env={name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "12 passed" in done.stdout
