"""A real Chromium without a window, that talks to nobody."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

INSTALL = (
    "no Chromium here: install it, e.g. `apt-get install chromium chromium-driver`; "
    "the report's tests need a real browser"
)
_ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--hide-scrollbars",
)


@contextmanager
def chromium(profile: Path) -> Iterator[Any]:
    """A selenium driver; console and network events are logged."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    binary, driver_path = find_chromium()
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in (*_ARGUMENTS, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(driver_path))
    try:
        yield driver
    finally:
        driver.quit()


def find_chromium() -> tuple[str, str]:
    """Browser and driver, or an error that says what to install."""
    names = ("chromium", "chromium-browser", "google-chrome")
    binary = next(filter(None, map(shutil.which, names)), None)
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        raise RuntimeError(INSTALL)
    return binary, driver
