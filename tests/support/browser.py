"""A real Chromium without a window, driven by selenium: the fixture `browser`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from requirements import chromium_program, program


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A selenium driver that calls no other host; it logs the console and all requests."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = chromium_program() or ""
    off = ("gpu", "background-networking", "component-update", "default-apps", "dev-shm-usage")
    for argument in (
        *(f"disable-{part}" for part in off),
        *("headless=new", "no-sandbox", "no-first-run", "hide-scrollbars"),
        f"user-data-dir={tmp_path_factory.mktemp('profile')}",
    ):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(program("chromedriver")))
    yield driver
    driver.quit()
