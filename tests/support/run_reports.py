"""Reports of a run that had everything, and of a run that ended early."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path

import yaml

from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.evaluation import (
    ClassMetrics,
    ConfusedLabels,
    Evaluation,
    SliceMetrics,
    WrongVideo,
)
from yt8m.components.metrics.curves import CalibrationBin, CurvePoint
from yt8m.components.metrics.operating_points import OperatingPoint
from yt8m.components.report.model import Curve, DataSummary, RunReport, TrainingCurves
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.features import NUM_CLASSES, Level

_KNOWN = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
NAMES = (
    "Game",
    "Vehicle",
    "Concert",
    "Association football",
    "<b>Video & game</b>",
    "The Legend of Zelda: Ocarina of Time, the long name that a narrow screen has to wrap",
    "Food",
    "Trailer (promotion)",
    "Smartphone",
    "Rabbit",
)


def estimate(value: float, half: float = 0.004) -> Estimate:
    return Estimate(value=value, lower=value - half, upper=value + half)


def full_report() -> RunReport:
    """A pushed run, with something in every part."""
    overall = _overall()
    report = from_dict(RunReport, _KNOWN["full"])
    assert report.decision is not None
    return dataclasses.replace(
        report,
        decision=dataclasses.replace(
            report.decision,
            metrics=overall.candidate,
            baseline_metrics=overall.baseline,
            differences=overall.difference,
        ),
        evaluation=_evaluation(),
        training=_training(),
        data=_data(),
    )


def large_report() -> RunReport:
    """The same of the published vocabulary's 3,862 classes, each with a name of usual length."""
    report, evaluation = full_report(), _evaluation()
    classes = tuple(
        ClassMetrics(
            class_id=i,
            name=f"{NAMES[i % 4]} {i}",
            positives=1 + 200_000 // (i + 1),
            candidate=0.9 - i / 5000,
            baseline=0.88 - i / 5100,
        )
        for i in range(NUM_CLASSES)
    )
    labels = Curve(
        x=tuple(float(i) for i in range(1, NUM_CLASSES + 1)),
        y=tuple(800_000.0 / i for i in range(1, NUM_CLASSES + 1)),
    )
    return dataclasses.replace(
        report,
        evaluation=dataclasses.replace(evaluation, classes=classes),
        data=dataclasses.replace(_data(), label_histogram=labels),
    )


def failed_report() -> RunReport:
    """A run whose trainer failed: nothing was evaluated."""
    return dataclasses.replace(from_dict(RunReport, _KNOWN["failed"]), data=_data())


_VALUES = {
    "gap": (0.7184, 0.7022),
    "hit_at_1": (0.8211, 0.8150),
    "perr": (0.6902, 0.6911),
    "map": (0.4120, 0.3987),
    "loss": (4.21, 4.40),
}


def _overall() -> SliceMetrics:
    def shown(name: str, value: float) -> Estimate:
        return estimate(value) if name == "gap" else Estimate(value=value)

    return SliceMetrics(
        examples=113_218,
        candidate={name: shown(name, new) for name, (new, _) in _VALUES.items()},
        baseline={name: shown(name, old) for name, (_, old) in _VALUES.items()},
        difference={name: estimate(new - old, 0.002) for name, (new, old) in _VALUES.items()},
    )


_SLICES = (
    ("num_labels", "<2", 30_211, 0.79),
    ("num_labels", "2-4", 61_007, 0.72),
    ("num_labels", "5+", 22_000, 0.6971),
    ("vertical", "Arts & Entertainment", 41_000, 0.74),
    ("vertical", "Hobbies & Leisure, with a name that is too long", 9_000, 0.55),
)


def _evaluation() -> Evaluation:
    known = len(NAMES)
    classes = [(i, NAMES[i], 1200 - 100 * i, 0.95 - 0.02 * i, 0.9 - 0.01 * i) for i in range(known)]
    classes += [(i, "", 3 + i, 0.01 * (20 - i), None) for i in range(known, 2 * known)]
    return Evaluation(
        level=Level.VIDEO,
        top_k=20,
        videos=113_218,
        examples=113_218,
        overall=_overall(),
        confidence=0.95,
        slices=tuple(
            SliceMetrics(
                column=column,
                value=value,
                examples=videos,
                candidate={"gap": estimate(gap, 0.01)},
                baseline={"gap": estimate(gap - 0.012, 0.01)},
            )
            for column, value, videos, gap in _SLICES
        ),
        classes=tuple(
            ClassMetrics(class_id=i, name=name, positives=n, candidate=new, baseline=old)
            for i, name, n, new, old in classes
        ),
        operating_points=(
            OperatingPoint(asked=0.5, predictions=91_234, precision=0.497, recall=0.719, classes=9),
            OperatingPoint(asked=0.95, predictions=0, precision=None, recall=0.0, classes=0),
        ),
        precision_recall={
            model: tuple(
                CurvePoint(score=1 - r, precision=1 - top * r**power, recall=r)
                for r in (i / 60 for i in range(61))
            )
            for model, top, power in (("candidate", 0.75, 2.2), ("baseline", 0.80, 2.0))
        },
        thresholds={
            str(i): tuple(
                CurvePoint(score=at / 20, precision=0.3 + at / 30, recall=1 - at / 20)
                for at in range(20)
            )
            for i in range(known)
        },
        worst_videos=tuple(
            WrongVideo(
                name=f"vid{i}",
                loss=40.0 - i,
                labels=NAMES[i % 3 : i % 3 + 3],
                predicted=NAMES[5:10],
                scores=(0.9, 0.5, 0.2, 0.1, 0.05),
            )
            for i in range(20)
        ),
        confusions=tuple(
            ConfusedLabels(missed=NAMES[i % 10], instead=NAMES[(i + 3) % 10], videos=100 - i)
            for i in range(15)
        ),
        calibration={
            model: tuple(
                CalibrationBin(
                    low=round(score - 0.05, 1),
                    high=round(score + 0.05, 1),
                    count=50,
                    mean_score=score,
                    hit_rate=score**power,
                )
                for score in ((i + 0.5) / 10 for i in range(10))
            )
            for model, power in (("candidate", 1.15), ("baseline", 1.5))
        },
    )


def _training() -> TrainingCurves:
    def curve(steps: range, y: Callable[[int], float]) -> Curve:
        return Curve(x=tuple(map(float, steps)), y=tuple(map(y, steps)))

    steps, validated = range(10, 2001, 10), range(200, 2001, 200)
    return TrainingCurves(
        steps=2000,
        examples=2_048_000,
        examples_per_s=3911.0,
        training={
            "loss": curve(steps, lambda s: 4 + 20 * math.exp(-s / 150) + math.sin(s) * 0.4),
            "learning_rate": curve(steps, lambda s: 0.03 * 0.95 ** (s // 400)),
            "gap": curve(steps, lambda s: 0.75 * (1 - math.exp(-s / 300))),
        },
        validation={
            "loss": curve(validated, lambda s: 4.5 + 20 * math.exp(-s / 150)),
            "gap": curve(validated, lambda s: 0.72 * (1 - math.exp(-s / 300))),
        },
    )


def _data() -> DataSummary:
    ranks = range(1, 1001)
    labels = Curve(x=tuple(map(float, ranks)), y=tuple(90000.0 / i**1.2 for i in ranks))
    data = from_dict(DataSummary, _KNOWN["data"])
    return dataclasses.replace(data, label_histogram=labels)
