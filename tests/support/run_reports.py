"""Reports of a run that had everything, and of a run that ended early."""

from __future__ import annotations

import dataclasses
import math

from yt8m.components.artifacts.comparisons import Comparisons, Difference
from yt8m.components.artifacts.decision import Check, Decision
from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.evaluation import (
    ClassMetrics,
    ConfusedLabels,
    Evaluation,
    SliceMetrics,
    WrongVideo,
)
from yt8m.components.artifacts.run_record import NodeRecord, State
from yt8m.components.metrics.curves import CalibrationBin, CurvePoint
from yt8m.components.report.config import ReportConfig
from yt8m.components.report.model import (
    AnomalyRow,
    ConfigChange,
    Curve,
    DataSummary,
    Outcome,
    RunOutcome,
    RunReport,
    SplitSummary,
    TrainingCurves,
)
from yt8m.schemas.features import NUM_CLASSES, Level

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
    return RunReport(
        pipeline="yt8m",
        run_id="20261120-031500-4f2a",
        created="2026-11-20T03:21:44+00:00",
        verdict=RunOutcome(
            outcome=Outcome.PUSHED,
            reason="gap 0.7184 clears 0.65, and is 0.0162 above the baseline's 0.7022",
            version=7,
            destination="/srv/models/yt8m/7",
            baseline_version=6,
        ),
        decision=_decision(),
        evaluation=_evaluation(),
        shown=ReportConfig(classes=10),
        training=_training(),
        data=_data(),
        components=_components(),
        compared_with_version=6,
        differences=(
            ConfigChange(key="trainer.learning_rate.start", before="0.01", now="0.03"),
            ConfigChange(key="data.span", before="11", now="12"),
        ),
        configuration={
            "name": "yt8m",
            "trainer": {"max_steps": 2000, "batch": 1024},
            "data": {"root": "/srv/yt8m/records", "splits": {"train": ["train*"]}},
        },
        lineage={
            "examples": "/srv/runs/artifacts/ExampleGen/examples/42",
            "model": "/srv/runs/artifacts/Trainer/model/" + "very-long-name-without-a-break" * 4,
        },
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
    return RunReport(
        run_id="20261120-041500-77aa",
        verdict=RunOutcome(
            outcome=Outcome.FAILED, failed_component="Trainer", reason="the loss became NaN"
        ),
        data=_data(),
        components=(
            NodeRecord(name="ExampleGen", state=State.DONE, seconds=3.0, peak_mib=800.0),
            NodeRecord(
                name="Trainer",
                state=State.FAILED,
                seconds=61.0,
                error="TrainingError: the loss became NaN in step 40 at learning rate 10",
            ),
        ),
        problems=("statistics: cannot be read",),
    )


def _overall() -> SliceMetrics:
    values = {
        "gap": (0.7184, 0.7022),
        "hit_at_1": (0.8211, 0.8150),
        "perr": (0.6902, 0.6911),
        "map": (0.4120, 0.3987),
        "loss": (4.21, 4.40),
    }

    def shown(name: str, value: float) -> Estimate:
        return estimate(value) if name == "gap" else Estimate(value=value)

    return SliceMetrics(
        examples=113_218,
        candidate={name: shown(name, new) for name, (new, _) in values.items()},
        baseline={name: shown(name, old) for name, (_, old) in values.items()},
        difference={name: estimate(new - old, 0.002) for name, (new, old) in values.items()},
    )


def _decision() -> Decision:
    overall = _overall()
    return Decision(
        blessed=True,
        reason="gap 0.7184 clears 0.65",
        videos=113_218,
        examples=113_218,
        metrics=overall.candidate,
        baseline_metrics=overall.baseline,
        differences=overall.difference,
        checks=(
            Check(metric="gap", needed="gap >= 0.65", observed=0.7184, passed=True),
            Check(
                metric="gap",
                needed="gap >= 0.69",
                observed=0.6971,
                passed=True,
                slice="num_labels=5+",
            ),
            Check(
                metric="gap",
                needed="gap change >= 0",
                observed=None,
                passed=True,
                applied=False,
                note="there is no baseline",
            ),
        ),
        notes=("intervals come from 20,000 of 113,218 videos",),
    )


def _evaluation() -> Evaluation:
    classes = tuple(
        ClassMetrics(
            class_id=i,
            name=NAMES[i] if i < len(NAMES) else "",
            positives=1200 - 100 * i if i < len(NAMES) else 3 + i,
            candidate=0.95 - 0.02 * i if i < len(NAMES) else 0.01 * (20 - i),
            baseline=0.9 - 0.01 * i if i < len(NAMES) else None,
        )
        for i in range(2 * len(NAMES))
    )
    recall = tuple(i / 60 for i in range(61))
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
            for column, value, videos, gap in (
                ("num_labels", "<2", 30_211, 0.79),
                ("num_labels", "2-4", 61_007, 0.72),
                ("num_labels", "5+", 22_000, 0.6971),
                ("vertical", "Arts & Entertainment", 41_000, 0.74),
                ("vertical", "Hobbies & Leisure, with a name that is too long", 9_000, 0.55),
            )
        ),
        classes=classes,
        precision_recall={
            model: tuple(
                CurvePoint(score=1 - r, precision=1 - top * r**power, recall=r) for r in recall
            )
            for model, top, power in (("candidate", 0.75, 2.2), ("baseline", 0.80, 2.0))
        },
        thresholds={
            str(i): tuple(
                CurvePoint(score=at / 20, precision=0.3 + at / 30, recall=1 - at / 20)
                for at in range(20)
            )
            for i in range(len(NAMES))
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
                    low=i / 10,
                    high=(i + 1) / 10,
                    count=50,
                    mean_score=(i + 0.5) / 10,
                    hit_rate=((i + 0.5) / 10) ** power,
                )
                for i in range(10)
            )
            for model, power in (("candidate", 1.15), ("baseline", 1.5))
        },
    )


