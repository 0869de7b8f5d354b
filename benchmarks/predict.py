"""How fast predictions are written: of videos against the bare matrix product of the same model, of
frames against the bare reading and parsing of the same records, all in one run.

    python benchmarks/predict.py                 both levels, on generated records
    python benchmarks/predict.py --level video   only this one

Rates are per CPU-second of all threads together, medians of several turns that take place one
after another in one process. Reading, the model, the best 20 classes and the file are all counted;
loading the model, which takes place once, is not. `verdicts.py` says when a goal is missed.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from verdicts import judged, measured, verdict_of

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

GOALS = {"video": 0.60, "frame": 0.80}
VIDEOS = {"video": 50_000, "frame": 1_200}  # several groups of shards each
TURNS = 3
_PRODUCTS = 20  # of a batch and the weights, a turn


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--level", choices=sorted(GOALS), help="only this one")
    args = parser.parse_args()
    result = {}
    with tempfile.TemporaryDirectory(prefix="yt8m-benchmark-") as place:
        for level in [args.level] if args.level else list(GOALS):
            compare = functools.partial(measure, level, *prepare(level, Path(place)))
            result[level] = measured(compare)
    print(json.dumps(result, indent=1))
    return verdict_of(result.values())


def prepare(level: str, place: Path) -> tuple[Path, str, Path]:
    """Records, a model of theirs, and a place for predictions."""
    return generate(level, place), export(level, place / f"model-{level}"), place


def measure(level: str, data: Path, model: str, place: Path) -> dict[str, Any]:
    from yt8m.components.inputs.shards import group_shards
    from yt8m.components.predictions.plan import Format, PredictionPlan
    from yt8m.components.predictions.predictor import Predictor
    from yt8m.components.records.find import find_shards
    from yt8m.schemas.features import Level

    shards = find_shards(str(data / "train*"))
    plan = PredictionPlan(model=model, level=Level(level), format=Format.VIDEO)
    predictor, groups = Predictor(plan), group_shards(shards)
    reference = products if level == "video" else lambda: parse(shards)
    works = {"reference": reference, "predict": lambda: write(predictor, groups, place)}
    turns: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()  # what is made once
    for _ in range(TURNS):
        for name, work in works.items():
            turns[name].append(rate(work, VIDEOS[level]))
    both = zip(turns["predict"], turns["reference"], strict=True)
    return {
        "videos per CPU-second": {n: round(statistics.median(t)) for n, t in turns.items()},
        "reference": "matrix products alone" if level == "video" else "reading and parsing alone",
        **judged([ours / reference for ours, reference in both], GOALS[level]),
    }


def rate(work: Callable[[], int | None], videos: int) -> float:
    begin = time.process_time()
    done = work()
    return (done or videos) / (time.process_time() - begin)


def generate(level: str, place: Path) -> Path:
    from yt8m.components.extras.synthetic.generate import generate as write_records
    from yt8m.components.extras.synthetic.spec import DatasetSpec
    from yt8m.schemas.features import Level

    print(f"generating {VIDEOS[level]} videos of level {level}", file=sys.stderr)
    spec = DatasetSpec(level=Level(level), train=VIDEOS[level], shards=20)
    return write_records(spec, place / level).out


def export(level: str, directory: Path) -> str:
    """A logistic model of full size with its first weights, which cost what others do."""
    from yt8m.components.export.save import ExportSpec, export_model
    from yt8m.components.models.config import FrameLogisticConfig, LogisticConfig, Sharing
    from yt8m.components.models.heads import create_heads
    from yt8m.components.models.layers import Recipe
    from yt8m.components.models.network import Network
    from yt8m.schemas.features import FeatureConfig, Level

    features, of_level = FeatureConfig(), Level(level)
    network = Network(
        LogisticConfig() if level == "video" else FrameLogisticConfig(),
        features=features,
        level=of_level,
        heads=create_heads((), features=features, level=of_level),
        sharing=Sharing.TRUNK,
        recipe=Recipe(seed=1),
    )
    export_model(network, str(directory), ExportSpec(level=of_level, features=features))
    return str(directory)


def products() -> int:
    """The fp32 products of a batch and the weights; how many videos they are."""
    import tensorflow as tf

    from yt8m.schemas.features import FeatureConfig

    features = FeatureConfig()
    batch = tf.zeros([1024, features.total_size])
    weights = tf.zeros([features.total_size, features.num_classes])
    for _ in range(_PRODUCTS):
        _ = tf.matmul(batch, weights).numpy()
    return _PRODUCTS * 1024


def parse(shards: Any) -> None:
    """What scoring while training reads, and no model."""
    from yt8m.components.inputs.config import Source
    from yt8m.components.inputs.dataset import dataset_for_scoring
    from yt8m.schemas.features import FeatureConfig, Level

    source = Source(shards=tuple(shards), level=Level.FRAME, features=FeatureConfig())
    for _ in dataset_for_scoring(source, batch_size=128):
        pass


def write(predictor: Any, groups: Any, place: Path) -> None:
    """Parts and the whole, as `yt8m predict` writes them."""
    from concurrent.futures import ThreadPoolExecutor

    from yt8m.components import storage
    from yt8m.components.predictions.formats import WRITINGS
    from yt8m.components.predictions.predict import write_part

    parts = [str(place / f"{number}.part") for number in range(len(groups))]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda job: write_part(predictor, *job), zip(groups, parts, strict=True)))
    with storage.atomic_write(str(place / "out.csv")) as file:
        WRITINGS[predictor.plan.format].join(predictor.plan, parts, file)


if __name__ == "__main__":
    sys.exit(main())
