"""Asynchronous workers begin one after the other, by a clock that the test turns."""

from __future__ import annotations

import pytest

from yt8m.components.trainer.loop import engine


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(engine, "time", clock)
    return clock


def test_each_worker_begins_at_its_own_time(clock: Clock) -> None:
    stagger = engine.Stagger([5.0, 10.0, 15.0])
    assert stagger.wait() == 1
    assert clock.now == 105.0
    clock.now = 109.0
    assert stagger.wait() == 1
    clock.now = 111.0
    assert stagger.wait() == 2
    clock.now = 115.0
    assert stagger.wait() == 0
    assert clock.now == 115.0


def test_without_delays_nobody_waits(clock: Clock) -> None:
    assert engine.Stagger([0.0, 0.0]).wait() == 0
    assert clock.now == 100.0
