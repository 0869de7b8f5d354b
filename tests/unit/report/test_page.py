"""The page is well-formed, says what the report holds, and needs nothing from outside."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import html
import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest
from run_reports import estimate, failed_report, full_report

from yt8m.components.artifacts.decision import Decision
from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.infra_check import InfraCheckResult, Serving, ServingCheck
from yt8m.components.artifacts.push_outcome import PushOutcome
from yt8m.components.artifacts.tuner_results import TrialResult
from yt8m.components.artifacts.version_record import VersionRecord
from yt8m.components.metrics.catalogue import METRICS
from yt8m.components.report.charts import (
    Axis,
    Series,
    interval_chart,
    line_chart,
)
from yt8m.components.report.collect_run import run_outcome
from yt8m.components.report.markup import element
from yt8m.components.report.model import Curve, MetricRow, Outcome, RunOutcome, RunReport
from yt8m.components.report.page import SECTIONS, render_report
from yt8m.components.report.plots import labels
from yt8m.components.report.rendering import TEMPLATES
from yt8m.components.report.summary import summary_json

EVERY = {"full": full_report(), "failed": failed_report(), "empty": RunReport()}
VOID = {"meta", "link"}
# Keys of a report that are no text of the run's.
OUR_NAMES = {*(metric.name for metric in METRICS), "learning_rate", "candidate", "baseline"}
HIDDEN = "\x00\x1b[2J\u202e\u2066\x9b"
ATTACK = f""""'><script>alert(1)</script><b onclick='x'>{{{{ 7 * 7 }}}}{HIDDEN}"""


class Outline(HTMLParser):
    """Checks nesting, and gathers texts and ids."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, ...]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.tags.append(tag)
        self.attributes.append(tuple(values))
        self.ids += [values["id"] or ""] if "id" in values else []
        self.links += [values["href"] or ""] if tag == "a" else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("div", "span", "p", "svg")

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def outline(page: str) -> Outline:
    found = Outline()
    found.feed(page)
    found.close()
    assert found.open == []
    return found


@pytest.mark.parametrize("report", EVERY.values(), ids=EVERY)
def test_a_page_is_well_formed_and_its_links_lead_somewhere(report: RunReport) -> None:
    found = outline(render_report(report))
    assert len(set(found.ids)) == len(found.ids)
    assert {link.removeprefix("#") for link in found.links} <= set(found.ids)


@pytest.mark.parametrize(
    ("change", "tone", "headline"),
    [
        (0.004, "good", "Pushed as version 3"),
        (0.0, "good", "Pushed as version 3"),
        (-0.004, "warn", "Pushed as version 3, below its baseline"),
        (None, "good", "Pushed as version 3"),
    ],
)
def test_a_push_below_its_baseline_is_amber_and_says_so(
    change: float | None, tone: str, headline: str
) -> None:
    decision = Decision(blessed=True, reason="", differences={"gap": Estimate(value=change)})
    record = VersionRecord(version=3)
    pushed = run_outcome(None, PushOutcome(pushed=True, record=record), decision, None)
    page = render_report(RunReport(verdict=pushed, decision=decision))
    assert re.search(f'<div class="verdict {tone}">\\s*<h1>{headline}</h1>', page)


def test_a_push_that_was_not_compared_with_the_version_in_service_is_amber() -> None:
    decision = Decision(blessed=True, reason="", not_compared=("version 2 in p: x has 1 byte",))
    record = VersionRecord(version=3)
    pushed = run_outcome(None, PushOutcome(pushed=True, record=record), decision, None)
    page = render_report(RunReport(verdict=pushed, decision=decision))
    headline = "Pushed as version 3, not compared with a damaged version"
    assert re.search(f'<div class="verdict warn">\\s*<h1>{headline}</h1>', page)


@pytest.mark.parametrize("report", EVERY.values(), ids=EVERY)
def test_a_page_names_no_address_and_runs_no_script_but_its_own(report: RunReport) -> None:
    page = render_report(report)
    assert not re.search(r"(https?:)?//[a-z]", page)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in html.unescape(page)
    assert "url(" not in page
    assert "default-src 'none'" in html.unescape(page)


def test_the_verdict_and_its_reason_come_first() -> None:
    texts = [text for text in outline(render_report(full_report())).texts if text.strip()]
    body = texts[texts.index("Pushed as version 7") :]
    assert body[1].startswith("gap 0.7184 clears 0.65")
    assert "Compared with version 6." in body[2]


def test_names_from_the_data_are_text_and_never_markup() -> None:
    page = render_report(full_report())
    assert "<b>Video" not in page
    assert "&lt;b&gt;Video &amp; game&lt;/b&gt;" in page
    assert element("a", "x", href='"><script>') == '<a href="&#34;&gt;&lt;script&gt;">x</a>'


def hostile(part: Any) -> Any:
    """The same with markup behind every text that is not yt8m's own: names, reasons, keys, URIs."""
    if isinstance(part, str):
        return part + ATTACK if part and part not in OUR_NAMES and not part.isdigit() else part
    if isinstance(part, tuple | list):
        return type(part)(map(hostile, part))
    if isinstance(part, dict):
        return {hostile(key): hostile(value) for key, value in part.items()}
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        return type(part)(**{name: hostile(value) for name, value in vars(part).items()})
    return part


