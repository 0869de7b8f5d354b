"""How fast records are generated on one core, and against writing them through TensorFlow.

    python benchmarks/generator.py [--records 20000]

Both write the same video-level records. TensorFlow's way is tf.train.Example and TFRecordWriter
alone, with the features already made, so that the ratio flatters it.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from yt8m.components.extras.synthetic.generate import generate
from yt8m.components.extras.synthetic.spec import DatasetSpec
from yt8m.components.records.decode import decode_record
from yt8m.components.records.tfrecord import read_records
from yt8m.schemas.features import Level

TARGET = 5000  # video-level examples a second


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=20_000)
    args = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # one core, whatever a library starts
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(measure(args.records, Path(folder)), indent=2))


def measure(records: int, folder: Path) -> dict[str, float]:
    video = DatasetSpec(train=records, shards=4)
    frame = DatasetSpec(level=Level.FRAME, train=max(records // 100, 1), temporal=True)
    video_s = timed(lambda: generate(video, folder / "video"))
    frame_s = timed(lambda: generate(frame, folder / "frame"))
    tensorflow_s = timed_tensorflow(folder / "video")
    return {
        "video_records_per_s": round(records / video_s),
        "target_records_per_s": TARGET,
        "frame_records_per_s": round(frame.train / frame_s),
        "tensorflow_writing_alone_per_s": round(records / tensorflow_s),
        "ratio_to_tensorflow": round(tensorflow_s / video_s, 2),
    }


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def timed_tensorflow(data: Path) -> float:
    """Seconds that TensorFlow needs to build and write the records that stand in `data`."""
    import tensorflow as tf

    rows = []
    for path in sorted(data.glob("train*.tfrecord")):
        with path.open("rb") as file:
            rows += [decode_record(record).features for _, record in read_records(file)]

    def write() -> None:
        with tf.io.TFRecordWriter(str(data / "again.tfrecord")) as writer:
            for row in rows:
                example = tf.train.Example()
                features = example.features.feature
                features["id"].bytes_list.value.extend(row["id"])
                features["labels"].int64_list.value.extend(row["labels"])
                for key in ("mean_rgb", "mean_audio"):
                    features[key].float_list.value.extend(row[key])
                writer.write(example.SerializeToString())

    return timed(write)


if __name__ == "__main__":
    main()
