"""What the search for better values has tried."""

from __future__ import annotations

from collections.abc import Sequence

from yt8m.components.artifacts.tuner_results import TrialResult
from yt8m.components.report.parts import formatting
from yt8m.components.report.parts.markup import Markup, element
from yt8m.components.report.parts.tables import Column, table


def tuner(trials: Sequence[TrialResult], objective: str) -> Markup | None:
    """A row for each trial, the best first: its values are the ones that were trained with."""
    if not trials:
        return None
    paths = list(trials[0].values)
    columns = [
        Column(title="Trial"),
        Column(title=objective, numeric=True),
        *(Column(title=path, numeric=True) for path in paths),
    ]
    rows = [
        (one.trial_id, formatting.metric(one.score), *(_shown(one.values.get(p)) for p in paths))
        for one in trials
    ]
    return element(
        "section",
        element("h2", "Tuner"),
        element("p", "The model was trained with the values of the first.", class_="about"),
        table(columns, rows, tools=True),
        id="tuner",
    )


def _shown(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