def test_no_text_of_a_run_becomes_markup_wherever_it_stands() -> None:
    report = dataclasses.replace(
        full_report(),
        trials=(TrialResult(trial_id="t1", score=0.5, values={"trainer.model": "mlp"}),),
        infra_check=InfraCheckResult(
            blessed=True,
            reason="served",
            serving=Serving(load_s=1.0, first_answer_s=1.0, tensorflow="2.16"),
            checks=(ServingCheck(name="max_memory_mb", limit=9, observed=8, passed=True),),
        ),
        problems=("a problem",),
    )
    metrics = {**report.overall.candidate, "own metric": estimate(0.5)}
    decision = Decision(blessed=True, reason="", metrics=metrics)
    report = dataclasses.replace(report, decision=decision)
    page = render_report(hostile(report))
    plain, attacked = outline(render_report(report)), outline(page)
    assert attacked.tags == plain.tags
    assert attacked.attributes == plain.attributes
    assert page.count("<script") == 1
    assert page.count("{{ 7 * 7 }}") > 300
    assert not set(HIDDEN) - set("[2J") & set(page)


@pytest.mark.parametrize(
    ("verdict", "says"),
    [
        (RunOutcome(outcome=Outcome.REJECTED, reason="gap 0.5 < 0.7"), "Rejected by the gate"),
        (RunOutcome(outcome=Outcome.STOPPED, reason="no labels"), "did not pass validation"),
        (RunOutcome(outcome=Outcome.FAILED, failed_component="Trainer"), "Failed in Trainer"),
        (RunOutcome(), "Run incomplete"),
    ],
)
def test_each_outcome_is_said_with_its_reason(verdict: RunOutcome, says: str) -> None:
    found = outline(render_report(RunReport(verdict=verdict)))
    assert any(says in text for text in found.texts)
    assert verdict.reason in "".join(found.texts)


def test_undefined_metrics_are_shown_as_such() -> None:
    undefined = {"gap": Estimate()}
    decision = Decision(
        blessed=False, reason="", metrics=undefined, baseline_metrics=undefined, videos=0
    )
    page = render_report(RunReport(decision=decision))
    assert not re.search(r"\bnan\b", page, re.IGNORECASE)
    assert "–" in "".join(outline(page).texts)


def test_decisions_are_shown_as_they_were_asked_and_as_they_came_out() -> None:
    texts = " ".join(" ".join(outline(render_report(full_report())).texts).split())
    assert "Decisions at a precision" in texts
    assert "0.50 0.497 0.719 91,234 9" in texts
    assert "0.95 – 0.000 0 0" in texts


