"""The metrics a second time, from their definitions, slowly: plain Python, one video at a time."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

Pair = tuple[float, bool, Fraction]  # score, hit, weight


def best_classes(scores: list[float], k: int) -> list[int]:
    return sorted(range(len(scores)), key=lambda c: (-scores[c], c))[:k]


def hit_at_1(predictions: list[list[float]], labels: list[set[int]]) -> float | None:
    if not labels:
        return None
    hits = [best_classes(p, 1)[0] in y for p, y in zip(predictions, labels, strict=True)]
    return sum(hits) / len(hits)


def perr(predictions: list[list[float]], labels: list[set[int]]) -> float | None:
    if not labels:
        return None
    total = Fraction(0)
    for p, y in zip(predictions, labels, strict=True):
        if y:
            found = [c for c in best_classes(p, len(y)) if c in y and p[c] > 0]
            total += Fraction(len(found), len(y))
    return float(total / len(labels))


def pool(
    predictions: list[list[float]], labels: list[set[int]], k: int, weights: list[Fraction]
) -> dict[int, list[Pair]]:
    """By class, every (score, hit, weight) that made its video's top k."""
    by_class: dict[int, list[Pair]] = {}
    for p, y, w in zip(predictions, labels, weights, strict=True):
        for c in best_classes(p, k):
            by_class.setdefault(c, []).append((p[c], c in y, w))
    return by_class


def precision_sum(pairs: list[Pair], depth: int | None = None) -> Fraction:
    """Sum of weight x precision over the hits, for pairs in this very order."""
    total = seen = good = Fraction(0)
    for score, hit, weight in pairs[:depth]:
        del score
        seen += weight
        if hit:
            good += weight
            total += weight * good / seen
    return total


def tied_precision_sum(pairs: list[Pair], depth: int | None = None) -> Fraction:
    """The mean of `precision_sum` over all orders of pairs of equal score. Tiny pools only."""
    groups = [
        list(group)
        for _, group in itertools.groupby(sorted(pairs, key=lambda p: -p[0]), key=lambda p: p[0])
    ]
    orders = itertools.product(*(itertools.permutations(group) for group in groups))
    sums = [precision_sum([p for group in order for p in group], depth) for order in orders]
    return sum(sums, Fraction(0)) / len(sums)


def gap(
    predictions: list[list[float]],
    labels: list[set[int]],
    k: int,
) -> float:
    weights = [Fraction(1)] * len(labels)
    pairs = [pair for pairs in pool(predictions, labels, k, weights).values() for pair in pairs]
    positives = sum((w * len(y) for w, y in zip(weights, labels, strict=True)), Fraction(0))
    return float(tied_precision_sum(pairs) / positives) if positives else 0.0


def mean_ap(
    predictions: list[list[float]],
    labels: list[set[int]],
    k: int,
    *,
    top_n: int | None = None,
) -> float | None:
    weights = [Fraction(1)] * len(labels)
    pools = pool(predictions, labels, k, weights)
    values = []
    for c in sorted({c for y in labels for c in y}):
        positives = sum((w for w, y in zip(weights, labels, strict=True) if c in y), Fraction(0))
        if top_n is not None:
            positives = min(positives, Fraction(top_n))
        values.append(tied_precision_sum(pools.get(c, []), top_n) / positives)
    return float(sum(values, Fraction(0)) / len(values)) if values else None


def label_sets(multi_hot: np.ndarray) -> list[set[int]]:
    return [set(np.flatnonzero(row).tolist()) for row in multi_hot]
