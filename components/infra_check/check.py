"""The check: one process answers requests; answers and measurements are compared with the limits.

The Evaluator's scores are those of `LoadedModel.score_records`; what the fresh process serves must
be the best of them.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from yt8m.components.artifacts.infra_check import InfraCheckResult, Latency, Serving, ServingCheck
from yt8m.components.export.load import LoadedModel
from yt8m.components.infra_check import probe
from yt8m.components.infra_check.config import InfraCheckConfig, ServingLimits
from yt8m.components.infra_check.requests import Request

# TensorFlow may add three numbers in another order in another process.
TOLERANCE = 1e-5
# They are for the process that trains, and would change what the other one does.
_OWN_VARIABLES = ("TF_USE_LEGACY_KERAS", "TF_CONFIG")


class ProbeError(Exception):
    """The model cannot be served; the message says why."""


def check_serving(
    process: FreshProcess,
    model: LoadedModel,
    requests: Sequence[Request],
    config: InfraCheckConfig,
    limits: ServingLimits,
) -> InfraCheckResult:
    """Whether a process that knows TensorFlow alone serves `model` as it was judged, and how."""
    expected = [
        model.score_records(tf.constant(request.records)).scores.numpy() for request in requests
    ]
    try:
        answer = process.ask(model.directory, requests, config)
        rows, difference = compare(expected, answer["answers"])
    except ProbeError as error:
        return InfraCheckResult(blessed=False, reason=f"infra check: {error}")
    serving = _serving(answer)
    checks = hold(serving, limits)
    broken = [f"{c.name} = {c.limit:g}, and it is {c.observed:.4g}" for c in checks if not c.passed]
    alone = serving.latencies[0]
    reason = (
        f"infra check: {'; '.join(broken)}"
        if broken
        else f"served {rows} rows as they were scored; loaded in {serving.load_s:.1f} s, p99 "
        f"{alone.p99_ms:.1f} ms a record, {serving.memory_mb:.0f} MB"
    )
    return InfraCheckResult(
        blessed=not broken,
        reason=reason,
        rows=rows,
        largest_difference=difference,
        serving=serving,
        checks=checks,
    )


class FreshProcess:
    """`probe.py`, which loads TensorFlow and waits for its task; ended at the end of the block.

    What it will be asked is found meanwhile; nothing is timed in it before it is asked.
    """

    def __init__(self, *, uses_gpu: bool = False) -> None:
        environment = {k: v for k, v in os.environ.items() if k not in _OWN_VARIABLES}
        if not uses_gpu:
            environment["CUDA_VISIBLE_DEVICES"] = "-1"
        environment["TF_CPP_MIN_LOG_LEVEL"] = "2"
        self._place = tempfile.TemporaryDirectory(prefix="yt8m-infra-check-")
        self._answer = Path(self._place.name, "answer.json")
        self._process = subprocess.Popen(
            [sys.executable, probe.__file__, str(self._answer)],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, errors="replace",
        )  # fmt: skip

    def __enter__(self) -> FreshProcess:
        return self

    def __exit__(self, *raised: object) -> None:
        self._process.kill()
        self._process.communicate()
        self._place.cleanup()

    def ask(
        self, model_dir: str, requests: Sequence[Request], config: InfraCheckConfig
    ) -> dict[str, Any]:
        """Ask the process about the model; ProbeError without an answer."""
        task = {
            "model": model_dir,
            "requests": [
                {
                    "signature": request.signature,
                    "records": [base64.b64encode(record).decode() for record in request.records],
                }
                for request in requests
            ],
            "batch_sizes": config.batch_sizes,
            "sent": config.requests,
            "seconds": config.seconds,
        }
        try:
            _, said = self._process.communicate(json.dumps(task), timeout=config.timeout_s)
        except subprocess.TimeoutExpired:
            raise ProbeError(
                f"no answer within infra_check.timeout_s = {config.timeout_s:g} s"
            ) from None
        if self._process.returncode:
            raise ProbeError(_last_words(self._process.returncode, said))
        answer: dict[str, Any] = json.loads(self._answer.read_text(encoding="utf-8"))
        return answer


def compare(expected: Sequence[np.ndarray], answers: Sequence[dict[str, Any]]) -> tuple[int, float]:
    """Rows that were served, and the largest difference from their scores; ProbeError if too large.

    Compared are the scores of the classes that were served, and the best scores there are: which
    class comes first among equals is nobody's mistake. `expected` are all scores, of each request.
    """
    rows, largest = 0, 0.0
    for number, (scores, answer) in enumerate(zip(expected, answers, strict=True), start=1):
        served_rows = len(answer["scores"])
        if served_rows != len(scores):
            raise ProbeError(
                f"request {number}: {served_rows} rows were served, and the Evaluator's are "
                f"{len(scores)}"
            )
        if not served_rows:  # records without segments
            continue
        served = np.asarray(answer["scores"], np.float64)
        classes = np.asarray(answer["class_ids"], np.int64)
        best = -np.sort(-scores, axis=1)[:, : served.shape[1]]
        of_classes = np.take_along_axis(scores, classes, axis=1)
        difference = float(np.max(np.abs([served - best, served - of_classes])))
        if not difference <= TOLERANCE:  # NaN is not, either
            raise ProbeError(
                f"request {number}: a served score is {difference:.3g} away from the one that the "
                f"Evaluator sees, more than {TOLERANCE:g}"
            )
        rows, largest = rows + len(served), max(largest, difference)
    return rows, largest


def hold(serving: Serving, limits: ServingLimits) -> tuple[ServingCheck, ...]:
    """Each limit that is set, and whether it is kept."""
    observed = {
        "max_latency_ms": serving.latencies[0].p99_ms,
        "max_memory_mb": serving.memory_mb,
    }
    return tuple(
        ServingCheck(
            name=f"gate.{name}",
            limit=getattr(limits, name),
            observed=value,
            passed=value <= getattr(limits, name),
        )
        for name, value in observed.items()
        if getattr(limits, name) is not None
    )


def _serving(answer: dict[str, Any]) -> Serving:
    names = ("load_s", "first_answer_s", "tensorflow_mb", "memory_mb", "processors", "tensorflow")
    return Serving(
        **{name: answer[name] for name in names},
        latencies=tuple(Latency(**latency) for latency in answer["latencies"]),
    )


def _last_words(code: int, stderr: str) -> str:
    lines = [line for line in stderr.splitlines() if line.strip()]
    said = lines[-1].strip() if lines else "nothing was said"
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return f"a process with TensorFlow alone cannot serve it ({how}): {said[:500]}"
