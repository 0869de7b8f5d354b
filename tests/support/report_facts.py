"""Facts of a run that had everything, and of runs that ended early."""

from __future__ import annotations

import math

from yt8m.components.report.model import (
    AnomalyFacts,
    CheckFacts,
    ClassFacts,
    ComponentFacts,
    CurveFacts,
    DataFacts,
    Difference,
    DriftFacts,
    Estimate,
    EvaluationFacts,
    MetricFacts,
    Outcome,
    ReportFacts,
    SliceFacts,
    SplitFacts,
    TrainingFacts,
    VerdictFacts,
)

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


def full_facts() -> ReportFacts:
    """A pushed run, with something in every part."""
    return ReportFacts(
        pipeline="yt8m",
        run_id="20261120-031500-4f2a",
        created="2026-11-20T03:21:44+00:00",
        verdict=VerdictFacts(
            outcome=Outcome.PUSHED,
            reason="gap 0.7184 clears 0.65, and is 0.0162 above the baseline's 0.7022",
            version=7,
            destination="/srv/models/yt8m/7",
            baseline_version=6,
        ),
        evaluation=_evaluation(),
        training=_training(),
        data=_data(),
        components=_components(),
        compared_with_version=6,
        differences=(
            Difference(key="trainer.learning_rate.start", before="0.01", now="0.03"),
            Difference(key="data.span", before="11", now="12"),
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


def failed_facts() -> ReportFacts:
    """A run whose trainer failed: nothing was evaluated."""
    return ReportFacts(
        run_id="20261120-041500-77aa",
        verdict=VerdictFacts(
            outcome=Outcome.FAILED, failed_component="Trainer", reason="the loss became NaN"
        ),
        data=_data(),
        components=(
            ComponentFacts(name="ExampleGen", state="done", seconds=3.0, peak_mib=800.0),
            ComponentFacts(
                name="Trainer",
                state="failed",
                seconds=61.0,
                error="TrainingError: the loss became NaN in step 40 at learning rate 10",
            ),
        ),
        problems=("statistics: cannot be read",),
    )


def _evaluation() -> EvaluationFacts:
    values = {
        "gap": (0.7184, 0.7022),
        "hit_at_1": (0.8211, 0.8150),
        "perr": (0.6902, 0.6911),
        "map": (0.4120, 0.3987),
        "loss": (4.21, 4.40),
    }
    metrics = tuple(
        MetricFacts(
            name=name,
            candidate=estimate(new) if name == "gap" else Estimate(value=new),
            baseline=estimate(old) if name == "gap" else Estimate(value=old),
            difference=estimate(new - old, 0.002),
        )
        for name, (new, old) in values.items()
    )
    recall = tuple(i / 60 for i in range(61))
    classes = tuple(
        ClassFacts(
            class_id=i,
            name=name,
            positives=1200 - 100 * i,
            candidate=0.95 - 0.02 * i,
            baseline=0.9 - 0.01 * i,
        )
        for i, name in enumerate(NAMES)
    )
    bins = tuple((i + 0.5) / 10 for i in range(10))
    return EvaluationFacts(
        videos=113_218,
        examples=113_218,
        confidence=0.95,
        notes=("intervals come from 20,000 of 113,218 videos",),
        metrics=metrics,
        checks=(
            CheckFacts(metric="gap", needed="gap >= 0.65", observed=0.7184, passed=True),
            CheckFacts(
                metric="gap",
                needed="gap >= 0.69",
                observed=0.6971,
                passed=True,
                slice_name="num_labels=5+",
            ),
            CheckFacts(
                metric="gap",
                needed="gap change >= 0",
                observed=None,
                passed=True,
                applied=False,
                note="there is no baseline",
            ),
        ),
        slices=tuple(
            SliceFacts(
                name=name,
                examples=videos,
                candidate=estimate(value, 0.01),
                baseline=estimate(value - 0.012, 0.01),
            )
            for name, videos, value in (
                ("num_labels = <2", 30_211, 0.79),
                ("num_labels = 2-4", 61_007, 0.72),
                ("num_labels = 5+", 22_000, 0.6971),
                ("vertical = Arts & Entertainment", 41_000, 0.74),
                ("vertical = Hobbies & Leisure, with a name that is too long", 9_000, 0.55),
            )
        ),
        best_classes=classes,
        worst_classes=tuple(
            ClassFacts(class_id=3000 + i, name="", positives=3 + i, candidate=0.01 * i)
            for i in range(10)
        ),
        classes=3512,
        precision_recall={
            "candidate": CurveFacts(x=recall, y=tuple(1 - 0.75 * r**2.2 for r in recall)),
            "baseline": CurveFacts(x=recall, y=tuple(1 - 0.80 * r**2.0 for r in recall)),
        },
        calibration={
            "candidate": CurveFacts(x=bins, y=tuple(b**1.15 for b in bins)),
            "baseline": CurveFacts(x=bins, y=tuple(b**1.5 for b in bins)),
        },
    )


def _training() -> TrainingFacts:
    steps = tuple(float(s) for s in range(10, 2001, 10))
    validated = tuple(float(s) for s in range(200, 2001, 200))
    return TrainingFacts(
        steps=2000,
        examples=2_048_000,
        examples_per_s=3911.0,
        training={
            "loss": CurveFacts(
                x=steps,
                y=tuple(4 + 20 * math.exp(-s / 150) + math.sin(s) * 0.4 for s in steps),
            ),
            "learning_rate": CurveFacts(x=steps, y=tuple(0.03 * 0.95 ** (s // 400) for s in steps)),
            "gap": CurveFacts(x=steps, y=tuple(0.75 * (1 - math.exp(-s / 300)) for s in steps)),
        },
        validation={
            "loss": CurveFacts(
                x=validated, y=tuple(4.5 + 20 * math.exp(-s / 150) for s in validated)
            ),
            "gap": CurveFacts(
                x=validated, y=tuple(0.72 * (1 - math.exp(-s / 300)) for s in validated)
            ),
        },
    )


def _data() -> DataFacts:
    return DataFacts(
        level="video",
        verified="full",
        digest="0011223344556677",
        spans=(10, 11, 12),
        splits=(
            SplitFacts(name="train", records=389_0123, shards=3844, bytes=31 * 10**9, labelled=389),
            SplitFacts(
                name="eval", records=113_218, shards=256, bytes=10**9, labelled=3, quarantined=12
            ),
        ),
        labels_per_record=3.01,
        label_histogram=CurveFacts(
            x=tuple(float(i) for i in range(1, 1001)),
            y=tuple(90000.0 / i**1.2 for i in range(1, 1001)),
        ),
        validated=True,
        anomalies=(
            AnomalyFacts(
                split="train",
                feature="mean_audio",
                severity="error",
                what="Expected 128 values in every record, found 127 in 12 of them.",
            ),
        ),
        drift=(
            DriftFacts(feature="labels", distance=0.0213, threshold=0.05),
            DriftFacts(feature="mean_rgb", distance=0.0713, threshold=0.05),
        ),
        skew=(DriftFacts(feature="labels", distance=0.0, threshold=0.05),),
    )


def _components() -> tuple[ComponentFacts, ...]:
    rows = (
        ("Baseline", "done", 0.4, 810.0, "version 6"),
        ("ExampleGen", "done", 12.4, 910.0, "4,003,341 records"),
        ("StatisticsGen", "cached", 0.0, 0.0, ""),
        ("Trainer", "done", 522.0, 2410.0, "loss 4.21"),
        ("Evaluator", "done", 75.0, 1310.0, "GAP 0.7184"),
        ("Pusher", "done", 0.3, 912.0, "version 7"),
    )
    return tuple(
        ComponentFacts(name=name, state=state, seconds=s, peak_mib=mib, figure=figure)
        for name, state, s, mib, figure in rows
    )
