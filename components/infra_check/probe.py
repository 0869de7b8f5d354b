"""The server process: a program that imports only TensorFlow, and refuses other modules.

    python probe.py ANSWER.json < TASK.json

It is given requests in their order, sends each once, and says what the model answered; then it
takes the time of requests of each size, one after the other, as a client without company sees it.
"""

from __future__ import annotations

import base64
import gc
import json
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

Ask = Callable[[str, Sequence[bytes]], "dict[str, Any]"]

_FOREIGN = ("tfx", "tfx_bsl", "tensorflow_transform", "tensorflow_text", "tf_keras", "yt8m")
# TensorFlow imports these where it finds them, and a model needs them as little.
_FOUND = ("pandas", "scipy", "googleapiclient")
_FEWEST = 5  # requests of a size


class _Refuse:
    """A model that needs one of these modules cannot be served."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] in _FOREIGN + _FOUND:
            raise ImportError(f"a model server has no module {name}")


def main(answer_file: str) -> None:
    sys.meta_path.insert(0, _Refuse())
    gc.disable()  # what is imported stays
    import tensorflow as tf

    gc.enable()
    task = json.load(sys.stdin)  # once who gives it has nothing else to do
    requests = [
        (request["signature"], [base64.b64decode(text) for text in request["records"]])
        for request in task["requests"]
    ]
    answer: dict[str, Any] = {
        "tensorflow": tf.__version__,
        "processors": processors(),
        "tensorflow_mb": peak_mb(),
    }
    begin = time.perf_counter()
    model = tf.saved_model.load(task["model"])
    answer["load_s"] = time.perf_counter() - begin

    def ask(signature: str, records: Sequence[bytes]) -> dict[str, Any]:
        outputs = model.signatures[signature](examples=tf.constant(records, tf.string))
        return {name: value.numpy() for name, value in outputs.items()}

    begin = time.perf_counter()
    answers = [ask(*requests[0])]
    answer["first_answer_s"] = time.perf_counter() - begin
    answers += [ask(*request) for request in requests[1:]]
    answer["answers"] = [
        {name: answer[name].tolist() for name in ("class_ids", "scores")} for answer in answers
    ]
    signature, records = requests[-1]
    answer["latencies"] = [
        measure(ask, signature, records, size=size, sent=task["sent"], seconds=task["seconds"])
        for size in task["batch_sizes"]
    ]
    answer["memory_mb"] = peak_mb()
    with open(answer_file, "w", encoding="utf-8") as file:  # noqa: PTH123
        json.dump(answer, file)


def measure(
    ask: Ask, signature: str, records: Sequence[bytes], *, size: int, sent: int, seconds: float
) -> dict[str, Any]:
    """Milliseconds of requests of `size` records, the given ones in turn, again and again."""

    def batch(number: int) -> list[bytes]:
        return [records[(number * size + row) % len(records)] for row in range(size)]

    ask(signature, batch(0))  # a graph that meets a size for the first time
    taken: list[float] = []
    end = time.perf_counter() + seconds
    while len(taken) < sent and (len(taken) < _FEWEST or time.perf_counter() < end):
        next_one = batch(len(taken))
        begin = time.perf_counter()
        ask(signature, next_one)
        taken.append(1000 * (time.perf_counter() - begin))
    taken.sort()
    return {
        "batch_size": size,
        "requests": len(taken),
        "p50_ms": percentile(taken, 0.50),
        "p99_ms": percentile(taken, 0.99),
    }


def percentile(ordered: Sequence[float], share: float) -> float:
    """The smallest of the numbers that `share` of them do not exceed."""
    return ordered[max(-int(-share * len(ordered) // 1), 1) - 1]


def processors() -> int:
    """That this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def peak_mb() -> float:
    """Of this program; `getrusage` would count the process that it was started from as well."""
    try:
        with open("/proc/self/status", encoding="ascii") as file:  # noqa: PTH123
            (line,) = (line for line in file if line.startswith("VmHWM"))
    except OSError:  # no Linux
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
    return int(line.split()[1]) * 1024 / 1e6


if __name__ == "__main__":
    sys.path.pop(0)  # this file's own directory, where other modules lie
    main(*sys.argv[1:])
    sys.stderr.flush()
    os._exit(0)  # the answer is written; to take TensorFlow apart would keep who waits for it
