"""The champion in an evaluation: whether it is comparable, and its name there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from yt8m.components.artifacts.decision import Champion
from yt8m.components.artifacts.export_info import load_info
from yt8m.components.artifacts.version_record import VersionRecord
from yt8m.components.registry.baseline_artifact import baseline_model, version_record
from yt8m.schemas.features import FeatureConfig, Level


@dataclass(frozen=True, kw_only=True)
class Contender:
    """A version that the candidate is compared with beside the baseline."""

    champion: Champion | None = None  # None where there is none, or it has retired
    model: str | None = None  # to be scored; None where it is the baseline's model too
    retired: str = ""  # why it has retired


def find_contender(
    champion_uri: str | None,
    baseline_uri: str | None,
    *,
    level: Level,
    features: FeatureConfig,
    vocabulary_digest: str,
) -> Contender:
    """The champion that Baseline handed on in `champion_uri`, unless it has to retire."""
    record = version_record(champion_uri) if champion_uri else None
    if record is None or champion_uri is None:
        return Contender()
    model = baseline_model(champion_uri)
    held_by = model or (baseline_model(baseline_uri) if baseline_uri else None)
    if held_by is None:
        return Contender()
    info = load_info(held_by)
    reasons = [
        *_differences(info.level, info.features, level, features),
        *_other_names(record, vocabulary_digest),
    ]
    if reasons:
        why = (
            f"version {record.version} is no longer the champion: {'; '.join(reasons)}; the "
            "candidate replaces it if it is pushed"
        )
        return Contender(retired=why)
    champion = Champion(
        name=f"version {record.version}", digest=record.model_digest, when_pushed=record.metrics
    )
    return Contender(champion=champion, model=model)


def _differences(
    its_level: Level, its: FeatureConfig, level: Level, features: FeatureConfig
) -> Iterator[str]:
    if its_level is not level:
        yield f"it takes {its_level.value}-level records, and the run has {level.value}-level ones"
    if its.size_by_name != features.size_by_name:
        yield (
            f"it reads the features {_sizes(its)}, and the run's records have {_sizes(features)}"
        )
    if its.num_classes != features.num_classes:
        yield f"it scores {its.num_classes:,} classes, and the run has {features.num_classes:,}"


def _other_names(record: VersionRecord, vocabulary_digest: str) -> Iterator[str]:
    its = record.decision.get("vocabulary_digest", "")
    if its and vocabulary_digest and its != vocabulary_digest:
        yield "the vocabulary has changed: its classes have other names than the run's"


def _sizes(features: FeatureConfig) -> str:
    return ", ".join(f"{name} ({size})" for name, size in features.size_by_name.items())
