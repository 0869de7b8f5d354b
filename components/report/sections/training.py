"""Training curves."""

from __future__ import annotations

from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.metrics.catalogue import LOSS, METRICS, info_of
from yt8m.components.report.parts import formatting
from yt8m.components.report.parts.charts import Axis, Series, line_chart
from yt8m.components.report.parts.markup import Markup, element
from yt8m.components.report.parts.model import Curve, TrainingCurves

_TITLES = {
    LOSS: info_of(LOSS).title,
    "learning_rate": "Learning rate",
    **{metric.name: metric.title for metric in METRICS if metric.name != LOSS},
    "examples_per_s": "Examples per second",
}


def training(curves: TrainingCurves, evaluated: Estimate | None = None) -> Markup | None:
    """A plot for each curve, training and validation in one; `evaluated`: the Evaluator's loss."""
    names = [n for n in _TITLES if n in curves.training or n in curves.validation]
    if not names:
        return None
    said = [f"{formatting.count(curves.steps)} steps"]
    if curves.examples:
        said.append(f"{formatting.count(curves.examples)} examples")
    if curves.examples_per_s:
        said.append(f"{formatting.count(curves.examples_per_s)} examples per second")
    about = ", ".join(said) + "."
    if LOSS in curves.training and evaluated and evaluated.value is not None:
        last = curves.training[LOSS].y[-1]
        about += f" Loss: {last:.4f} at the last training step, {evaluated.value:.4f} on the "
        about += "evaluation data (cross entropy)."
    plots = [_plot(name, curves, evaluated if name == LOSS else None) for name in names]
    return element(
        "section",
        element("h2", "Training"),
        element("p", about, class_="about"),
        element("div", *plots, class_="plots"),
        id="training",
    )


def _plot(name: str, curves: TrainingCurves, evaluated: Estimate | None) -> Markup:
    series = []
    if name in curves.training:
        series.append(Series(name="training", style="candidate", curve=curves.training[name]))
    if name in curves.validation:
        series.append(
            Series(name="validation", style="validation", curve=curves.validation[name], dots=True)
        )
    if evaluated is not None and evaluated.value is not None:
        end = Curve(x=(float(curves.steps),), y=(evaluated.value,))
        series.append(Series(name="evaluation", style="baseline", curve=end, dots=True))
    zero = name != LOSS
    return line_chart(
        _TITLES[name],
        series,
        x=Axis(label="step"),
        y=Axis(label=_TITLES[name].lower(), low=0.0 if zero else None),
    )
