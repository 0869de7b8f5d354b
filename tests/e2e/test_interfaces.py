"""TensorBoard and MLflow in a real browser, on a run: opened as docs/running.md opens them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import browser as browser  # a fixture
from docs_blocks import ROOT
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.support.ui import WebDriverWait

pytestmark = [pytest.mark.slow, pytest.mark.e2e, pytest.mark.needs("chromium", "chromedriver")]
BIN = Path(sys.executable).parent
PATIENCE_S = 120
CURVES = ("checkpoint/duration_s", "components/Trainer", "evaluation", "train")
SIZE = ("--train", "200", "--eval", "100", "--classes", "20", "--shards", "2")
PLACES = ("--data", "data", "--root", "run", "--push", "models")
SETTINGS = ("features.num_classes=20", "trainer.max_steps=20", "gate.gap_threshold=0.01")


def yt8m(*words: str, cwd: Path) -> str:
    done = subprocess.run([BIN / "yt8m", *words], cwd=cwd, check=True, capture_output=True)
    return done.stdout.decode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with one run of the preset `smoke`, in `run`."""
    folder = tmp_path_factory.mktemp("runs")
    yt8m("data", "generate", "--quiet", "--level", "video", "--out", "data", *SIZE, cwd=folder)
    settings = (word for setting in SETTINGS for word in ("--set", setting))
    yt8m("run", "smoke", *PLACES, *settings, cwd=folder)
    return folder


@contextlib.contextmanager
def served(command: list[str | Path], log: Path, **environ: str) -> Iterator[None]:
    """The server of `command` while the block runs."""
    with (
        log.open("wb") as file,
        subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **environ},
            stdout=file,
            stderr=file,
            start_new_session=True,
        ) as server,
    ):
        try:
            yield
        finally:
            os.killpg(server.pid, signal.SIGTERM)


def free_address() -> tuple[str, int]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    return f"http://127.0.0.1:{port}/", port


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address):
            return True
    except urllib.error.URLError:  # the server has not begun to listen
        return False


def shows(browser: WebDriver, address: str, *words: str) -> None:
    """The page at `address` shows each of `words`, as soon as it has loaded its data."""
    deadline = time.monotonic() + PATIENCE_S
    while not answers(address):
        assert time.monotonic() < deadline, address
        time.sleep(0.2)
    browser.get(address)

    def missing(driver: WebDriver) -> list[str]:
        text = driver.execute_script("return document.body ? document.body.innerText : ''")
        return [word for word in words if word not in text]

    WebDriverWait(browser, PATIENCE_S).until_not(missing, f"{address} lacks some of {words}")


def test_tensorboard_shows_the_curves_of_a_run(browser: Any, folder: Path, tmp_path: Path) -> None:
    address, port = free_address()
    logs = folder / "run" / "artifacts" / "Trainer" / "model_run"
    (run,) = (path.name for path in logs.iterdir())
    command = [BIN / "tensorboard", "--logdir", logs, "--host", "127.0.0.1", "--port", str(port)]
    with served(command, tmp_path / "log"):
        shows(browser, address, f"{run}/train", f"{run}/eval", "examples_per_s", "gap", "loss")
        cards = "return document.querySelectorAll('card-view').length"
        assert browser.execute_script(cards) > 3


@pytest.mark.needs("mlflow", "mlflow-server")
def test_mlflows_interface_shows_an_exported_run(
    browser: Any, folder: Path, tmp_path: Path
) -> None:
    """`make mlflow-ui`: the run in its experiment, its setting, its metric and its curve."""
    store = f"sqlite:///{folder}/mlflow.db"
    exported = yt8m("history", "--root", "run", "--mlflow", store, "--json", cwd=folder)
    (run,) = json.loads(exported)["runs"]
    address, port = free_address()
    command = ["make", "mlflow-ui", f"STORE={store}", f"MLFLOW_PORT={port}"]
    with served([*command], tmp_path / "log"):
        runs = f"{address}#/experiments/1/runs"
        shows(browser, f"{runs}?workflowType=machine_learning", "smoke", run["run_id"])
        shows(browser, f"{runs}/{run['mlflow_run']}", "trainer.max_steps", "gap_lower", "20")
        shows(browser, f"{runs}/{run['mlflow_run']}/model-metrics", *CURVES)
