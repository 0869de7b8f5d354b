"""No test fails for a slow machine, a caller's shell, or want of a program that is not Python's."""

from __future__ import annotations

import gc
import os
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from requirements import REQUIRE_ALL, missing, remedy, summary
from surroundings import settle

settle()
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

_HERE = Path(__file__).parent
_MISSING = "missing requirement"  # in a report's properties, which xdist hands to its controller
_MINUTES_S, _SHOWN = 120.0, 40
# A worker that begins a file of minutes when the others are done makes everybody wait for it.
_LONGEST_FIRST = ("e2e", "distributed", "integration", "unit")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--half", type=int, choices=[0, 1], help="run only this half of the tests")


@pytest.hookimpl(trylast=True)  # after the marks have selected
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The long files first; else the order stays."""
    if (half := config.getoption("half")) is not None:
        halves: tuple[list[pytest.Item], list[pytest.Item]] = ([], [])
        for item in items:
            halves[zlib.crc32(item.nodeid.encode()) % 2].append(item)
        items[:] = halves[half]
        config.hook.pytest_deselected(items=halves[1 - half])

    def place(item: pytest.Item) -> int:
        folder = item.path.relative_to(_HERE).parts[0]
        return _LONGEST_FIRST.index(folder) if folder in _LONGEST_FIRST else len(_LONGEST_FIRST)

    items.sort(key=place)


_frozen = 0  # modules of which the garbage collector knows that they stay
_MANY_MODULES = 200


def _freeze_modules() -> None:
    """As runs do once TFX is loaded; components collect, 0.3 seconds each time if it walks TFX."""
    global _frozen
    if len(sys.modules) < _frozen + _MANY_MODULES:
        return
    gc.collect()
    gc.freeze()
    _frozen = len(sys.modules)


@pytest.hookimpl(tryfirst=True)  # before any fixture is made
def pytest_runtest_setup(item: pytest.Item) -> None:
    _freeze_modules()
    names = tuple(name for mark in item.iter_markers("needs") for name in mark.args)
    if not (lacking := missing(names)):
        return
    item.user_properties += [(_MISSING, name) for name in lacking]
    reason = f"needs {', '.join(lacking)}: {remedy(lacking)}"
    if os.environ.get(REQUIRE_ALL) == "1":
        pytest.fail(f"{reason} ({REQUIRE_ALL}=1)", pytrace=False)
    pytest.skip(reason)


_cpu_before = 0.0  # of this process and the children that it has waited for


def pytest_runtest_logstart() -> None:
    global _cpu_before
    _cpu_before = sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[Any]:
    global _cpu_before
    report = yield
    now = sum(os.times()[:4])
    report.cpu_seconds, _cpu_before = now - _cpu_before, now
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What the time of a run of minutes went to, by file and by folder: what to look at first."""
    ended = [
        report
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport)
    ]
    if sum(report.duration for report in ended) < _MINUTES_S:
        return
    files = [Path(report.nodeid.partition("::")[0]) for report in ended]
    _write_times(terminalreporter, "file", files, ended)
    _write_times(terminalreporter, "folder", [file.parent for file in files], ended)


def _write_times(reporter: Any, what: str, places: list[Path], ended: list[Any]) -> None:
    seconds: defaultdict[Path, float] = defaultdict(float)
    cpu: defaultdict[Path, float] = defaultdict(float)
    for place, report in zip(places, ended, strict=True):
        seconds[place] += report.duration
        cpu[place] += getattr(report, "cpu_seconds", 0.0)  # a crash has none
    total = sum(seconds.values())
    reporter.section(f"{total:.0f} seconds of tests, {sum(cpu.values()):.0f} of CPU, by {what}")
    for place in sorted(seconds, key=lambda place: seconds[place], reverse=True)[:_SHOWN]:
        share = seconds[place] / total
        reporter.write_line(f"{seconds[place]:7.1f} s {share:6.1%} {cpu[place]:7.1f}  {place}")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Below everything that pytest says: what was skipped for want of what, and what to do."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:  # a worker of xdist
        return
    skipped = Counter(
        value
        for report in reporter.stats.get("skipped", [])
        for name, value in getattr(report, "user_properties", [])
        if name == _MISSING
    )
    for line in summary(skipped):
        reporter.write_line(line, yellow=True)
