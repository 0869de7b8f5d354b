"""Intervals for GAP, and for the difference of two models' GAP, by resampling videos.

Videos are drawn with replacement, all rows of a video together (at segment level a video has
several). All models see the same draws, so their difference is paired. Above `max_videos` a
sample is resampled, and the spread is scaled to the full size: it shrinks with the square root of
the number of videos. Which videos are drawn follows from their ids and the seed, not from the
order or the sharding of the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from yt8m.components.metrics.accumulator import MetricAccumulator


@dataclass(frozen=True, kw_only=True, eq=False)
class GapDraws:
    """GAP of every replicate, as deviations from the GAP of what was resampled."""

    deviations: np.ndarray  # [models, replicates], scaled to the full number of videos
    videos: int  # that were resampled
    of_videos: int

    def interval(self, gap: float, *, model: int = 0, level: float = 0.95) -> tuple[float, float]:
        """Lower and upper bound around one model's GAP."""
        return _interval(gap, self.deviations[model], level)

    def difference(self, change: float, *, level: float = 0.95) -> tuple[float, float]:
        """Lower and upper bound around the first model's GAP minus the second's."""
        return _interval(change, self.deviations[0] - self.deviations[1], level)


def draw_gap(
    models: Sequence[MetricAccumulator], *, replicates: int, max_videos: int, seed: int
) -> GapDraws | None:
    """Resample the videos of all `models` at once; None where there are no two videos."""
    videos = np.unique(models[0].rows.keys)
    if len(videos) < 2:
        return None
    rng = np.random.default_rng(seed)
    chosen = videos
    if len(videos) > max_videos:
        chosen = videos[np.sort(rng.choice(len(videos), max_videos, replace=False))]
    pools = [_pool(model, chosen) for model in models]
    once = np.array([[pool.gap(np.ones(len(chosen)))] for pool in pools])
    draws = np.empty((len(pools), replicates))
    for replicate in range(replicates):
        drawn = rng.integers(0, len(chosen), len(chosen))
        times = np.bincount(drawn, minlength=len(chosen)).astype(np.float64)
        draws[:, replicate] = [pool.gap(times) for pool in pools]
    scale = np.sqrt(len(chosen) / len(videos))
    return GapDraws(deviations=(draws - once) * scale, videos=len(chosen), of_videos=len(videos))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Pool:
    """All pairs of the chosen videos, best first; sorted once, reweighted by each replicate."""

    video: np.ndarray  # [pairs] position of the pair's video
    hits: np.ndarray  # positions of the hits among the pairs
    tie_end: np.ndarray  # [hits] last position of the hit's tie
    last_hit: np.ndarray  # [hits] the last hit of the hit's tie, as an index into `hits`
    positives: np.ndarray  # [videos]

    def gap(self, times: np.ndarray) -> float:
        """GAP when each video is there `times` times; ties count with their closing precision."""
        weight = times[self.video]
        positives = float(times @ self.positives)
        if positives == 0:
            return 0.0
        of_hits = weight[self.hits]
        good = np.cumsum(of_hits)[self.last_hit]
        seen = np.cumsum(weight)[self.tie_end]
        precision = np.divide(good, seen, out=np.zeros_like(good), where=seen > 0)
        return float(of_hits @ precision) / positives


def _pool(model: MetricAccumulator, chosen: np.ndarray) -> _Pool:
    rows = model.rows
    place = np.searchsorted(chosen, rows.keys)
    place[place == len(chosen)] = 0
    mine = np.flatnonzero(chosen[place] == rows.keys)
    place = place[mine]
    scores, hit = rows.scores[mine], rows.hits[mine]
    video = np.repeat(place, scores.shape[1])
    order = np.lexsort((video, -scores.ravel()))
    sorted_scores = scores.ravel()[order]
    last = np.flatnonzero(np.append(sorted_scores[1:] != sorted_scores[:-1], True))
    hits = np.flatnonzero(hit.ravel()[order])
    tie_end = last[np.searchsorted(last, hits)]
    counts = rows.label_counts[mine].astype(np.float64)
    return _Pool(
        video=video[order],
        hits=hits,
        tie_end=tie_end,
        last_hit=np.searchsorted(hits, tie_end, side="right") - 1,
        positives=np.bincount(place, weights=counts, minlength=len(chosen)),
    )


def _interval(value: float, deviations: np.ndarray, level: float) -> tuple[float, float]:
    tail = (1 - level) / 2
    low, high = np.quantile(deviations, [tail, 1 - tail])
    return value + float(low), value + float(high)
