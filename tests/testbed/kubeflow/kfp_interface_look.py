"""What a person sees of a run in Kubeflow's interface, by a real browser."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.common.by import By

_LIMIT_S, _QUIET_S = 60.0, 2.0
# By the artifact: the words that its page has, and the elements that are drawn.
SHOWN = {
    "ui_metrics": (("Scalar Metrics", "gap", "hit_at_1"), "table"),
    "ui_verdict": (("Blessed", "clears every threshold"), "pre"),
    "ui_roc_curve": (("ROC Curve", "fpr", "tpr"), "svg.recharts-surface path"),
    "ui_outcome": (("Pushed as version 1",), "h1, h2"),
    "ui_report": (("Static HTML",), "iframe"),
}


def look_at_runs(browser: Any, url: str, name: str) -> None:
    """The list has runs of this name."""
    browser.get(f"{url}/#/runs")
    _until(browser, lambda text: "Run name" in text and name in text)


def look_at_run(browser: Any, url: str, run_id: str) -> None:
    """The graph has its steps, each `ui_` artifact a page, and a step its log."""
    for artifact, (words, drawn) in SHOWN.items():
        _open(browser, url, run_id, artifact)
        _until(browser, lambda text: "Artifact URI" in text)
        _click(browser, "Visualization")
        _until(browser, lambda text, words=words: all(word in text for word in words))
        assert browser.find_elements(By.CSS_SELECTOR, drawn), artifact
    browser.switch_to.frame(browser.find_element(By.CSS_SELECTOR, "iframe"))
    _until(browser, lambda text: "Pushed as version 1" in text and "Gate thresholds" in text)
    browser.switch_to.default_content()
    _open(browser, url, run_id, "Evaluator")
    _click(browser, "Logs")
    _until(browser, lambda text: "publish success" in text)


def _open(browser: Any, url: str, run_id: str, node: str) -> None:
    """The side panel of a node of the run's graph."""
    browser.get("about:blank")  # the address differs behind its # alone, which loads nothing anew
    browser.get(f"{url}/#/runs/details/{run_id}")
    _until(browser, lambda text: node in text)
    _until_quiet(browser)  # a node shows for good what was known of it when it was clicked
    _click(browser, node)


def _until_quiet(browser: Any) -> None:
    """Until the page has asked for nothing for a while."""
    asked = "return performance.getEntriesByType('resource').length"
    before, count = -1, 0
    while before != count:
        time.sleep(_QUIET_S)
        before, count = count, browser.execute_script(asked)


def _click(browser: Any, text: str) -> None:
    def clicked(_: str) -> bool:
        browser.find_element(By.XPATH, f"//*[text()='{text}']").click()
        return True

    _until(browser, clicked)


def _until(browser: Any, is_so: Callable[[str], bool]) -> None:
    end = time.monotonic() + _LIMIT_S
    text = ""
    while True:
        try:
            text = browser.find_element(By.TAG_NAME, "body").text
            if is_so(text):
                return
        except (NoSuchElementException, StaleElementReferenceException):
            pass
        assert time.monotonic() < end, text[-3000:]
        time.sleep(0.2)
