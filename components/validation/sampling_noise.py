"""What two samples of one distribution differ by, so that thresholds need not know their sizes."""

from __future__ import annotations

import math

_NATS_TO_BITS = 1 / math.log(2)


def expected_divergence(distinct: int, count_a: float, count_b: float) -> float:
    """The divergence to be expected between two samples of one distribution over `distinct` values.

    The divergence of near distributions is a chi-square over 8, whose mean is one for each value
    but the last and for each sample 1/size; in bits.
    """
    if not count_a or not count_b:
        return 1.0
    return (max(distinct, 2) - 1) * (1 / count_a + 1 / count_b) / 8 * _NATS_TO_BITS
