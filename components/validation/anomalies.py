"""TFDV's anomalies in one form, and the message that lists them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tensorflow_metadata.proto.v0 import anomalies_pb2


@dataclass(frozen=True)
class Anomaly:
    """One thing that TFDV found."""

    split: str
    feature: str
    kind: str
    description: str
    is_error: bool

    def __str__(self) -> str:
        return f"{self.split}: {self.feature}: {self.kind}: {self.description}"


def list_anomalies(split: str, anomalies: anomalies_pb2.Anomalies) -> Iterator[Anomaly]:
    """Everything in `found`, one by one."""
    for name, info in sorted(anomalies.anomaly_info.items()):
        path = ".".join(info.path.step) or name
        yield from _reasons(split, path, info)
    if anomalies.HasField("dataset_anomaly_info"):
        yield from _reasons(split, "the whole split", anomalies.dataset_anomaly_info)
    if anomalies.data_missing:
        yield Anomaly(split, "the whole split", "no data", "the split holds no example", True)


def message(errors: Sequence[Anomaly]) -> str:
    """The message of the error that ends the run."""
    if len(errors) == 1:
        return f"validation stops the run: {errors[0]}"
    head = f"validation stops the run: {len(errors)} anomalies of error severity"
    return "\n".join([head, *(f"  {anomaly}" for anomaly in errors)])


def _reasons(split: str, feature: str, info: Any) -> Iterator[Anomaly]:
    severe = info.severity == anomalies_pb2.AnomalyInfo.ERROR
    reasons = info.reason or [info]
    for reason in reasons:
        kind = getattr(reason, "short_description", "") or "anomaly"
        # An unexpected column is left where it is, and harms nothing.
        ignored = getattr(reason, "type", None) == anomalies_pb2.AnomalyInfo.SCHEMA_NEW_COLUMN
        yield Anomaly(split, feature, kind, reason.description, severe and not ignored)
