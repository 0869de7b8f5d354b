"""A thousand nights of candidates: how far what is served falls behind the best, what is rejected.

    python benchmarks/champion.py                     100 nights of 10,000 videos: a minute
    nice python benchmarks/champion.py --nights 1000  quarter of an hour
    nice python benchmarks/champion.py --videos 1000  what a thousand videos a night can tell

Scores are drawn as in `benchmarks/intervals.py`, nothing is trained. A model is the lift of the
logits of its hits; its true GAP is that of 100,000 videos. Each night new videos are drawn, and
candidate, newest version and champion are scored on them. The gate's own limits and its own
`decide` say what is pushed, and which version is the champion from then on.

The level of the candidates moves around a slow rise: for 60 nights each it stays, rises or falls by
0.0005, 0.001 or 0.006 of GAP a night. Each training adds a chance of 0.003, one in thirty fails.
Where it falls, each candidate is a little worse than the last, and a gate that knows the newest
alone pushes them all.

It fails where the served model is more than 0.012 below the best that was ever blessed, or where
more than 5 % are rejected of the candidates that are as good as all they are compared with. Both
are promised for 10,000 videos.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from intervals import CLASSES, MAX_LABELS, Skill, Videos, create_videos, predict

from yt8m.components.artifacts.decision import Champion
from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.evaluation import Evaluation, SliceMetrics
from yt8m.components.evaluator.config import GateConfig
from yt8m.components.evaluator.gate import decide
from yt8m.components.evaluator.thresholds import limits_of
from yt8m.components.metrics import METRICS, TOP_K, MetricAccumulator
from yt8m.components.metrics.intervals import spread_of
from yt8m.components.metrics.rows import Rows
from yt8m.schemas.features import Level
from yt8m.schemas.metric_names import GAP

NIGHTS, VIDEOS = 100, 10_000
MAX_BEHIND, MAX_HELD = 0.012, 0.05
SLOPES = (0.0, 0.0, -0.0005, 0.0005, -0.001, 0.001, -0.006, 0.006)  # of GAP a night
TREND = 0.00005  # what all candidates gain a night: more data, better models
PHASE = 60  # nights
CHANCE, FAILED, FAILED_BY = 0.003, 1 / 30, 0.03
LOWEST, HIGHEST = -0.04, 0.02  # GAP from the first candidate's
LIFTS = np.linspace(-0.8, 0.9, 18)
GATE = GateConfig(gap_threshold=0.1, min_examples=1)
METRIC = [metric for metric in METRICS if metric.name == GAP]


@dataclass(frozen=True, kw_only=True)
class Model:
    """A model: how it is drawn, and what GAP it has in truth."""

    lift: float
    gap: float
    name: str


def metrics_of(videos: Videos, lift: float, rng: np.random.Generator) -> MetricAccumulator:
    """A model's rows on `videos`."""
    counts = videos.counts
    labels = videos.classes[:, :MAX_LABELS][np.arange(MAX_LABELS) < counts[:, None]]
    columns = predict(videos, Skill(lift=lift), rng)
    keys = np.arange(len(counts), dtype=np.uint64)
    rows = Rows(**columns, label_counts=counts, labels=labels, keys=keys)
    return MetricAccumulator(CLASSES, rows, top_k=TOP_K)


def draw(videos: Videos, count: int, rng: np.random.Generator) -> Videos:
    chosen = rng.integers(0, len(videos.counts), count)
    return Videos(
        classes=videos.classes[chosen], counts=videos.counts[chosen], logits=videos.logits[chosen]
    )


def true_gaps(videos: Videos, rng: np.random.Generator) -> Callable[[float], float]:
    """The lift that gives a GAP, between those that are computed."""
    gaps = [metrics_of(videos, float(lift), rng).gap() for lift in LIFTS]

    def lift_of(gap: float) -> float:
        if gap > gaps[-1]:
            raise SystemExit(f"no lift gives a GAP of {gap:.4f}: widen LIFTS")
        return float(np.interp(gap, gaps, LIFTS))  # a training that failed has the lowest at worst

    return lift_of


