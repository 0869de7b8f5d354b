"""Training curves."""

from __future__ import annotations

from yt8m.components.report import formatting
from yt8m.components.report.charts import Axis, Series, line_chart
from yt8m.components.report.markup import Markup, element
from yt8m.components.report.model import TrainingCurves

_TITLES = {
    "loss": "Loss",
    "learning_rate": "Learning rate",
    "gap": "GAP",
    "hit_at_1": "Hit@1",
    "perr": "PERR",
    "examples_per_s": "Examples per second",
}


def training(curves: TrainingCurves) -> Markup | None:
    """A plot for each curve, training and validation in one."""
    names = [n for n in _TITLES if n in curves.training or n in curves.validation]
    if not names:
        return None
    said = [f"{formatting.count(curves.steps)} steps"]
    if curves.examples:
        said.append(f"{formatting.count(curves.examples)} examples")
    if curves.examples_per_s:
        said.append(f"{formatting.count(curves.examples_per_s)} examples per second")
    return element(
        "section",
        element("h2", "Training"),
        element("p", ", ".join(said) + ".", class_="about"),
        element("div", *[_plot(name, curves) for name in names], class_="plots"),
        id="training",
    )


def _plot(name: str, curves: TrainingCurves) -> Markup:
    series = []
    if name in curves.training:
        series.append(Series(name="training", style="candidate", curve=curves.training[name]))
    if name in curves.validation:
        series.append(
            Series(name="validation", style="validation", curve=curves.validation[name], dots=True)
        )
    zero = name not in ("loss",)
    return line_chart(
        _TITLES[name],
        series,
        x=Axis(label="step"),
        y=Axis(label=_TITLES[name].lower(), low=0.0 if zero else None),
    )
