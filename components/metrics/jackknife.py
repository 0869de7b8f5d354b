"""A metric's values without each of the videos: exact, in the time of a sort.

GAP and MAP are no means of videos: a video's predictions also lower or raise the precision at
every hit that ranks below them. Without a video with m pairs above a hit, a of them hits, the
precision there is (A - a) / (N - m) instead of A / N. Between two of a video's own pairs m and a
stay the same, so the sum over all hits in between is a difference of two running sums. One pass
for each m makes the leave-one-out value of every video, and not an approximation of it.

All rows of a video are left out together (at segment level a video has several). A tie counts
with the precision at its end, here only: the differences between values matter, not the values.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from yt8m.components.metrics.accumulator import MetricAccumulator
from yt8m.components.metrics.rows import Rows, select


@dataclass(frozen=True, kw_only=True, eq=False)
class LeftOut:
    """One metric of a set of videos, and of the same set without each of them."""

    value: float
    without: np.ndarray  # [videos] float64
    # [videos] what leaving the video out changes, of the size that gives the variance.
    change: np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class RowsByVideo:
    """The rows of some videos, each with the position of its video."""

    rows: Rows
    video: np.ndarray  # [rows] a position in the videos
    videos: int
    num_classes: int

    @classmethod
    def of(cls, metrics: MetricAccumulator, videos: np.ndarray) -> RowsByVideo:
        """The rows of `videos`, which are sorted distinct keys."""
        rows = metrics.rows
        place = np.searchsorted(videos, rows.keys)
        place[place == len(videos)] = 0
        mine = videos[place] == rows.keys
        if not mine.all():
            rows, place = select(rows, mine), place[mine]
        return cls(rows=rows, video=place, videos=len(videos), num_classes=metrics.num_classes)


def _left_out(value: float, without: np.ndarray) -> LeftOut:
    return LeftOut(value=value, without=without, change=without - value)


def mean_left_out(values: np.ndarray, of: RowsByVideo) -> LeftOut:
    """The mean of `values`, one a row, without each of the videos."""
    sums = np.bincount(of.video, weights=values, minlength=of.videos)
    counts = np.bincount(of.video, minlength=of.videos)
    total, rows = sums.sum(), len(values)
    return _left_out(_ratio(total, rows), _ratios(total - sums, rows - counts))


def gap_left_out(of: RowsByVideo) -> LeftOut:
    """Global average precision without each of the videos."""
    rows, video, videos = of.rows, of.video, of.videos
    ranking = _Ranking.of(
        pool=None,
        scores=rows.scores.ravel(),
        hits=rows.hits.ravel(),
        video=np.repeat(video, rows.scores.shape[1]),
    )
    groups = ranking.left_out()
    positives = np.bincount(video, weights=rows.label_counts, minlength=videos)
    total = positives.sum()
    sums = np.empty(videos)
    sums[groups.video] = groups.without  # every video has predictions
    if total == 0:
        return _left_out(0.0, np.zeros(videos))
    without = _ratios(sums, total - positives)
    without[total == positives] = 0.0  # no labels are left: 0 by definition
    return _left_out(float(ranking.sums[0]) / total, without)


def map_left_out(of: RowsByVideo) -> LeftOut:
    """The mean of the classes' average precision without each of the videos."""
    rows, video, videos, num_classes = of.rows, of.video, of.videos, of.num_classes
    ranking = _Ranking.of(
        pool=rows.classes.ravel(),
        scores=rows.scores.ravel(),
        hits=rows.hits.ravel(),
        video=np.repeat(video, rows.scores.shape[1]),
    )
    groups = ranking.left_out()
    positives = np.bincount(rows.labels, minlength=num_classes)
    sums = np.zeros(num_classes)
    sums[ranking.pools] = ranking.sums
    ap = sums / np.maximum(positives, 1)
    # A video changes the classes that it predicts and the classes that it is labelled with.
    predicted = groups.video * num_classes + groups.pool
    labelled, of_labels = np.unique(
        np.repeat(video, rows.label_counts) * num_classes + rows.labels, return_counts=True
    )
    both = np.union1d(predicted, labelled)
    touched_video, touched_class = np.divmod(both, num_classes)
    without = sums[touched_class]
    without[np.searchsorted(both, predicted)] = groups.without
    left = positives[touched_class]
    left[np.searchsorted(both, labelled)] -= of_labels
    change = without / np.maximum(left, 1) * (left > 0) - ap[touched_class]
    before = positives[touched_class]
    gone = (left == 0) & (before > 0)
    total, classes = ap.sum(), np.count_nonzero(positives)
    fewer = classes - np.bincount(touched_video[gone], minlength=videos)

    def mean(changes: np.ndarray) -> np.ndarray:
        return _ratios(total + np.bincount(touched_video, weights=changes, minlength=videos), fewer)

    value = _ratio(total, classes)
    # Each class is a sample of its own. With P positives the jackknife overstates its variance by
    # P / (P - 1): nothing for all videos, but much for the many classes with few. A class with
    # one positive goes with it, which counts all of its chance; other videos add nothing to it.
    share = np.where(gone, 1.0, (before - 1) / np.maximum(before, 1))
    damped = change * np.sqrt(np.maximum(share, 0.0))
    return LeftOut(value=value, without=mean(change), change=mean(damped) - value)


