"""How training went."""

from __future__ import annotations

from yt8m.components.report import formatting
from yt8m.components.report.charts import Axis, Series, line_chart
from yt8m.components.report.markup import Markup, element
from yt8m.components.report.model import TrainingFacts

_TITLES = {
    "loss": "Loss",
    "learning_rate": "Learning rate",
    "gap": "GAP",
    "hit_at_1": "Hit@1",
    "perr": "PERR",
    "examples_per_s": "Examples per second",
}


def training(facts: TrainingFacts) -> Markup | None:
    """A plot for each curve, training and validation in one."""
    names = [n for n in _TITLES if n in facts.training or n in facts.validation]
    if not names:
        return None
    said = [f"{formatting.count(facts.steps)} steps"]
    if facts.examples:
        said.append(f"{formatting.count(facts.examples)} examples")
    if facts.examples_per_s:
        said.append(f"{formatting.count(facts.examples_per_s)} examples a second")
    return element(
        "section",
        element("h2", "Training"),
        element("p", ", ".join(said) + ".", class_="about"),
        element("div", *[_plot(name, facts) for name in names], class_="plots"),
        id="training",
    )


def _plot(name: str, facts: TrainingFacts) -> Markup:
    series = []
    if name in facts.training:
        series.append(Series(name="training", style="candidate", curve=facts.training[name]))
    if name in facts.validation:
        series.append(
            Series(name="validation", style="validation", curve=facts.validation[name], dots=True)
        )
    zero = name not in ("loss",)
    return line_chart(
        _TITLES[name],
        series,
        x=Axis(label="step"),
        y=Axis(label=_TITLES[name].lower(), low=0.0 if zero else None),
    )
