"""The action of ExampleGen: resolve and ingest the sources, and report the outputs to TFX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfx import types
from tfx.components.example_gen import utils as example_gen_utils
from tfx.components.util import examples_utils
from tfx.dsl.components.base import base_beam_executor
from tfx.proto import example_gen_pb2
from tfx.types import artifact_utils

import yt8m.components.storage.tfx_plugin  # noqa: F401  (s3:// for TFX's own file IO)
from yt8m.components import storage
from yt8m.components.declaration import Artifacts
from yt8m.components.engines.parallelism import is_elsewhere
from yt8m.components.example_gen.config import DataConfig, SplitRoles, Verify
from yt8m.components.example_gen.ingest import Ingested, ingest
from yt8m.components.example_gen.rewritten import Rewritten
from yt8m.components.example_gen.sources import Sources, SourceShard, resolve_sources
from yt8m.components.example_gen.verification_cache import VerifiedCache
from yt8m.components.example_gen.verify import ShardReport, open_cache, verify_shards
from yt8m.components.records.shared_index import SharedIndex
from yt8m.schemas.config_tree import from_parameter
from yt8m.schemas.features import FeatureConfig, Level


class Executor(base_beam_executor.BaseBeamExecutor):
    """Fills `examples` and `sample`.

    Beam is started where an engine's workers verify or rewrite records.
    """

    def Do(  # noqa: N802  (TFX's name)
        self, input_dict: Artifacts, output_dict: Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        self._log_startup(input_dict, output_dict, exec_properties)
        config = from_parameter(DataConfig, exec_properties["config"], path="data")
        features = from_parameter(FeatureConfig, exec_properties["features"], path="features")
        examples = artifact_utils.get_single_instance(output_dict["examples"])
        sample = artifact_utils.get_single_instance(output_dict["sample"])
        sources = resolve_sources(
            config, data_root=exec_properties["data_root"], span=exec_properties["span"]
        )
        cache = open_cache(exec_properties["cache_dir"], config, features)
        index = SharedIndex(_indices(exec_properties["cache_dir"]))
        done = ingest(
            sources,
            config,
            examples_uri=examples.uri,
            sample_uri=sample.uri,
            roles=from_parameter(SplitRoles, exec_properties["roles"], path="roles"),
            rewrite=lambda reports: self._rewrite(reports, config, examples.uri),
            verify=lambda shards: self._verify(shards, config, features, cache, index),
        )
        _describe(examples, done.manifest.split_names, sources, config.level)
        _describe(sample, done.sample_splits, sources, config.level)
        _add_figures(examples, done, sources)

    def _verify(
        self,
        shards: Sequence[SourceShard],
        config: DataConfig,
        features: FeatureConfig,
        cache: VerifiedCache | None,
        index: SharedIndex,
    ) -> list[ShardReport]:
        # The other policies read little, in less time than an engine's job takes to start.
        reads_all = config.verify in (Verify.FULL, Verify.CHECKSUM)
        if not reads_all or not is_elsewhere(self._beam_pipeline_args):
            return verify_shards(shards, config, features, cache=cache, index=index)
        from yt8m.components.example_gen.beam_verification import verify_on_beam

        return verify_on_beam(
            shards,
            config,
            features,
            cache=cache,
            index=index,
            scratch=storage.join(self._get_tmp_dir(), "verify"),
            make_pipeline=self._make_beam_pipeline,
        )

    def _rewrite(self, reports: Sequence[ShardReport], config: DataConfig, root: str) -> Rewritten:
        from yt8m.components.example_gen.rewrite import rewrite_records

        return rewrite_records(
            reports,
            config,
            root=root,
            scratch=storage.join(self._get_tmp_dir(), "rewrite"),
            make_pipeline=self._make_beam_pipeline
            if is_elsewhere(self._beam_pipeline_args)
            else None,
        )


def _indices(cache_dir: str) -> str:
    """Where an index is kept that may not lie beside its shard."""
    return storage.join(cache_dir, "indices") if cache_dir else ""


def _describe(
    artifact: types.Artifact, splits: Sequence[str], sources: Sources, level: Level
) -> None:
    """Write the properties that TFX's own components read from an Examples artifact."""
    artifact.split_names = artifact_utils.encode_split_names(list(splits))
    artifact.span = sources.spans[-1] if sources.spans else 0
    payload = (
        example_gen_pb2.PayloadFormat.FORMAT_TF_SEQUENCE_EXAMPLE
        if level.is_sequence
        else example_gen_pb2.PayloadFormat.FORMAT_TF_EXAMPLE
    )
    examples_utils.set_payload_format(artifact, payload)
    # The only value TFX has; its readers go by each file's ending.
    examples_utils.set_file_format(artifact, "tfrecords_gzip")
    artifact.set_string_custom_property(example_gen_utils.FINGERPRINT_PROPERTY_NAME, sources.digest)


def _add_figures(artifact: types.Artifact, done: Ingested, sources: Sources) -> None:
    manifest, accounts = done.manifest, done.accounts
    for split in manifest.split_names:
        artifact.set_int_custom_property(f"{split}_records", manifest.examples(split))
    artifact.set_int_custom_property("records", accounts.kept)
    artifact.set_int_custom_property("quarantined", accounts.quarantined)
    artifact.set_int_custom_property("filtered", accounts.filtered)
    artifact.set_int_custom_property("shards", len(manifest.shards))
    artifact.set_int_custom_property("verified_before", accounts.remembered)
    artifact.set_string_custom_property("verify", manifest.verify)
    artifact.set_string_custom_property("level", manifest.level.value)
    artifact.set_string_custom_property("spans", ",".join(map(str, sources.spans)))
    artifact.set_string_custom_property("digest", manifest.digest)