def candidates(nights: int, first: float, rng: np.random.Generator) -> Iterator[float]:
    """The true GAP of each night's candidate."""
    level, slope = first, 0.0
    for night in range(nights):
        if night % PHASE == 0:
            slope = float(rng.choice(SLOPES))
        usual = first + TREND * night
        level = float(np.clip(level + slope, usual + LOWEST, usual + HIGHEST))
        gap = level + rng.normal(0, CHANCE)
        yield gap - (rng.exponential(FAILED_BY) if rng.random() < FAILED else 0.0)


def evaluate(models: list[MetricAccumulator], videos: int) -> Evaluation:
    """Candidate, newest and champion, in this order, as the Evaluator finds them."""
    gaps = [model.gap() for model in models]
    spread = spread_of(models, METRIC, max_videos=videos, seed=0)
    if spread is None:
        raise SystemExit("a night needs two videos or more")

    def change(other: int) -> dict[str, Estimate]:
        value = gaps[0] - gaps[other]
        interval = spread.difference(GAP, value, other=other)
        bounds = (interval.lower, interval.upper) if interval is not None else (None, None)
        return {GAP: Estimate(value=value, lower=bounds[0], upper=bounds[1])}

    ours, newest, best = ({GAP: Estimate(value=gap)} for gap in gaps)
    overall = SliceMetrics(
        examples=videos,
        videos=videos,
        candidate=ours,
        baseline=newest,
        difference=change(1),
        champion=best,
        champion_difference=change(2),
    )
    return Evaluation(
        level=Level.VIDEO, top_k=TOP_K, videos=videos, examples=videos, overall=overall
    )


@dataclass(kw_only=True)
class Season:
    """What is served, and what is counted."""

    served: Model
    champion: Model
    best: float  # the highest true GAP that was ever blessed
    behind: float = 0.0  # the most
    nights_behind: int = 0
    pushed: int = 0
    sound: int = 0  # candidates that are as good as all they are compared with
    held: int = 0  # of these

    def night(self, candidate: Model, evaluation: Evaluation) -> None:
        """Decide about one candidate."""
        decision = decide(
            evaluation,
            limits_of(GATE),
            baseline=self.served.name,
            champion=Champion(name=self.champion.name, digest=self.champion.name),
        )
        decision = replace(decision, model_digest=candidate.name)
        sound = candidate.gap >= max(self.served.gap, self.champion.gap)
        self.sound += sound
        self.held += sound and not decision.blessed
        if decision.blessed:
            self.pushed += 1
            self.served = candidate
            self.best = max(self.best, candidate.gap)
            if decision.champion_digest == candidate.name:
                self.champion = candidate
        self.behind = max(self.behind, self.best - self.served.gap)
        self.nights_behind += self.best - self.served.gap > MAX_BEHIND


def simulate(*, nights: int, videos: int, seed: int) -> Season:
    rng = np.random.default_rng(seed)
    population = create_videos(rng)
    lift_of = true_gaps(population, rng)
    first = metrics_of(population, 0.0, rng).gap()
    gaps = candidates(nights, first, rng)

    def model(number: int) -> Model:
        gap = next(gaps)
        return Model(lift=lift_of(gap), gap=gap, name=f"version {number}")

    start = model(0)
    season = Season(served=start, champion=start, best=start.gap)
    for number in range(1, nights):
        candidate, tonight = model(number), draw(population, videos, rng)
        scored = {
            one.name: metrics_of(tonight, one.lift, rng)
            for one in {m.name: m for m in (candidate, season.served, season.champion)}.values()
        }
        names = (candidate.name, season.served.name, season.champion.name)
        season.night(candidate, evaluate([scored[name] for name in names], videos))
    return season


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nights", type=int, default=NIGHTS)
    parser.add_argument("--videos", type=int, default=VIDEOS, help="evaluated each night")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    start = time.perf_counter()
    season = simulate(nights=args.nights, videos=args.videos, seed=args.seed)
    held = season.held / season.sound if season.sound else 0.0
    row = {
        "nights": args.nights,
        "videos": args.videos,
        "seed": args.seed,
        "pushed": season.pushed,
        "most_behind_the_best": round(season.behind, 4),
        "nights_too_far_behind": season.nights_behind,
        "sound_candidates": season.sound,
        "rejected_of_these": round(held, 4),
        "seconds": round(time.perf_counter() - start),
    }
    print(json.dumps(row))
    return 1 if season.behind > MAX_BEHIND or held > MAX_HELD else 0


if __name__ == "__main__":
    sys.exit(main())
