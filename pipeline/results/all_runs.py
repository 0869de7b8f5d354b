"""One page over all runs of a root: their figures, curves, versions in service, gate margins."""

from __future__ import annotations

import contextlib
import datetime
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from yt8m.components import storage
from yt8m.components.artifacts.decision import Check
from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.run_record import RunRecord
from yt8m.components.metrics.catalogue import info_of
from yt8m.components.registry.versions import UnusableVersionError, list_versions, load_record
from yt8m.components.report.charts import (
    RUN_STYLES,
    Axis,
    Period,
    Series,
    interval_chart,
    line_chart,
    timeline,
)
from yt8m.components.report.collect_training import curves_of
from yt8m.components.report.model import Curve, MetricRow
from yt8m.components.report.rendering import render
from yt8m.pipeline.results.comparison import changed_settings
from yt8m.pipeline.results.model_results import ModelResults, lineage_of, results_of_run
from yt8m.pipeline.run_record import display_status
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.errors import UserError
from yt8m.schemas.metric_names import GAP, LOSS

_TEMPLATES = Path(__file__).parent / "templates"
_READ = 30  # newest runs whose files are read; the table has all
_INTERVALS = 12  # rows of a plot
_VERSIONS = 15  # newest of a registry
_SETTINGS = 4  # of one run
_LONGEST = 160  # characters of an outcome


@dataclass(frozen=True, kw_only=True)
class RunRow:
    """A row of the table."""

    name: str
    page: str  # the run's own report, as a link from the page; "" where there is none
    started: str
    seconds: float
    gap: Estimate | None
    change: float | None  # of GAP, from the baseline's
    outcome: str
    settings: Sequence[str]  # what makes the model and was other in the run before


def all_runs_page(layout: Layout, records: Sequence[RunRecord]) -> str:
    """One HTML file, in the report's style; `records` are all of the root's, the newest first."""
    lineage = lineage_of(layout, records[0]) if records else None
    results = {record.run_id: results_of_run(layout, record, lineage) for record in records[:_READ]}
    return render_runs(layout, records, results)


def render_runs(
    layout: Layout, records: Sequence[RunRecord], results: Mapping[str, ModelResults]
) -> str:
    """The page of these runs, the newest first; `results` has those whose files are read, by id."""
    page = render(
        "all_runs.html",
        folder=_TEMPLATES,
        root=layout.root,
        rows=list(_rows(layout, records, results)),
        gap=_gap_plots(records, results),
        curves=_curve_plots(results.values()),
        versions=[_version_plot(push_dir, records) for push_dir in _registries(records)],
        margins=_margin_plots(records),
        checks=[
            (_name(record), check)
            for record in records[:_READ]
            for check in record.checks
            if check.applied
        ],
    )
    return f"{page}\n"


def _rows(
    layout: Layout, records: Sequence[RunRecord], results: Mapping[str, ModelResults]
) -> Iterator[RunRow]:
    before: Iterable[RunRecord | None] = [*records[1:], None]
    for record, older in zip(records, before, strict=True):
        is_there = bool(record.report) and storage.exists(record.report)
        settings = changed_settings(older.config, record.config) if older else {}
        shown = [f"{key} = {now}" for key, (_, now) in settings.items()]
        yield RunRow(
            name=_name(record),
            page=_from_root(record.report, layout) if is_there else "",
            started=time.strftime("%Y-%m-%d %H:%M", time.localtime(record.started)),
            seconds=record.seconds,
            gap=_gap(record, results),
            change=record.differences.get(GAP),
            outcome=_outcome(record),
            settings=[*shown[:_SETTINGS], *([f"{len(shown) - _SETTINGS} more"] * (len(shown) > 4))],
        )


def _from_root(page: str, layout: Layout) -> str:
    """The link to a page from the root, where `runs.html` is."""
    if layout.is_remote:
        return page.removeprefix(f"{layout.root.rstrip('/')}/")
    return os.path.relpath(page, layout.root)


def _name(record: RunRecord) -> str:
    """The run's id without its microseconds, which the time rarely needs."""
    return record.run_id.removesuffix("-000000")


def _gap(record: RunRecord, results: Mapping[str, ModelResults]) -> Estimate | None:
    """With its interval where the run's files are read."""
    estimate = results[record.run_id].metrics.get(GAP) if record.run_id in results else None
    return estimate or (None if record.gap is None else Estimate(value=record.gap))