@dataclass(frozen=True, kw_only=True, eq=False)
class _VideosInPools:
    """The pairs of one video in one pool, and the pool's sum of precisions without them."""

    pool: np.ndarray
    video: np.ndarray
    without: np.ndarray


@dataclass(frozen=True, kw_only=True, eq=False)
class _Ranking:
    """Pairs by pool and falling score; only hits keep what is summed at them."""

    pools: np.ndarray  # distinct pools
    sums: np.ndarray  # of the precisions at the hits, by distinct pool
    pool: np.ndarray  # [pairs] a position in `pools`
    video: np.ndarray  # [pairs]
    hit: np.ndarray  # [pairs] bool
    first_hit: np.ndarray  # [pairs] the number of hits that rank above the pair's tie
    last_hit: np.ndarray  # [pools] the number of hits up to the pool's end
    good: np.ndarray  # [hits] hits of its pool down to the end of its tie
    seen: np.ndarray  # [hits] pairs of its pool down to the end of its tie

    @classmethod
    def of(
        cls, *, pool: np.ndarray | None, scores: np.ndarray, hits: np.ndarray, video: np.ndarray
    ) -> _Ranking:
        """The ranking; one pool where `pool` is None."""
        order = np.argsort(-scores) if pool is None else np.lexsort((-scores, pool))
        position = _position(len(order))
        score, hit = scores[order], hits[order]
        of_pair = np.zeros(len(order), np.uint8) if pool is None else pool[order]
        new_pool = _changes(of_pair)
        new_tie = new_pool.copy()
        new_tie[1:] |= score[1:] != score[:-1]
        pool_start = np.flatnonzero(new_pool)
        tie_start = np.flatnonzero(new_tie)
        tie = np.cumsum(new_tie, dtype=position) - 1
        number = np.cumsum(new_pool, dtype=position) - 1
        ahead = np.zeros(len(order) + 1, position)  # hits above a position
        np.cumsum(hit, out=ahead[1:])
        tie_end = np.append(tie_start[1:], len(order))[tie[hit]]
        start = pool_start[number[hit]]
        good, seen = ahead[tie_end] - ahead[start], tie_end - start
        running = _running(good / seen)
        last_hit = ahead[np.append(pool_start[1:], len(order))]
        return cls(
            pools=of_pair[pool_start].astype(np.int64),
            sums=running[last_hit] - running[ahead[pool_start]],
            pool=number,
            video=video.astype(position)[order],
            hit=hit,
            first_hit=ahead[tie_start][tie],
            last_hit=last_hit,
            good=good.astype(np.float64),
            seen=seen.astype(np.float64),
        )

    def left_out(self) -> _VideosInPools:
        """The sum of every pool without each of the videos that have pairs in it."""
        order = np.lexsort((self.pool, self.video))  # stable: a group's pairs stay in rank order
        pool, video, hit = self.pool[order], self.video[order], self.hit[order]
        position = pool.dtype
        new = _changes(pool) | _changes(video)
        head = np.flatnonzero(new).astype(position)
        group = np.cumsum(new, dtype=position) - 1
        before = np.cumsum(hit, dtype=position) - hit
        low, high = self.first_hit[order], self.last_hit[pool]
        same = np.flatnonzero(~new)
        high[same - 1] = low[same]
        stretches = _Stretches(
            group=group,
            low=low,
            high=high,
            pairs=np.arange(1, len(order) + 1, dtype=position) - head[group],
            hits=before + hit - before[head][group],
        )
        running = _running(self.good / self.seen)
        pool_starts = np.concatenate(([0], self.last_hit))
        above = running[low[head]] - running[pool_starts[pool[head]]]
        own = np.cumsum(self.hit, dtype=position)[order[hit]] - 1
        below = self._below(stretches) - self._own(stretches, np.flatnonzero(hit), own)
        return _VideosInPools(
            pool=self.pools[pool[head]],
            video=video[head].astype(np.int64),
            without=above + below,
        )

    def _below(self, stretches: _Stretches) -> np.ndarray:
        """By group: the precisions at all hits below its best pair, without the group's pairs."""
        total = np.zeros(stretches.group[-1] + 1)
        by_pairs = np.argsort(stretches.pairs, kind="stable")
        ends = np.cumsum(np.bincount(stretches.pairs))
        for pairs, (start, end) in enumerate(itertools.pairwise(ends), start=1):
            at = by_pairs[start:end]
            low, high = stretches.low[at], stretches.high[at]
            share = _inverse(self.seen - pairs)
            rate, one = _running(self.good * share), _running(share)
            part = rate[high] - rate[low] - stretches.hits[at] * (one[high] - one[low])
            total[stretches.group[at]] += part  # a group has one stretch below so many pairs
        return total

    def _own(self, stretches: _Stretches, hits: np.ndarray, own: np.ndarray) -> np.ndarray:
        """By group: what `_below` counts at the group's own hits, which are left out as well.

        `hits` are their positions among the stretches, `own` among the hits of the ranking. A
        stretch begins at its tie's first hit, so tied pairs share it: the last of them holds it.
        """
        last = np.flatnonzero(
            np.append(np.diff(stretches.low) != 0, True)
            | np.append(np.diff(stretches.group) != 0, True)
        )
        tie = last[np.searchsorted(last, hits)]
        rest = (self.good[own] - stretches.hits[tie]) * _inverse(
            self.seen[own] - stretches.pairs[tie]
        )
        return np.bincount(stretches.group[hits], weights=rest, minlength=stretches.group[-1] + 1)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Stretches:
    """The hits of a ranking between a pair and the next pair of its group; columns by pair."""

    group: np.ndarray
    low: np.ndarray  # the first hit
    high: np.ndarray  # after the last hit
    pairs: np.ndarray  # of the group, down to this one
    hits: np.ndarray  # among them


def _position(pairs: int) -> type[np.signedinteger]:
    """The smallest numbers that count so many pairs: some dozen columns of them are held."""
    return np.int32 if pairs <= np.iinfo(np.int32).max else np.int64


def _changes(column: np.ndarray) -> np.ndarray:
    """Where a value is another than the one before; true of the first."""
    changed = np.ones(len(column), bool)
    np.not_equal(column[1:], column[:-1], out=changed[1:])
    return changed


def _inverse(counts: np.ndarray) -> np.ndarray:
    """1 / count; 0 where nothing is left to have a precision."""
    return np.divide(1.0, counts, out=np.zeros(len(counts)), where=counts > 0)


def _running(values: np.ndarray) -> np.ndarray:
    """Sums of the first 0, 1, 2, ... values."""
    return np.concatenate(([0.0], np.cumsum(values)))


def _ratio(total: float, count: float) -> float:
    return float(total / count) if count else float("nan")


def _ratios(totals: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return np.divide(totals, counts, out=np.full(len(totals), np.nan), where=counts > 0)
