"""No test fails for a slow machine, a caller's shell, or want of a program that is not Python's."""

from __future__ import annotations

import os
import zlib
from collections import Counter, defaultdict
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
_MINUTES_S, _FILES_SHOWN = 120.0, 40
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


@pytest.hookimpl(tryfirst=True)  # before any fixture is made
def pytest_runtest_setup(item: pytest.Item) -> None:
    names = tuple(name for mark in item.iter_markers("needs") for name in mark.args)
    if not (lacking := missing(names)):
        return
    item.user_properties += [(_MISSING, name) for name in lacking]
    reason = f"needs {', '.join(lacking)}: {remedy(lacking)}"
    if os.environ.get(REQUIRE_ALL) == "1":
        pytest.fail(f"{reason} ({REQUIRE_ALL}=1)", pytrace=False)
    pytest.skip(reason)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The files that the time went to, of a run of minutes: what to look at first."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                seconds[report.nodeid.partition("::")[0]] += report.duration
    if (total := sum(seconds.values())) < _MINUTES_S:
        return
    terminalreporter.section(f"{total:.0f} seconds of tests, by file")
    longest = sorted(seconds.items(), key=lambda file: file[1], reverse=True)
    for path, taken in longest[:_FILES_SHOWN]:
        terminalreporter.write_line(f"{taken:7.1f} s {taken / total:6.1%}  {path}")


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
