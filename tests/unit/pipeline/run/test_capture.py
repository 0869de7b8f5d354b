"""All that a run prints goes to files."""

import os
import subprocess
import sys

CAPTURED = """
import os, sys, logging
from pathlib import Path
from yt8m.pipeline.run.capture import Capture
folder = Path(sys.argv[1])
print("before")
with Capture(folder / "a.log") as capture:
    print("printed")
    os.write(2, b"from C\\n")
    capture.to(folder / "b.log")
    logging.getLogger("x").info("logged")
    print("shown", file=capture.terminal)
print("after")
"""


def test_all_that_a_run_prints_goes_to_the_log_of_its_component(tmp_path):
    command = [sys.executable, "-c", CAPTURED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "before\nafter\n"
    assert done.stderr == "shown\n"
    assert sorted((tmp_path / "a.log").read_text().splitlines()) == ["from C", "printed"]
    assert "INFO x: logged" in (tmp_path / "b.log").read_text()


CONNECTED = """
import os, sys, logging
from pathlib import Path
from absl import logging as absl_logging  # as TFX's runners
from yt8m.pipeline.config import MetadataConfig, MySqlConfig
from yt8m.pipeline.metadata import connection_config, secrets
from yt8m.pipeline.run.capture import Capture
config = MetadataConfig(mysql=MySqlConfig(host="h", database="d", user="u"))
with Capture(Path(sys.argv[1]) / "runner.log", secrets=secrets(config)):
    connection = connection_config(config, Path("unused"))
    absl_logging.info("Using connection config:\\n %s", connection)
    try:
        raise ValueError(f"no access with {os.environ['YT8M_METADATA_PASSWORD']}")
    except ValueError:
        logging.exception("it failed")
"""


def test_the_password_of_the_metadata_server_is_in_no_log(tmp_path):
    for password in ("plain", 'with "quotes"', "schlüssel", "schl€ssel"):
        environ = {**os.environ, "YT8M_METADATA_PASSWORD": password}
        command = [sys.executable, "-c", CONNECTED, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, env=environ, check=True)
        log = (tmp_path / "runner.log").read_text()
        assert 'password: "***"' in log
        assert "no access with ***" in log
        for part in ("plain", "quotes", "schl"):
            assert part not in log + done.stdout + done.stderr