def _training() -> TrainingCurves:
    steps = tuple(float(s) for s in range(10, 2001, 10))
    validated = tuple(float(s) for s in range(200, 2001, 200))
    return TrainingCurves(
        steps=2000,
        examples=2_048_000,
        examples_per_s=3911.0,
        training={
            "loss": Curve(
                x=steps,
                y=tuple(4 + 20 * math.exp(-s / 150) + math.sin(s) * 0.4 for s in steps),
            ),
            "learning_rate": Curve(x=steps, y=tuple(0.03 * 0.95 ** (s // 400) for s in steps)),
            "gap": Curve(x=steps, y=tuple(0.75 * (1 - math.exp(-s / 300)) for s in steps)),
        },
        validation={
            "loss": Curve(x=validated, y=tuple(4.5 + 20 * math.exp(-s / 150) for s in validated)),
            "gap": Curve(x=validated, y=tuple(0.72 * (1 - math.exp(-s / 300)) for s in validated)),
        },
    )


def _data() -> DataSummary:
    return DataSummary(
        level="video",
        verified="full",
        digest="0011223344556677",
        spans=(10, 11, 12),
        splits=(
            SplitSummary(
                name="train", records=389_0123, shards=3844, bytes=31 * 10**9, labelled=389
            ),
            SplitSummary(
                name="eval", records=113_218, shards=256, bytes=10**9, labelled=3, quarantined=12
            ),
        ),
        labels_per_record=3.01,
        label_histogram=Curve(
            x=tuple(float(i) for i in range(1, 1001)),
            y=tuple(90000.0 / i**1.2 for i in range(1, 1001)),
        ),
        validated=True,
        anomalies=(
            AnomalyRow(
                split="train",
                feature="mean_audio",
                severity="error",
                what="Expected 128 values in every record, found 127 in 12 of them.",
            ),
        ),
        comparisons=Comparisons(
            drift=(
                Difference(feature="labels", distance=0.0213, threshold=0.05),
                Difference(feature="mean_rgb", distance=0.0713, threshold=0.05),
            ),
            skew=(Difference(feature="labels", distance=0.0, threshold=0.05),),
        ),
    )


def _components() -> tuple[NodeRecord, ...]:
    rows = (
        ("Baseline", "done", 0.4, 810.0, "version 6"),
        ("ExampleGen", "done", 12.4, 910.0, "4,003,341 records"),
        ("StatisticsGen", "cached", 0.0, 0.0, ""),
        ("Trainer", "done", 522.0, 2410.0, "loss 4.21"),
        ("Evaluator", "done", 75.0, 1310.0, "GAP 0.7184"),
        ("Pusher", "done", 0.3, 912.0, "version 7"),
    )
    return tuple(
        NodeRecord(name=name, state=State(state), seconds=s, peak_mib=mib, figure=figure)
        for name, state, s, mib, figure in rows
    )
