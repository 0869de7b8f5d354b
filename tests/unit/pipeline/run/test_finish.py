"""The hook that follows a run."""

import json
import sys

import pytest

from yt8m.pipeline.config import NotifyConfig
from yt8m.pipeline.run.finish import notify


def test_the_hook_gets_the_outcome_as_json(tmp_path):
    told = tmp_path / "told"
    command = ("sh", "-c", f"read -r line && echo \"$line\" > '{told}'")
    assert notify(NotifyConfig(command=command), {"verdict": "pushed"}) == ""
    assert json.loads(told.read_text()) == {"verdict": "pushed"}


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("/no/such/program",), "No such file"),
        ((sys.executable, "-c", "import sys; sys.exit('no mail')"), "ended with 1: no mail"),
        ((sys.executable, "-c", "import time; time.sleep(60)"), "did not end within 1 s"),
    ],
)
def test_a_broken_hook_is_a_warning_and_no_more(command, said):
    assert said in notify(NotifyConfig(command=command, timeout_s=1.0), {})