def _outcome(record: RunRecord) -> str:
    if record.version:
        return f"pushed version {record.version}"
    text = display_status(record.verdict.value, record.reason.partition("\n")[0])
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _gap_plots(records: Sequence[RunRecord], results: Mapping[str, ModelResults]) -> list[Markup]:
    """GAP of the newest runs, beside what each was compared with."""
    rows = [
        MetricRow(_name(record), estimate, record.baseline_metrics.get(GAP))
        for record in records
        if (estimate := _gap(record, results))
    ][:_INTERVALS]
    half = (len(rows) + 1) // 2 if len(rows) > _INTERVALS // 2 else len(rows)
    parts = [part for part in (rows[:half], rows[half:]) if part]
    titles = ("GAP, the newest run first", "GAP, continued")
    return [
        interval_chart(title, part, beside=rows) for title, part in zip(titles, parts, strict=False)
    ]


def _curve_plots(results: Iterable[ModelResults]) -> list[Markup]:
    """Curves of the newest trainings over one another; one that runs share is drawn once."""
    trainings: dict[str, ModelResults] = {}
    for one in results:
        if one.outputs.curve:
            trainings.setdefault(one.outputs.uri("model_run"), one)
    newest = list(trainings.values())[: len(RUN_STYLES)]
    curves = [curves_of(one.outputs.curve) for one in newest]
    names = [one.name.removeprefix("run ").removesuffix("-000000") for one in newest]
    plots = []
    for kind, of in (("validation", "validation"), ("training", "training batch")):
        for metric in (GAP, LOSS):
            series = [
                Series(name=name, style=style, curve=curve, dots=len(curve.x) < 10)
                for name, style, one in zip(names, RUN_STYLES, curves, strict=False)
                if (curve := getattr(one, kind).get(metric, Curve())).x
            ]
            if series:
                title = f"{info_of(metric).title}, {of}"
                plots.append(
                    line_chart(
                        title, series, x=Axis(label="step", whole=True), y=Axis(label=metric)
                    )
                )
    return plots


def _registries(records: Iterable[RunRecord]) -> list[str]:
    return list(dict.fromkeys(record.push_dir for record in records if record.push_dir))


def _version_plot(push_dir: str, records: Iterable[RunRecord]) -> Markup | None:
    """From when to when each version was the newest, which is the one that is served."""
    pushed = {**_pushed_by(records, push_dir), **_in_registry(push_dir)}
    starts = [start for _, (start, _) in sorted(pushed.items())]
    ends = [*starts[1:], time.time()]
    periods = [
        Period(name=f"version {number}, {about}", start=start, end=end)
        for (number, (start, about)), end in zip(sorted(pushed.items()), ends, strict=True)
    ]
    return timeline(f"In service from {push_dir}", periods[-_VERSIONS:]) if periods else None


def _pushed_by(records: Iterable[RunRecord], push_dir: str) -> dict[int, tuple[float, str]]:
    """When runs pushed each version, and its GAP; also of versions that were removed since."""
    return {
        record.version: (record.started + record.seconds, f"push{_gap_text(record.gap)}")
        for record in records
        if record.version and record.push_dir == push_dir
    }


def _in_registry(push_dir: str) -> dict[int, tuple[float, str]]:
    """The same of what the registry has, whoever brought it; nothing of one that is gone."""
    versions = {}
    with contextlib.suppress(UserError, OSError):
        for number in list_versions(push_dir):
            with contextlib.suppress(UnusableVersionError):
                record = load_record(push_dir, number)
                moment = datetime.datetime.fromisoformat(record.created).timestamp()
                gap = record.metrics.get(GAP, Estimate()).value
                versions[number] = (moment, f"{record.origin.value}{_gap_text(gap)}")
    return versions


def _gap_text(value: float | None) -> str:
    return "" if value is None else f", GAP {value:.4f}"


def _margin_plots(records: Sequence[RunRecord]) -> list[Markup]:
    """A plot for each limit of the gate: what was observed beside it, over the runs."""
    limits: dict[str, list[tuple[float, Check]]] = {}
    for number, record in enumerate(reversed(records), 1):
        for check in record.checks:
            is_number = check.observed is not None and check.threshold is not None
            if check.applied and is_number:
                subject = check.needed.rpartition("=")[0].rstrip(" <>")
                subject += f", {check.slice}" if check.slice else ""
                limits.setdefault(subject, []).append((float(number), check))
    return [_margin_plot(subject, checks) for subject, checks in limits.items()]


def _margin_plot(subject: str, checks: Sequence[tuple[float, Check]]) -> Markup:
    def curve(values: Iterable[Any]) -> Curve:
        return Curve(x=tuple(number for number, _ in checks), y=tuple(values))

    observed = curve(check.observed for _, check in checks)
    limit = curve(check.threshold for _, check in checks)
    newest = checks[-1][1]
    word = "at most" if newest.is_maximum else "at least"
    series = [
        Series(name="observed", style="candidate", curve=observed, dots=True),
        Series(name=f"limit ({word})", style="baseline", curve=limit),
    ]
    x = Axis(label="run, the oldest is 1", whole=True)
    return line_chart(subject[:1].upper() + subject[1:], series, x=x, y=Axis(label=subject))
