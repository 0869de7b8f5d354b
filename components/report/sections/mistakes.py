"""What the model is most wrong about: videos, and labels that it takes for others."""

from __future__ import annotations

from collections.abc import Sequence

from yt8m.components.artifacts.evaluation import Evaluation, WrongVideo
from yt8m.components.report.parts import formatting
from yt8m.components.report.parts.markup import Markup, element
from yt8m.components.report.parts.tables import Column, details, table

_VIDEOS = (
    Column(title="Video"),
    Column(title="Loss", numeric=True),
    Column(title="Its labels"),
    Column(title="Predicted"),
)
_CONFUSIONS = (
    Column(title="Label that ranks too low"),
    Column(title="What ranks above it"),
    Column(title="Videos", numeric=True),
)
_AT_ONCE = 12  # rows that are shown; the rest on request


def mistakes(evaluation: Evaluation | None) -> Markup | None:
    """Two tables, the first rows of each and then all."""
    if evaluation is None or not (evaluation.worst_videos or evaluation.confusions):
        return None
    confused = [
        (one.missed, one.instead, formatting.count(one.videos)) for one in evaluation.confusions
    ]
    wrong = [_video(one) for one in evaluation.worst_videos]
    return element(
        "section",
        element("h2", "Mistakes"),
        element(
            "p",
            "A video with n labels is ranked right when they are its n best classes. Some of what "
            "is most wrong is a video whose labels are.",
            class_="about",
        ),
        _listed("Labels that are taken for others", _CONFUSIONS, confused),
        _listed("Videos of the highest loss", _VIDEOS, wrong),
        id="mistakes",
    )


def _listed(
    title: str, columns: tuple[Column, ...], rows: Sequence[tuple[object, ...]]
) -> Markup | None:
    if not rows:
        return None
    first = table(columns, rows[:_AT_ONCE], caption=title)
    if len(rows) <= _AT_ONCE:
        return first
    return element("div", first, details(f"All {len(rows)}", table(columns, rows, tools=True)))


def _video(one: WrongVideo) -> tuple[object, ...]:
    predicted = [
        f"{name} ({score:.2f})" for name, score in zip(one.predicted, one.scores, strict=True)
    ]
    return (
        element("span", one.name, class_="code"),
        f"{one.loss:.1f}",
        ", ".join(one.labels) or formatting.NONE,
        ", ".join(predicted),
    )
