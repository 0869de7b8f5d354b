"""The page in a real Chromium: nothing fails, nothing is fetched, nothing is cut off."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from all_runs import some_runs
from browser import browser as browser  # a fixture
from run_reports import failed_report, full_report, large_report

from yt8m.components.report.model import RunReport
from yt8m.components.report.page import write_report
from yt8m.schemas.features import NUM_CLASSES

pytestmark = pytest.mark.needs("chromium", "chromedriver")
PAGES = {
    "full": full_report(),
    "failed": failed_report(),
    "empty": RunReport(),
    "large": large_report(),
}
LARGEST_BYTES = 1_500_000  # of a page of the published vocabulary
DESK, PHONE = 1280, 375

# Texts of plots that reach out of their drawing, and elements that reach out of the window.
CUT_OFF = """
const found = [];
for (const svg of document.querySelectorAll('svg')) {
  const box = svg.viewBox.baseVal;
  for (const text of svg.querySelectorAll('text')) {
    const b = text.getBBox();
    if (b.x < -0.5 || b.y < -0.5 || b.x + b.width > box.width + 0.5 ||
        b.y + b.height > box.height + 0.5)
      found.push('plot text: ' + text.textContent);
  }
}
for (const element of document.querySelectorAll('body *')) {
  const r = element.getBoundingClientRect();
  if (r.width && (r.right > arguments[0] + 0.5 || r.left < -0.5))
    found.push(element.tagName + ': ' + element.textContent.slice(0, 60));
}
return found;
"""
# Lowest contrast (WCAG) of any shown text with the background behind it.
CONTRAST = """
const parse = c => (c.match(/[0-9.]+/g) || [0, 0, 0, 0]).map(Number);
const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
  .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const behind = e => {
  for (; e; e = e.parentElement) {
    const c = parse(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c;
  }
  return [255, 255, 255];
};
let worst = [21, ''];
for (const element of document.querySelectorAll('body *')) {
  const own = [...element.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
  if (!own || !element.getClientRects().length) continue;
  const style = getComputedStyle(element);
  const ink = light(parse(element.closest('svg') ? style.fill : style.color));
  const paper = light(behind(element));
  const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
  if (ratio < worst[0]) worst = [ratio, element.textContent.slice(0, 60)];
}
return worst;
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    root = tmp_path_factory.mktemp("reports")
    written = {name: write_report(report, str(root / name)) for name, report in PAGES.items()}
    (root / "runs.html").write_text(some_runs(root / "runs"))
    return {**written, "runs": str(root / "runs.html")}


def show(browser: Any, page: str, *, width: int, scheme: str = "light", media: str = "") -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width == PHONE}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    for kind in ("browser", "performance"):
        browser.get_log(kind)  # forget what came before
    browser.get(f"file://{page}")


def requests(browser: Any) -> list[str]:
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]


@pytest.mark.parametrize("width", [DESK, 500, PHONE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", [*PAGES, "runs"])
def test_a_report_opens_whole_without_errors_and_without_the_network(
    browser: Any, pages: dict[str, str], name: str, scheme: str, width: int
) -> None:
    show(browser, pages[name], width=width, scheme=scheme)
    assert browser.get_log("browser") == []
    asked = [url for url in requests(browser) if not url.startswith("data:")]
    assert asked == [f"file://{pages[name]}"]
    assert browser.execute_script("return innerWidth") == width
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script(CUT_OFF, width) == []
    browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert browser.execute_script(CUT_OFF, width) == []
    ratio, text = browser.execute_script(CONTRAST)
    assert ratio >= 4.5, f"{text!r} has contrast {ratio:.2f}"


def background(browser: Any) -> str:
    return str(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))


def test_dark_is_dark_light_is_light_and_paper_is_white(
    browser: Any, pages: dict[str, str]
) -> None:
    found = {}
    for scheme, media in (("light", ""), ("dark", ""), ("dark", "print")):
        show(browser, pages["full"], width=DESK, scheme=scheme, media=media)
        found[scheme, media] = background(browser)
    assert found["light", ""] == found["dark", "print"] == "rgb(255, 255, 255)"
    assert found["dark", ""] != found["light", ""]


def test_paper_shows_the_tables_that_the_screen_folds_away(
    browser: Any, pages: dict[str, str]
) -> None:
    is_shown = "return document.querySelector('details table').checkVisibility()"
    shown = "return document.querySelector('details table').getBoundingClientRect().height > 20"
    show(browser, pages["full"], width=680)
    assert not browser.execute_script(is_shown)
    show(browser, pages["full"], width=680, media="print")
    assert browser.execute_script(shown)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 680
    assert browser.execute_script(CUT_OFF, 680) == []
    show(browser, pages["runs"], width=680, media="print")
    assert browser.execute_script(CUT_OFF, 680) == []


def test_a_page_of_all_published_classes_is_small_and_has_every_one_of_them(
    browser: Any, pages: dict[str, str]
) -> None:
    assert Path(pages["large"]).stat().st_size < LARGEST_BYTES
    show(browser, pages["large"], width=DESK)
    assert len(browser.execute_script(ROWS)) == NUM_CLASSES
    browser.execute_script(f"{SORTABLE}.tHead.rows[0].cells[2].querySelector('button').click()")
    assert browser.execute_script(ROWS)[0] == "Game 0"


def test_a_phone_shows_letters_that_can_be_read(browser: Any, pages: dict[str, str]) -> None:
    show(browser, pages["full"], width=PHONE)
    heights = browser.execute_script(
        "return [...document.querySelectorAll('svg text')]"
        ".map(t => t.getBoundingClientRect().height)"
    )
    assert len(heights) > 50
    assert min(heights) >= 10


def test_the_check_for_cut_off_parts_finds_some_where_there_are(
    browser: Any, pages: dict[str, str]
) -> None:
    show(browser, pages["full"], width=PHONE)
    browser.execute_script("document.querySelector('table').style.width = '900px'")
    browser.execute_script("document.querySelector('svg text').setAttribute('x', 355)")
    found = browser.execute_script(CUT_OFF, PHONE)
    assert any(text.startswith("TABLE") for text in found)
    assert any(text.startswith("plot text") for text in found)


SORTABLE = "document.querySelector('table.sortable')"
ROWS = (
    f"return [...{SORTABLE}.tBodies[0].rows]"
    ".filter(r => !r.hidden).map(r => r.cells[0].textContent)"
)


def test_long_tables_are_sorted_and_searched_by_their_reader(
    browser: Any, pages: dict[str, str]
) -> None:
    show(browser, pages["full"], width=DESK)
    browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    as_written = browser.execute_script(ROWS)
    videos = f"{SORTABLE}.tHead.rows[0].cells[2].querySelector('button').click()"
    browser.execute_script(videos)  # most first
    assert browser.execute_script(ROWS)[:2] == ["Game", "Vehicle"]
    browser.execute_script(videos)
    assert browser.execute_script(ROWS)[0] == "class 10"
    browser.execute_script(f"{SORTABLE}.tHead.rows[0].cells[5].querySelector('button').click()")
    assert browser.execute_script(ROWS)[0] == "Game"  # without a baseline a class is last
    search = "const box = document.querySelector('input[type=search]'); box.value = arguments[0];"
    browser.execute_script(search + "box.dispatchEvent(new Event('input'))", "ZELDA")
    assert len(browser.execute_script(ROWS)) == 1
    browser.execute_script(search + "box.dispatchEvent(new Event('input'))", "")
    assert sorted(browser.execute_script(ROWS)) == sorted(as_written)
    assert browser.get_log("browser") == []
