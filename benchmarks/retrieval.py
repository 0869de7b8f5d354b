"""What an index of neighbours costs: memory, and time of a prediction with it and without.

    python benchmarks/retrieval.py [--videos 14500,200000] [--batches 1,512] [--preset video_mlp]

The network is the preset's, with new weights; keys and queries are random, which costs the same.
CPU seconds of the whole process, all threads together, by the newest and fastest of some calls.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

_CALLS = 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--videos", default="14500,200000")
    parser.add_argument("--batches", default="1,512")
    parser.add_argument("--preset", default="video_mlp")
    args = parser.parse_args()
    import tensorflow as tf

    from yt8m.components.models.heads import create_heads
    from yt8m.components.models.layers import Recipe
    from yt8m.components.models.network import Network
    from yt8m.components.models.trunks import Signal
    from yt8m.pipeline.presets import load_config
    from yt8m.schemas.features import Level

    config = load_config(args.preset)
    network = Network(
        config.trainer.model,
        features=config.features,
        level=Level.VIDEO,
        heads=create_heads((), features=config.features, level=Level.VIDEO),
        sharing=config.trainer.sharing,
        recipe=Recipe(seed=0),
    )
    forward = tf.function(lambda v: network.scores(Signal(vectors=v))["entities"], autograph=False)
    heads = {int(n): make_neighbours(config, int(n)) for n in args.videos.split(",")}
    for rows in map(int, args.batches.split(",")):
        vectors = tf.random.stateless_normal([rows, config.features.total_size], seed=[0, rows])
        told = [f"network {cpu_ms(forward, vectors):.1f} ms"]
        for videos, (neighbours, size) in heads.items():
            ask = tf.function(neighbours.probabilities, autograph=False)
            told.append(f"index of {videos} ({size / 1e6:.0f} MB) {cpu_ms(ask, vectors):.1f} ms")
        print(f"batch of {rows}, CPU time: {', '.join(told)}", flush=True)


def make_neighbours(config: Any, videos: int) -> tuple[Any, int]:
    """An index of random keys with three labels each, and its bytes."""
    import numpy as np

    from yt8m.components.models.retrieval import Index, Neighbours, encode

    rng, features = np.random.default_rng(0), config.features
    units = rng.standard_normal((videos, features.total_size), dtype=np.float32)
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    labels = rng.integers(0, features.num_classes, (videos, 3), np.int32)
    index = Index(*encode(units, config.trainer.retrieval.storage), labels)
    neighbours = Neighbours(
        config.trainer.retrieval, index, sizes=features.sizes, num_classes=features.num_classes
    )
    return neighbours, index.nbytes


def cpu_ms(call: Callable[[Any], Any], vectors: Any) -> float:
    call(vectors)
    found = []
    for _ in range(_CALLS):
        began = time.process_time()
        call(vectors).numpy()
        found.append(time.process_time() - began)
    return 1000 * min(found)


if __name__ == "__main__":
    main()
