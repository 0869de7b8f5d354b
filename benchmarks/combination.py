"""The coefficients of trainer.retrieval.combination, fitted on real records.

    python benchmarks/combination.py --train 'DIR/validate00[0-4]?.tfrecord' [--preset video_mlp]
        [--folds 5] [--set a.b=value ...]

The files are divided into folds. For each fold the preset's own trainer learns from the others, and
its export says what network and neighbours see in the fold's videos, which neither has seen. A
logistic regression over all folds gives the coefficients, rounded to two digits. GAP with them is
told by fold, from a fit on the other folds, beside that of the weighted mean (weight 0.3, exponent
0.6).
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
from preset_quality import files_of, make_job, make_manifest

BATCH = 512
WEIGHT, EXPONENT = 0.3, 0.6
L2 = 1e-5


class Seen(NamedTuple):
    """What is seen in the videos of one fold."""

    terms: np.ndarray  # [any, coefficients] float32
    hits: np.ndarray  # [any] bool
    places: np.ndarray  # [any, 2]: video and class
    blended: np.ndarray  # [videos, classes]: the weighted mean
    behind: np.ndarray  # [videos, classes]: the scores of what is not seen
    labels: np.ndarray  # [videos, classes] bool


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", required=True)
    parser.add_argument("--preset", default="video_mlp")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--set", action="append", default=[])
    args = parser.parse_args()
    files = files_of(args.train)
    if len(files) < args.folds:
        raise SystemExit(f"{args.train}: {len(files)} files; at least --folds={args.folds}")
    seen: list[Seen] = []
    with tempfile.TemporaryDirectory(prefix="yt8m-bench-") as scratch:
        for fold in range(args.folds):
            settings = [*args.set, f"trainer.seed={fold}"]
            out = Path(scratch) / str(fold)
            out.mkdir()
            seen.append(look(files[fold :: args.folds], files, args.preset, settings, out))
    for number, one in enumerate(seen):
        coefficients = fit([other for other in seen if other is not one])
        told = f"{gap(one.blended, one.labels):.4f} blended, "
        told += f"{gap(combined(one, coefficients), one.labels):.4f} combined"
        print(f"fold {number}: {told}", flush=True)
    print(", ".join(f"{value:g}" for value in np.round(fit(seen), 2) + 0.0))


def look(
    held_out: list[Path], files: list[Path], preset: str, settings: list[str], out: Path
) -> Seen:
    """Train on the other files, and score these."""
    from yt8m.components.trainer.backends.in_process import run_job

    splits = {"train": [f for f in files if f not in held_out], "eval": held_out}
    settings = [*settings, "trainer.retrieval.combination=[]"]
    job = make_job(preset, settings, make_manifest(splits, out), out)
    run_job(job, {})
    return see(job)


def see(job: Any) -> Seen:
    """What the export of a training says of its validation split."""
    import tensorflow as tf

    from yt8m.components.export.load import load_export
    from yt8m.components.inputs.dataset import dataset_for_scoring
    from yt8m.components.models import combination
    from yt8m.components.models.retrieval import Index, Neighbours
    from yt8m.components.models.trunks import video_vector
    from yt8m.components.trainer.input import load_data
    from yt8m.components.trainer.network import heads_of, network_of

    loaded = load_export(job.export_dir).loaded
    network = network_of(job, heads_of(job), compute_dtype="float32")
    network.set_weights([weight.numpy() for weight in loaded.weights])
    parts = (loaded.neighbours.keys, loaded.neighbours.scales, loaded.neighbours.labels)
    classes = job.features.num_classes
    index = Index(*(part.numpy() for part in parts))
    neighbours = Neighbours(
        job.trainer.retrieval, index, sizes=job.features.sizes, num_classes=classes
    )

    @tf.function
    def say(batch: dict[str, tf.Tensor]) -> tuple[tf.Tensor, ...]:
        signal = network.signal(batch)
        _, members = network.scores_and_members(signal)
        said = neighbours.said(video_vector(signal), members)
        places = combination.seen(said)
        terms = combination.terms(combination.quantities(said, places))
        blended = (1 - WEIGHT) * said.network**EXPONENT + WEIGHT * said.neighbours
        return terms, places, blended, combination.BEHIND * said.network

    found: list[Seen] = []
    source = load_data(job).validation
    assert source is not None
    first = 0
    for batch in dataset_for_scoring(source, batch_size=BATCH):
        arrays = {name: batch[name] for name in job.features.names}
        terms, places, blended, behind = (part.numpy() for part in say(arrays))
        labels = np.zeros(blended.shape, bool)
        rows, columns = np.nonzero(batch["labels"].numpy() >= 0)
        labels[rows, batch["labels"].numpy()[rows, columns]] = True
        hits = labels[places[:, 0], places[:, 1]]
        found.append(Seen(terms, hits, places + np.array([first, 0]), blended, behind, labels))
        first += len(blended)
    return Seen(*(np.concatenate(column) for column in zip(*found, strict=True)))


def fit(seen: Sequence[Seen]) -> np.ndarray:
    """The coefficients of the highest likelihood."""
    from scipy.optimize import minimize

    terms = np.concatenate([one.terms for one in seen]).astype(np.float64)
    hits = np.concatenate([one.hits for one in seen])

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        logits = terms @ w
        slopes = terms.T @ (1 / (1 + np.exp(-logits)) - hits) / len(hits)
        value = (np.logaddexp(0, logits) - hits * logits).mean()
        free = np.r_[0, w[1:]]
        return value + L2 * free @ free, slopes + 2 * L2 * free

    start = np.r_[-5.0, np.zeros(terms.shape[1] - 1)]
    options = {"maxiter": 500}
    return minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x


def combined(seen: Seen, coefficients: np.ndarray) -> np.ndarray:
    scores = seen.behind.copy()
    logits = seen.terms @ np.round(coefficients, 2)
    scores[seen.places[:, 0], seen.places[:, 1]] = 1 / (1 + np.exp(-logits))
    return scores


def gap(scores: np.ndarray, labels: np.ndarray) -> float:
    from yt8m.components.metrics import Batch
    from yt8m.components.metrics.accumulator import accumulate

    width = max(1, int(labels.sum(axis=1).max()))
    ids = np.full((len(labels), width), -1)
    for row, hot in zip(ids, labels, strict=True):
        there = np.flatnonzero(hot)
        row[: len(there)] = there
    return accumulate(Batch(predictions=scores.astype(np.float32), labels=ids)).gap()


if __name__ == "__main__":
    main()
