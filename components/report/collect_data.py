"""The data: manifest, statistics, and what validation found in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from yt8m.components import storage
from yt8m.components.artifacts.comparisons import Comparisons
from yt8m.components.artifacts.manifest import Manifest
from yt8m.components.artifacts.read import read_message, read_statistics
from yt8m.components.artifacts.run_outputs import RunOutputs
from yt8m.components.report.model import AnomalyRow, Curve, DataSummary, SplitSummary
from yt8m.schemas.features import LABELS, SEGMENT_LABELS

STATISTICS_FILE = "FeatureStats.pb"  # TFX's names
ANOMALIES_FILE = "SchemaDiff.pb"
_TRAIN = "Split-train"
_SPLITS = ("train", "eval", "test")
_LABEL_FEATURES = (LABELS, SEGMENT_LABELS)


def collect_data(outputs: RunOutputs) -> DataSummary:
    """Records, labels, anomalies and drift, as far as the run came."""
    manifest, anomalies = outputs.manifest, outputs.uri("anomalies")
    labels = _label_statistics(outputs.uri("statistics"))
    counts = _label_counts(labels)
    return DataSummary(
        level=manifest.level.value if manifest else "",
        verified=manifest.verify if manifest else "",
        digest=manifest.digest if manifest else "",
        spans=manifest.spans if manifest else (),
        dated=manifest.dated if manifest else False,
        splits=tuple(_splits(manifest)) if manifest else (),
        labels_per_record=_labels_per_record(labels),
        label_histogram=_histogram(counts),
        label_counts=counts,
        validated=bool(anomalies),
        anomalies=tuple(_anomalies(anomalies)) if anomalies else (),
        comparisons=outputs.comparisons or Comparisons(),
    )


def _splits(manifest: Manifest) -> Iterator[SplitSummary]:
    for name in sorted(manifest.split_names, key=_split_order):
        shards = manifest.split(name)
        yield SplitSummary(
            name=name,
            records=sum(s.records for s in shards),
            shards=len(shards),
            bytes=sum(s.bytes for s in shards),
            labelled=sum(s.labels for s in shards),
            quarantined=sum(s.quarantined for s in shards),
        )


def _split_order(name: str) -> tuple[int, str]:
    return (_SPLITS.index(name) if name in _SPLITS else len(_SPLITS), name)


def _label_statistics(statistics: str) -> Any:
    """TFDV's FeatureNameStatistics of the labels, or None."""
    path = storage.join(statistics, _TRAIN, STATISTICS_FILE) if statistics else ""
    if not path or not storage.exists(path):
        return None
    for feature in read_statistics(path).datasets[0].features:
        if ".".join(feature.path.step) in _LABEL_FEATURES:
            return feature
    return None


def _labels_per_record(labels: Any) -> float | None:
    if labels is None:
        return None
    kind = labels.WhichOneof("stats")
    return float(getattr(labels, kind).common_stats.avg_num_values) if kind else None


def _label_counts(labels: Any) -> dict[str, float]:
    """How often each class comes, the most frequent first."""
    if labels is None or labels.WhichOneof("stats") != "string_stats":
        return {}
    buckets = labels.string_stats.rank_histogram.buckets
    return {b.label: float(b.sample_count) for b in sorted(buckets, key=lambda b: -b.sample_count)}


def _histogram(counts: Mapping[str, float]) -> Curve | None:
    ranks = tuple(float(rank) for rank in range(1, len(counts) + 1))
    return Curve(x=ranks, y=tuple(counts.values())) if counts else None


def _anomalies(uri: str) -> Iterator[AnomalyRow]:
    from tensorflow_metadata.proto.v0 import anomalies_pb2

    for name in storage.list_dir(uri):
        path = storage.join(uri, name, ANOMALIES_FILE)
        if not name.startswith("Split-") or not storage.exists(path):
            continue
        anomalies = read_message(path, anomalies_pb2.Anomalies)
        for feature, info in sorted(anomalies.anomaly_info.items()):
            severity = anomalies_pb2.AnomalyInfo.Severity.Name(info.severity).lower()
            yield AnomalyRow(
                split=name.removeprefix("Split-"),
                feature=".".join(info.path.step) or feature,
                severity=severity,
                what=info.description,
            )
