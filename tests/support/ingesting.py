"""Ingests a directory of records without TFX, as ExampleGen's executor would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from yt8m.components.example_gen.config import DataConfig, SplitRoles
from yt8m.components.example_gen.ingest import Ingested, ingest
from yt8m.components.example_gen.sources import resolve_sources
from yt8m.components.example_gen.verification_cache import VerifiedCache
from yt8m.components.example_gen.verify import policy_key, verify_shards
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.features import FeatureConfig

FEATURES = FeatureConfig(num_classes=1000)


def ingest_directory(
    data: Path | str,
    out: Path,
    *,
    cache: Path | None = None,
    roles: SplitRoles | None = None,
    **values: Any,
) -> Ingested:
    """`values` are those of DataConfig; the artifacts are out/examples and out/sample."""
    config = from_dict(DataConfig, {"root": str(data), **values})
    known = None
    if cache:
        policy = policy_key(config, FEATURES)
        known = VerifiedCache(str(cache), policy=policy, code_version="1")
    return ingest(
        resolve_sources(config),
        config,
        examples_uri=str(out / "examples"),
        sample_uri=str(out / "sample"),
        roles=roles,
        verify=lambda shards: verify_shards(shards, config, FEATURES, cache=known),
    )
