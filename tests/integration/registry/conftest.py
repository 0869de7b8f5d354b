"""Second readings follow quickly: the servers are on this machine."""

from __future__ import annotations

import pytest

from yt8m.components.registry import readings


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readings, "pause_s", 0.05)