def test_what_is_worse_than_the_baseline_is_marked_as_down_and_loss_the_other_way() -> None:
    names = ("gap", "loss")
    decision = Decision(
        blessed=True,
        reason="",
        videos=1,
        metrics=dict.fromkeys(names, estimate(1)),
        baseline_metrics=dict.fromkeys(names, estimate(2)),
        differences=dict.fromkeys(names, Estimate(value=-1)),
    )
    page = render_report(RunReport(decision=decision))
    tiles = page.split('class="tile"')[1:]
    assert 'class="down"' in tiles[0]
    assert 'class="up"' in tiles[1]


def drawing(figure: str) -> ElementTree.Element:
    """The plot itself; the ones before it are swatches of the legend."""
    return ElementTree.fromstring(re.findall(r"<svg .*?</svg>", figure)[-1])


def points_of(figure: str) -> list[tuple[float, float]]:
    line = drawing(figure).find(".//polyline")
    assert line is not None
    return [tuple(map(float, pair.split(","))) for pair in line.attrib["points"].split()]


def test_a_line_lies_where_its_values_are() -> None:
    curve = Curve(x=(0.0, 0.5, 1.0), y=(0.0, 1.0, 0.5))
    series = [Series(name="one", style="candidate", curve=curve)]
    unit = {"low": 0.0, "high": 1.0}
    found = points_of(line_chart("t", series, x=Axis(label="x", **unit), y=Axis(label="y", **unit)))
    (x0, y0), (x1, y1), (x2, y2) = found
    assert x1 - x0 == pytest.approx(x2 - x1)
    assert y1 < y2 < y0  # upwards is smaller
    assert y2 - y1 == pytest.approx((y0 - y1) / 2)


def test_what_cannot_be_drawn_is_left_out() -> None:
    nan, inf = float("nan"), float("inf")
    curve = Curve(x=(0.0, 1.0, 2.0, 3.0), y=(1.0, nan, inf, 2.0))
    series = [Series(name="one", style="candidate", curve=curve)]
    figure = line_chart("t", series, x=Axis(label="x"), y=Axis(label="y"))
    assert len(points_of(figure)) == 2
    log = line_chart("t", series, x=Axis(label="x", log=True), y=Axis(label="y", log=True))
    assert "polyline" not in log  # one point is left: a mark
    assert 'class="mark candidate"' in log


def test_a_long_curve_is_thinned_and_keeps_its_spike() -> None:
    values = [1.0] * 100_000
    values[54_321] = 9.0
    curve = Curve(x=tuple(map(float, range(100_000))), y=tuple(values))
    series = [Series(name="one", style="candidate", curve=curve)]
    found = points_of(line_chart("t", series, x=Axis(label="x"), y=Axis(label="y")))
    assert len(found) <= 400
    top = min(y for _, y in found)
    assert sum(y == top for _, y in found) == 1


def test_labels_by_class_are_drawn_by_their_magnitude() -> None:
    (_, y0), (_, y1), (_, y2) = points_of(labels(Curve(x=(0.0, 1.0, 2.0), y=(1000.0, 10.0, 1.0))))
    assert y1 - y0 == pytest.approx(2 * (y2 - y1), abs=0.2)  # two decades beside one


def test_plots_are_described_for_those_who_do_not_see_them() -> None:
    figure = interval_chart("GAP by slice", [MetricRow("few", estimate(0.5))])
    svg = drawing(figure)
    assert svg.attrib["role"] == "img"
    assert "few 0.5000" in svg.attrib["aria-label"]


def test_the_summary_refuses_nan() -> None:
    report = dataclasses.replace(full_report(), configuration={"x": float("nan")})
    with pytest.raises(ValueError, match="not JSON compliant"):
        summary_json(report)


def test_every_section_has_its_template_and_every_template_its_section() -> None:
    assert {path.stem for path in (TEMPLATES / "sections").iterdir()} == set(SECTIONS)


def test_every_section_of_a_page_has_its_name_as_id_and_a_link() -> None:
    found = outline(render_report(full_report()))
    shown = [name for name in SECTIONS if name not in ("tuner", "serving")]
    assert found.links == [f"#{name}" for name in shown]
    assert found.ids == shown


def test_what_the_reader_of_a_failure_looks_for_comes_first() -> None:
    assert outline(render_report(failed_report())).ids[0] == "components"
