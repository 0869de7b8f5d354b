"""How often intervals hold the truth, and how often a model without a gain is promoted.

    python benchmarks/intervals.py                    200 pairs a case, 500 videos: a minute
    nice python benchmarks/intervals.py --full        5,000 pairs a case of 500, 2,000, 10,000
    nice python benchmarks/intervals.py --videos 2000 --pairs 1000 --case equal

The full one takes some three hours of one core, most of them for 10,000 videos.

A population of 100,000 videos is generated with two models' predictions: labels by a skewed
distribution over 3,862 classes, about three a video; hits score higher, less so in hard videos;
both models confuse the same classes and each adds errors of its own. A pair is the two models on
videos drawn from it at random, so the population's own metrics are the truth. Only MAP has none
that fits every size: most classes have a few positives or none, and its mean moves with the
number of videos. Its truth is the mean over all pairs of that size.

    retrained  two trainings of one model: every video is there twice, with the models exchanged,
               so that no metric differs
    equal      GAP is equal, nothing else: one model ranks better within videos and worse across
    better     the candidate is better by about 0.8 points of GAP
    broken-15, broken-5
               the candidate scores noise on 1.5 %, 0.5 % of the videos: few of them are among
               the videos of a pair, or none

It fails when GAP or its difference leaves 94 to 96 %, false promotions 3 %, or one side of the
difference's interval 3.5 %, by more than three standard errors of the simulation; of the broken
candidates the sides alone count, as 500 and 1,000 videos with 2,000 pairs show them:

    nice python benchmarks/intervals.py --case broken-15 --videos 500 --pairs 2000
    nice python benchmarks/intervals.py --case broken-5 --videos 1000 --pairs 2000
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from yt8m.components.metrics import METRICS as CATALOGUE
from yt8m.components.metrics import TOP_K, MetricAccumulator, values_of
from yt8m.components.metrics.intervals import Interval, spread_of
from yt8m.components.metrics.rows import Rows

CLASSES = 3862
CANDIDATES = 32  # classes of a video that a model may put among its best
MAX_LABELS = 18
POPULATION = 100_000
SIZES, PAIRS, QUICK_PAIRS = (500, 2_000, 10_000), 5_000, 200
METRICS = tuple(metric.name for metric in CATALOGUE)
COVERAGE, FALSE_PROMOTIONS, ONE_SIDE = (0.94, 0.96), 0.03, 0.035


@dataclass(frozen=True, kw_only=True, eq=False)
class Videos:
    """Labels and candidate classes; the first `counts` candidates of a video are its labels."""

    classes: np.ndarray  # [N, CANDIDATES] uint16, distinct within a video
    counts: np.ndarray  # [N] uint16
    logits: np.ndarray  # [N, CANDIDATES] what all models agree on

    @property
    def hits(self) -> np.ndarray:
        return np.arange(CANDIDATES) < self.counts[:, None]


@dataclass(frozen=True, kw_only=True)
class Skill:
    """What tells one model from another."""

    noise: float = 0.7  # of a class's logit
    video_noise: float = 0.0  # of all logits of a video: does not matter within the video
    lift: float = 0.0  # of the logits of hits


Model = dict[str, np.ndarray]  # columns of Rows


@dataclass(frozen=True, kw_only=True, eq=False)
class Population:
    """What pairs are drawn from."""

    videos: Videos
    models: tuple[Model, Model]

    def metrics(self, chosen: np.ndarray) -> list[MetricAccumulator]:
        """Both models on the `chosen` videos; a video drawn twice counts as two."""
        counts = self.videos.counts[chosen]
        labels = self.videos.classes[chosen, :MAX_LABELS][np.arange(MAX_LABELS) < counts[:, None]]
        keys = np.arange(len(chosen), dtype=np.uint64)
        return [
            MetricAccumulator(
                CLASSES, Rows(**columns, label_counts=counts, labels=labels), top_k=TOP_K
            )
            for model in self.models
            for columns in [
                {name: column[chosen] for name, column in model.items()} | {"keys": keys}
            ]
        ]


def create_videos(rng: np.random.Generator) -> Videos:
    counts = np.minimum(1 + rng.poisson(2.0, POPULATION), MAX_LABELS)
    hits = np.arange(CANDIDATES) < counts[:, None]
    hard = rng.normal(0, 1, (POPULATION, 1))
    confusion = rng.normal(0, 1.3, hits.shape)
    return Videos(
        classes=_distinct_classes(rng),
        counts=counts.astype(np.uint16),
        logits=-4.5 + (4.0 - hard) * hits + 0.3 * hard + confusion,
    )


def _distinct_classes(rng: np.random.Generator) -> np.ndarray:
    """[POPULATION, CANDIDATES]; frequencies fall with the class's number."""
    frequency = 1 / np.arange(5, CLASSES + 5)
    drawn = rng.choice(CLASSES, (POPULATION, 3 * CANDIDATES), p=frequency / frequency.sum())
    order = np.argsort(drawn, axis=1, kind="stable")
    ordered = np.take_along_axis(drawn, order, axis=1)
    repeats = np.zeros(drawn.shape, bool)
    np.put_along_axis(repeats, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
    first = np.argsort(repeats, axis=1, kind="stable")[:, :CANDIDATES]
    return np.take_along_axis(drawn, first, axis=1).astype(np.uint16)


def predict(videos: Videos, skill: Skill, rng: np.random.Generator) -> Model:
    """A model's rows on all videos."""
    hits = videos.hits
    logits = videos.logits + skill.lift * hits + rng.normal(0, skill.noise, hits.shape)
    logits += skill.video_noise * rng.normal(0, 1, (len(hits), 1))
    scores = 1 / (1 + np.exp(-logits))
    best = np.argsort(-scores, axis=1)[:, :TOP_K]
    best_hits = np.take_along_axis(hits, best, axis=1)
    recalled = best_hits & (np.arange(TOP_K) < videos.counts[:, None])
    return {
        "scores": np.take_along_axis(scores, best, axis=1).astype(np.float32),
        "classes": np.take_along_axis(videos.classes, best, axis=1),
        "hits": best_hits,
        "recalled": recalled.sum(axis=1).astype(np.uint16),
        "loss": -np.log(np.where(hits, scores, 1 - scores)).sum(axis=1),
    }


def retrained(videos: Videos, rng: np.random.Generator) -> Population:
    one, other = predict(videos, Skill(), rng), predict(videos, Skill(), rng)
    twice = Videos(
        classes=np.concatenate([videos.classes] * 2),
        counts=np.concatenate([videos.counts] * 2),
        logits=videos.logits[:0],
    )
    exchanged = (_joined(one, other), _joined(other, one))
    return Population(videos=twice, models=exchanged)


def _joined(one: Model, other: Model) -> Model:
    return {name: np.concatenate((one[name], other[name])) for name in one}


def equal(videos: Videos, rng: np.random.Generator) -> Population:
    """The noise within videos is what makes GAP equal, found by halving."""
    ours = predict(videos, Skill(), rng)
    seed = int(rng.integers(2**32))
    low, high = 0.3, 0.7
    for _ in range(16):
        skill = Skill(noise=(low + high) / 2, video_noise=0.5)
        theirs = predict(videos, skill, np.random.default_rng(seed))
        population = Population(videos=videos, models=(ours, theirs))
        gap, their_gap = (model.gap() for model in population.metrics(np.arange(POPULATION)))
        low, high = (skill.noise, high) if their_gap > gap else (low, skill.noise)
    return population


def better(videos: Videos, rng: np.random.Generator) -> Population:
    models = predict(videos, Skill(lift=0.06), rng), predict(videos, Skill(), rng)
    return Population(videos=videos, models=models)


def broken(videos: Videos, rng: np.random.Generator, *, share: float) -> Population:
    """The candidate's scores say nothing of a share of the videos."""
    candidate, baseline = predict(videos, Skill(), rng), predict(videos, Skill(), rng)
    nothing = Videos(
        classes=videos.classes,
        counts=videos.counts,
        logits=rng.normal(0, 1, videos.logits.shape),
    )
    noise, lost = predict(nothing, Skill(), rng), rng.random(POPULATION) < share
    for name, column in candidate.items():
        column[lost] = noise[name][lost]
    return Population(videos=videos, models=(candidate, baseline))


CASES: dict[str, Callable[[Videos, np.random.Generator], Population]] = {
    "retrained": retrained,
    "equal": equal,
    "better": better,
    "broken-15": functools.partial(broken, share=0.015),
    "broken-5": functools.partial(broken, share=0.005),
}
BROKEN = ("broken-15", "broken-5")


@dataclass(frozen=True, kw_only=True)
class Found:
    """One interval of one pair."""

    value: float
    interval: Interval


def simulate(
    population: Population, *, videos: int, pairs: int, rng: np.random.Generator
) -> Iterator[dict[tuple[str, str], Found]]:
    """Intervals of each pair, by (metric, "value" or "difference")."""
    size = len(population.videos.counts)
    for _ in range(pairs):
        models = population.metrics(rng.integers(0, size, videos))
        spread = spread_of(models, max_videos=videos, seed=0)
        if spread is None:
            raise SystemExit("a pair needs two videos or more")
        ours, theirs = (_known(model) for model in models)
        found = {}
        for metric in METRICS:
            value = ours[metric]
            change = value - theirs[metric]
            for kind, number, interval in (
                ("value", value, spread.interval(metric, value)),
                ("difference", change, spread.difference(metric, change)),
            ):
                if interval is not None:
                    found[metric, kind] = Found(value=number, interval=interval)
        yield found


def _known(metrics: MetricAccumulator) -> dict[str, float]:
    """The metrics that this benchmark judges; all are defined on its videos."""
    values = values_of(metrics)
    return {name: value for name in METRICS if (value := values[name]) is not None}


def measure(case: str, *, videos: int, pairs: int, seed: int) -> list[dict[str, object]]:
    """A row for each metric and its difference."""
    rng = np.random.default_rng(seed)
    population = CASES[case](create_videos(rng), rng)
    everything = population.metrics(np.arange(len(population.videos.counts)))
    ours, theirs = (_known(model) for model in everything)
    truths: dict[tuple[str, str], float] = {}
    for metric in METRICS:
        truths[metric, "value"] = ours[metric]
        truths[metric, "difference"] = ours[metric] - theirs[metric]
    found = defaultdict(list)
    start = time.perf_counter()
    draws = np.random.default_rng([seed, videos])
    for pair in simulate(population, videos=videos, pairs=pairs, rng=draws):
        for key, one in pair.items():
            found[key].append(one)
    seconds = time.perf_counter() - start
    return [
        {"case": case, "videos": videos, "metric": metric, "of": kind, "seconds": round(seconds)}
        | _row(found[metric, kind], None if metric == "map" else truths[metric, kind])
        for metric, kind in truths
    ]


def _row(found: list[Found], truth: float | None) -> dict[str, object]:
    values = np.array([one.value for one in found])
    lower = np.array([one.interval.lower for one in found])
    upper = np.array([one.interval.upper for one in found])
    true = float(values.mean()) if truth is None else truth
    return {
        "pairs": len(found),
        "true": round(true, 5),
        "coverage": float(np.mean((lower <= true) & (true <= upper))),
        "all_above": float(np.mean(lower > true)),
        "all_below": float(np.mean(upper < true)),
        "above_zero": float(np.mean(lower > 0)),
        "width": round(float(np.mean(upper - lower)), 5),
    }


def problems(rows: list[dict[str, object]]) -> list[str]:
    """What is beyond the limits by more than three standard errors of the simulation."""
    found = []
    for row in rows:
        if row["metric"] != "gap":
            continue
        where = f"{row['case']}, {row['videos']} videos, {row['of']} of GAP"
        low, high = COVERAGE
        coverage, above, pairs = (float(str(row[k])) for k in ("coverage", "above_zero", "pairs"))
        slack = 3 * math.sqrt(0.05 * 0.95 / pairs)
        for side in ("all_above", "all_below") if row["of"] == "difference" else ():
            beyond = float(str(row[side]))
            if beyond > ONE_SIDE + 3 * math.sqrt(ONE_SIDE * (1 - ONE_SIDE) / pairs):
                found.append(f"{where}: {beyond:.2%} are {side.replace('_', ' ')}")
        if row["case"] in BROKEN:
            continue
        if not low - slack <= coverage <= high + slack:
            found.append(f"{where}: coverage {coverage:.2%}")
        promoted = row["of"] == "difference" and row["case"] != "better"
        if promoted and above > FALSE_PROMOTIONS + 3 * math.sqrt(0.03 * 0.97 / pairs):
            found.append(f"{where}: {above:.2%} false promotions")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--full", action="store_true", help="all sizes, 5,000 pairs of each")
    parser.add_argument("--case", action="append", choices=sorted(CASES), help="all where absent")
    parser.add_argument("--videos", action="append", type=int, help="of a pair (500)")
    parser.add_argument("--pairs", type=int, help="of each case (200)")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    pairs = args.pairs or (PAIRS if args.full else QUICK_PAIRS)
    rows = []
    for videos in args.videos or (SIZES if args.full else SIZES[:1]):
        for case in args.case or CASES:
            for row in measure(case, videos=videos, pairs=pairs, seed=args.seed):
                print(json.dumps(row), flush=True)
                rows.append(row)
    wrong = problems(rows)
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
